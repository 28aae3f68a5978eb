"""Event time: instants of tuples, watermarks and lateness.

A stream's watermark is the largest event time in the micro-batches before, less the declared delay. A tuple below it is
late. Within one micro-batch nothing is late because of another tuple of the same batch, so how tuples are ordered inside a
batch does not matter.

    delay 2 s: a batch with 10 s and 3 s admits both; the watermark is then 8 s; the next batch's 7 s is late, 8 s is not
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from cqc.compiler.meaning.catalog import Relation

SECOND_US = 1_000_000
NOTHING_SEEN = -(2**63)  # the watermark before the first micro-batch: nothing is late
ALL_SEEN = 2**63 - 1  # the watermark at the end of the input
_MOST_US = 2**62  # room for windows and delays to be added without overflow


@njit(cache=True, nogil=True)
def span(values):  # type: ignore[no-untyped-def]
    """The least and the largest of whole numbers, of which there is at least one."""
    least = largest = values[0]
    for value in values:
        least = min(least, value)
        largest = max(largest, value)
    return least, largest


def instants(column: Column) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """The microseconds of an event-time column, and where there is no instant: NULL, not finite, out of range (None: nowhere)."""
    scale = 1 if column.type is ColumnType.TIMESTAMP else SECOND_US
    whole = column.type in (ColumnType.TIMESTAMP, ColumnType.BIGINT) and column.valid is None
    if whole and column.values.size and column.values.ndim:  # a literal has no dimension
        least, largest = span(column.values)
        if least > -_MOST_US // scale and largest < _MOST_US // scale:
            return column.values if scale == 1 else column.values * scale, None
    with np.errstate(all="ignore"):
        if column.type is ColumnType.DOUBLE:
            us = np.rint(column.values * SECOND_US)
            fits = np.abs(us) < _MOST_US
            result = np.where(fits, us, 0.0).astype(np.int64)
        else:
            fits = np.abs(column.values.astype(np.float64) * scale) < _MOST_US
            result = np.where(fits, column.values * scale, 0)
    usable = fits if column.valid is None else fits & column.valid
    return result, None if usable.all() else ~usable


def time_column(times_us: NDArray[np.int64], type_: ColumnType) -> Column:
    """Instants as a column of event times."""
    if type_ is ColumnType.TIMESTAMP:
        return Column(type_, times_us)
    if type_ is ColumnType.BIGINT:
        return Column(type_, times_us // SECOND_US)
    return Column(type_, times_us / SECOND_US)


class Follower(Protocol):
    """Who is told of event times as they come."""

    def observe(self, least_us: int, largest_us: int) -> None: ...


class StreamClock:
    """What a stream's event times say about how far the stream has come."""

    def __init__(
        self,
        relation: Relation,
        idle_us: int | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._delay_us = relation.delay_us
        self._idle_us = idle_us
        self._clock = clock
        self._last_arrival: float | None = None if clock is None else clock()
        self.first_us: int | None = None
        self.largest_us: int | None = None
        self.watermark_us = NOTHING_SEEN
        self.followers: list[Follower] = []  # who came later, and sees what comes from then on

    def admit(
        self, ts_us: NDArray[np.int64], span_us: tuple[int, int] | None = None
    ) -> NDArray[np.bool_] | None:
        """Take one micro-batch: which of its tuples are not late (None: all of them); then the watermark moves on.

        `span_us`: the least and the largest, where they are known.
        """
        if not len(ts_us):
            return None
        least, largest = span_us or span(ts_us)
        if least >= self.watermark_us:
            self._observe(least, largest)
            return None
        on_time = ts_us >= self.watermark_us
        self._observe(*(span(ts_us[on_time]) if on_time.any() else (None, None)))
        return on_time

    def stand_at(self, first_us: int | None, largest_us: int | None, watermark_us: int) -> None:
        """Be as far as another clock was."""
        self.first_us, self.largest_us, self.watermark_us = first_us, largest_us, watermark_us

    def end_input(self) -> None:
        """No tuple will follow."""
        self.watermark_us = ALL_SEEN

    def tell_followers(self, ts_us: NDArray[np.int64]) -> None:
        """Tuples are given again, which moves nothing but what followers have seen."""
        if self.followers and len(ts_us):
            least, largest = span(ts_us)
            for follower in self.followers:
                follower.observe(int(least), int(largest))

    def set_idle(self, is_idle: bool) -> None:
        """Hear from somebody who sees the whole stream whether nothing has arrived for long."""
        assert self._clock is not None
        self._last_arrival = -float("inf") if is_idle else self._clock()

    def is_idle(self) -> bool:
        """Whether nothing has arrived for longer than the idle timeout."""
        if self._idle_us is None or self._clock is None or self._last_arrival is None:
            return False
        return (self._clock() - self._last_arrival) * SECOND_US > self._idle_us

    def _observe(self, least: int | None, largest: int | None) -> None:
        if self._clock is not None:
            self._last_arrival = self._clock()
        if least is None or largest is None:
            return
        for follower in self.followers:
            follower.observe(least, largest)
        self.first_us = least if self.first_us is None else min(self.first_us, least)
        self.largest_us = largest if self.largest_us is None else max(self.largest_us, largest)
        self.watermark_us = max(self.watermark_us, self.largest_us - self._delay_us)


def smallest_watermark(clocks: Iterable[StreamClock]) -> int:
    """The watermark of a query over these streams: the smallest, idle streams left out (unless all are)."""
    everyone = list(clocks)
    awake = [clock for clock in everyone if not clock.is_idle()]
    return min((clock.watermark_us for clock in awake or everyone), default=ALL_SEEN)


def watermarks_after_end(
    clocks: Mapping[str, tuple[int | None, int]], *, settled: bool
) -> dict[str, int]:
    """The watermarks of streams of which more is found after the end of their input.

    The end counts as a watermark past the last event time only as far as results were delivered that a tuple before it would
    change.

    Args:
        clocks: by stream, the largest event time seen and the delay.
        settled: the end has settled which tuples were the last of ROWS windows.
    """
    if settled:
        seen = [largest_us for largest_us, _ in clocks.values() if largest_us is not None]
        return dict.fromkeys(clocks, max(seen) + 1 if seen else NOTHING_SEEN)
    return {
        name: NOTHING_SEEN if largest_us is None else largest_us - delay_us
        for name, (largest_us, delay_us) in clocks.items()
    }


def warm() -> None:
    """Compile this module's kernel; Arrow's memory is read-only, which is a layout of its own."""
    numbers = np.zeros(1, np.int64)
    span(numbers)
    numbers.flags.writeable = False
    span(numbers)
