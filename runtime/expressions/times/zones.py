"""Instants as the clocks of a zone show them, and back, over whole columns.

Arrow does it where its tables reach. Beyond, the offset of each distinct second is asked of Python's zones: the rules of the last
years go on for ever, and the calendar that they follow repeats itself after 400 years.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.times.time_zones import zone_called
from cqc.runtime.columns.local_times import instants_of_local
from cqc.runtime.expressions.times.calendar import DAY_US, SECOND_US

if TYPE_CHECKING:
    from datetime import tzinfo

    from cqc.runtime.columns.columns import Column
    from cqc.runtime.expressions.kernel import PartialOutcome

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BY_ARROW_US = 2_000_000_000_000_000  # as in `local_times.py`
_CYCLE_US = 146_097 * DAY_US
_FIRST_US = -62_135_596_800_000_000 + DAY_US  # within the calendar of Python, with a day to spare
_LAST_US = 253_402_300_800_000_000 - 2 * DAY_US


def clock_of(zone_name: str, moments: Column) -> PartialOutcome:
    """What clocks of the zone show; fails for a name that no zone has."""
    us = np.asarray(moments.values)
    zone = zone_called(zone_name)
    if zone is None:
        return us, np.ones(us.shape, np.bool_), None
    return _shown(np.atleast_1d(us), zone).reshape(us.shape), None, None


def instants_in(zone_name: str, local: Column) -> PartialOutcome:
    """The instants at which clocks of the zone show these times; fails for a name that no zone has."""
    us = np.asarray(local.values)
    zone = zone_called(zone_name)
    if zone is None:
        return us, np.ones(us.shape, np.bool_), None
    many = np.atleast_1d(us)
    shift = _cycles(many)
    made = instants_of_local(many - shift, zone) + shift
    return made.reshape(us.shape), None, None


def _shown(us: Any, zone: tzinfo) -> Any:
    name = getattr(zone, "key", None)
    if name is not None and len(us) and np.abs(us).max() < _BY_ARROW_US:
        moments = pa.array(us).cast(pa.timestamp("us", tz=name))
        return pc.local_timestamp(moments).cast(pa.int64()).to_numpy()
    shift = _cycles(us)
    seconds = (us - shift) // SECOND_US
    distinct, places = np.unique(seconds, return_inverse=True)
    offsets = np.array([_offset_us(second, zone) for second in distinct.tolist()], np.int64)
    return us + offsets[places.reshape(-1)]


def _cycles(us: Any) -> Any:
    """Whole cycles of the calendar by which instants are outside of Python's."""
    above = np.where(us > _LAST_US, -((_LAST_US - us) // _CYCLE_US), 0)
    below = np.where(us < _FIRST_US, (us - _FIRST_US) // _CYCLE_US, 0)
    return (above + below) * _CYCLE_US


def _offset_us(second: int, zone: tzinfo) -> int:
    offset = (_EPOCH + timedelta(seconds=second)).astimezone(zone).utcoffset()
    assert offset is not None
    return offset // timedelta(microseconds=1)
