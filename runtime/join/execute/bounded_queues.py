"""Metaqueues that give up: for joins over a past of which nobody knows how much there is to find.

Trains begin with one row and grow as far as what they make fits, so that not even the first one is too large.

    at most 1,000 rows    a train of 1 makes 300    one of 2 makes 600    one of 4 makes 1,200: too much
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.join.execute.metaqueues import MetaQueues

if TYPE_CHECKING:
    from cqc.runtime.join.execute.metaqueues import MetaQueue
    from cqc.runtime.join.plan.routes import Branch


class TooMuchFound(Exception):  # noqa: N818 - whoever set the bound says what it means
    """More combinations were made than are allowed."""


class BoundedQueues(MetaQueues):
    """The queues of one join while it may make so many rows, partial ones included."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._left = most

    @property
    def lets_through(self) -> bool:
        """What every level makes is looked at."""
        return False

    def of(self, branch: Branch) -> MetaQueue:
        """The queue before a branch."""
        queue = super().of(branch)
        if not queue.size.trains:
            queue.size.most = 1
        return queue

    def ran(self, queue: MetaQueue, rows: int, made: int) -> None:
        """A train made so many rows.

        Raises:
            TooMuchFound: when these are too many.
        """
        super().ran(queue, rows, made)
        self._left -= made
        if self._left < 0:
            raise TooMuchFound
