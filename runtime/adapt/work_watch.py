"""Whether the joins of an engine may go on: how long they have worked for each query, and who wants them to stop.

Joins look here between two calls of a kernel, and no call takes long. A look costs a comparison with the clock; every few
milliseconds it is more: then the time since the last one is credited to the queries whose rows were just joined, as a sampling
profiler does, and whoever waits for an end is heard. So a query over a join that never ends is found out by what it costs, whatever
it finds, while its neighbours at the same node are not blamed for it.

    every 5 ms: rows of slots 3 and 5, or of slot 3 alone     slot 3 has used 10 s, slot 5 has used 4 s: slot 3 has to leave

When to look is told by the clock on the wall, what is credited is the time of the processor: a machine that does other things as well
is nobody's fault.

`halt` and `drop` are called by other threads; everything else by the one that works.
"""

from __future__ import annotations

from time import perf_counter, thread_time
from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.errors import Halted

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

LOOK_S = 0.005
_TELL_S = 0.25  # how long a turn may take before it is worth telling who is at work
_FOREVER = float("inf")
REMOVED = "it is being removed"


class Unwanted(Exception):  # noqa: N818 - it was asked for, or a limit says so
    """The query that is being registered or asked has to stop; the sentence says why."""


class WorkWatch:
    """What all joins of one engine look at.

    Args:
        clock: seconds that only go up.
        processor: seconds that this thread has worked.
    """

    def __init__(
        self,
        clock: Callable[[], float] = perf_counter,
        processor: Callable[[], float] = thread_time,
    ) -> None:
        self.clock = clock
        self.processor = processor
        self.most_seconds: float | None = None  # that a query may take in one turn
        self.look_at = _FOREVER
        self.turn = 0  # a micro-batch, a registration or an invocation
        self.query = ""  # which a registration or an invocation is about
        self.busiest = ""  # the query that the turn mostly works for, once it takes long
        self._began = 0.0  # by the processor's time
        self._left = LOOK_S
        self._credited = 0.0  # up to when, by the processor's time
        self._owed = 0.0  # from before the last pause
        self.total = 0.0  # that was credited so far
        self._tell_at = 0.0
        self._halted = ""
        self.asks: Callable[[], str] | None = None  # somebody outside who may want an end, and why
        self._dropped: set[str] = set()

    # From other threads

    def halt(self, why: str) -> None:
        """Let nothing go on."""
        self._halted = why

    def drop(self, query: str) -> None:
        """Let nothing go on that is for this query; forgotten when the query has left."""
        self._dropped = self._dropped | {query}

    def forget(self, query: str) -> None:
        """The query has left, or will not begin."""
        if query in self._dropped:
            self._dropped = self._dropped - {query}

    # Turns

    def begin(self, query: str = "") -> None:
        """A turn begins.

        Raises:
            Halted: when nothing may begin any more.
        """
        self.check_halted()
        self.turn += 1
        self.query = self.busiest = query
        self._tell_at = self.clock() + _TELL_S
        self._left = LOOK_S
        if self.most_seconds is not None:
            self._began = self.processor()

    def end(self) -> None:
        """The turn is over."""
        self.query = ""

    def resume(self) -> None:
        """A join works from now on."""
        self.look_at = self.clock() + self._left
        if self.most_seconds is not None:
            self._credited = self.processor()

    def pause(self) -> None:
        """It is done for now: what others do is not counted."""
        if self.most_seconds is not None:
            self._owed += self.processor() - self._credited
        self._left = max(self.look_at - self.clock(), 0.0)
        self.look_at = _FOREVER

    # Looks

    def taken(self) -> float:
        """The seconds of work since the last look; the next one is due a little later.

        Raises:
            Halted: when everything has to stop.
        """
        self.check_halted()
        self.look_at = self.clock() + LOOK_S
        if self.most_seconds is None:
            return 0.0
        before, self._credited = self._credited, self.processor()
        seconds = self._owed + self._credited - before
        self._owed = 0.0
        self.total += seconds
        return seconds

    @property
    def dropped(self) -> set[str]:
        """The queries for which nothing may go on."""
        return self._dropped

    def check_halted(self) -> None:
        """Go on if nobody has said `halt`, nor does somebody outside this process want an end.

        Raises:
            Halted: when everything has to stop.
        """
        why = self._halted or ("" if self.asks is None else self.asks())
        if why:
            raise Halted(why)

    def is_time_to_tell(self) -> bool:
        """Whether the turn takes so long that somebody may ask what it is about; now and then."""
        if self.query or self.clock() < self._tell_at:
            return False
        self._tell_at = self.clock() + _TELL_S
        return True

    def check(self) -> None:
        """A look in the middle of work for one query, the one that the turn is about.

        Raises:
            Halted: when everything has to stop.
            Unwanted: when it has taken too long, or nobody wants it any more.
        """
        self.check_halted()
        if self.query in self._dropped:
            raise Unwanted(REMOVED)
        if self.most_seconds is not None and self.processor() - self._began > self.most_seconds:
            raise Unwanted(too_long(self.most_seconds))


class SlotSeconds:
    """What one join has worked for each of its slots in one turn."""

    def __init__(self) -> None:
        self._turn = -1
        self._seconds = np.zeros(0)

    def of(self, turn: int, slots: int) -> NDArray[np.float64]:
        """By slot; each turn begins with none."""
        if turn != self._turn:
            self._turn, self._seconds = turn, np.zeros(slots)
        elif slots > len(self._seconds):
            self._seconds = np.append(self._seconds, np.zeros(slots - len(self._seconds)))
        return self._seconds

    def restore(self, seconds: NDArray[np.float64]) -> None:
        """Go back to what was used before."""
        self._seconds = seconds.copy()


def too_long(seconds: float) -> str:
    """Why a query is stopped that takes too long."""
    return f"it took more than {seconds:g} seconds at once, which is what --query-seconds allows"
