"""Times as a clock on the wall shows them, and the instants they are in a zone.

A local time that comes twice (clocks are put back) is the earlier instant; one that never comes (clocks are put forward) moves on by
the gap, so 02:30 is what clocks show as 03:30. Both are what an offset from before the change gives, which is `fold=0` in Python.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from datetime import tzinfo

    from numpy.typing import NDArray

_NAIVE_EPOCH = datetime(1970, 1, 1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST_BY_ARROW_US = -2_000_000_000_000_000  # before, zones have offsets of odd seconds
_LAST_BY_ARROW_US = 2_000_000_000_000_000  # after, rules repeat for ever, and tables end


def instants_of_local(local_us: NDArray[np.int64], zone: tzinfo) -> NDArray[np.int64]:
    """Microseconds since the epoch of local times (microseconds since the epoch as the clock counts them)."""
    by_arrow = _by_arrow(local_us, zone)
    if by_arrow is not None:
        return by_arrow
    seconds, micros = np.divmod(local_us, 1_000_000)
    distinct, places = np.unique(seconds, return_inverse=True)
    made = np.array([_instant_of(second, zone) for second in distinct.tolist()], np.int64)
    return made[places.reshape(-1)] + micros


def _by_arrow(local_us: NDArray[np.int64], zone: tzinfo) -> NDArray[np.int64] | None:
    """The whole column by Arrow; None where it does not know the zone, or its tables do not reach."""
    name = getattr(zone, "key", None)
    if name is None or not len(local_us):
        return None
    if local_us.min() < _FIRST_BY_ARROW_US or local_us.max() > _LAST_BY_ARROW_US:
        return None
    local = pa.array(local_us).cast(pa.timestamp("us"))
    try:
        return _numbers(_assumed(local, name, "raise"))
    except pa.ArrowInvalid:
        return _over_gaps(local_us, local, name)


def _over_gaps(local_us: NDArray[np.int64], local: Any, name: str) -> NDArray[np.int64] | None:
    """The same where some time never comes: Arrow gives the end of the gap for it, just before which clocks show the offset to take."""
    try:
        ends = _numbers(_assumed(local, name, "latest"))
    except pa.ArrowInvalid:  # it does not know the zone
        return None
    missing = np.flatnonzero(_clock_us(ends, name) != local_us)
    before = ends[missing] - 1
    made = ends.copy()
    made[missing] = local_us[missing] - (_clock_us(before, name) - before)
    return made


def _assumed(local: Any, name: str, nonexistent: str) -> Any:
    return pc.assume_timezone(local, name, ambiguous="earliest", nonexistent=nonexistent)


def _clock_us(instants: NDArray[np.int64], name: str) -> NDArray[np.int64]:
    """What clocks of a zone show at instants."""
    moments = pa.array(instants).cast(pa.timestamp("us", tz=name))
    return _numbers(pc.local_timestamp(moments))


def _numbers(times: Any) -> NDArray[np.int64]:
    made: NDArray[np.int64] = times.cast(pa.int64()).to_numpy()
    return made


def _instant_of(second: int, zone: tzinfo) -> int:
    try:
        local = (_NAIVE_EPOCH + timedelta(seconds=second)).replace(tzinfo=zone)
        return (local - _EPOCH) // _MICROSECOND
    except OverflowError:  # at the ends of the calendar
        return second * 1_000_000
