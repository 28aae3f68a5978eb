"""Results that wait to be fetched: by micro-batch, each given once, to whichever thread asks.

A deque does its single steps whole, so that nobody waits: two threads that fetch at the same time get different micro-batches.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

B = TypeVar("B")


class ResultQueue(Generic[B]):
    """What micro-batches found, the oldest first."""

    def __init__(self) -> None:
        self._waiting: deque[B] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, batch: B) -> None:
        """Let a micro-batch wait."""
        self._waiting.append(batch)

    def put_back(self, batch: B) -> None:
        """Let what was not wanted of one wait before all others."""
        self._waiting.appendleft(batch)

    def take(self, most: int) -> Iterator[B]:
        """So many of them, or fewer when somebody else fetches too; what comes meanwhile is for the next who asks."""
        for _ in range(most):
            try:
                batch = self._waiting.popleft()
            except IndexError:
                return
            yield batch

    def clear(self) -> None:
        """Forget everything."""
        self._waiting.clear()
