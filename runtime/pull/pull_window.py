"""What is asked for: the instant a user names, and the window that a BEGIN-END clause puts around it.

Event times are whole microseconds, so an exclusive end is the neighbouring microsecond inside: every window has both of
its ends inside from here on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

from cqc.compiler.meaning.times.instants import format_instant
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.convert.python_columns import column_of_values
from cqc.runtime.columns.event_time import SECOND_US
from cqc.runtime.deliver.results import time_value
from cqc.runtime.errors import RunError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import Instant

FAR_US = 2**62 - 2  # instants beyond this are as good as never; sums of two of them still fit

Now = TypeVar("Now", int, "NDArray[np.int64]")


def instant_us(at: Any, type_: ColumnType) -> int:
    """The microseconds of an instant: a datetime (UTC when it has no zone), ISO text, or a number.

    Numbers count seconds where event time is numeric; else they are epoch numbers, as `push` takes them.

    Raises:
        RunError: when it is no instant.
    """
    if type_ is not ColumnType.TIMESTAMP:
        return near(at * SECOND_US) if type(at) is int else _seconds_us(at)
    column, bad = column_of_values(ColumnType.TIMESTAMP, [at])
    if bad is not None or (column.valid is not None and not column.valid.all()):
        raise RunError(
            f"{at!r} is no instant; a datetime or a text such as 2024-01-01T00:00:00Z is"
        )
    return near(int(column.values[0]))


def _seconds_us(at: Any) -> int:
    try:
        number = at if isinstance(at, int) else float(at)
        if isinstance(at, bool | bytes):
            number = math.nan
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(number, float) and not math.isfinite(number):
        raise RunError(f"{at!r} is no instant; event time is a number of seconds here")
    return near(round(number * SECOND_US))


def near(us: int) -> int:
    """An instant or duration that no sum of two can overflow."""
    return us if -FAR_US <= us <= FAR_US else FAR_US if us > 0 else -FAR_US


class Edge:
    """One end of a window, inside it: so many microseconds from NOW, or a fixed instant."""

    __slots__ = ("from_now", "offset_us")

    def __init__(self, instant: Instant, inwards: int) -> None:
        self.from_now = instant.from_now
        self.offset_us = near(instant.offset_us) + (inwards if instant.exclusive else 0)

    def at(self, now: Now) -> Now:
        """Where it is when NOW is this instant (or these)."""
        return now + self.offset_us if self.from_now else now * 0 + self.offset_us


def first_edge(begin: Instant) -> Edge:
    """The first microsecond of a window."""
    return Edge(begin, 1)


def last_edge(end: Instant) -> Edge:
    """The last microsecond of a window."""
    return Edge(end, -1)


def show_instant(us: int, type_: ColumnType) -> str:
    """An instant for people: ISO text, or a number of seconds."""
    return format_instant(us) if type_ is ColumnType.TIMESTAMP else str(time_value(us, type_))
