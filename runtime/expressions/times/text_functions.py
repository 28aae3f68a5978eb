"""Kernels of the functions between times and texts, and of zones (the compiler's `functions/time_texts.py`).

What a kernel gets and gives is in `kernel.py`; NULL is its caller's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.bound import ArithmeticOp
from cqc.compiler.meaning.times.time_patterns import pieces_of
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.columns.time_forms import TimeForm
from cqc.runtime.expressions.arithmetic import arithmetic
from cqc.runtime.expressions.times.by_word import by_word
from cqc.runtime.expressions.times.calendar import DAY_US, SECOND_US
from cqc.runtime.expressions.times.format_times import format_times
from cqc.runtime.expressions.times.move_functions import either
from cqc.runtime.expressions.times.zones import clock_of, instants_in

if TYPE_CHECKING:
    from cqc.runtime.expressions.kernel import Kernel, NodeMaker, PartialKernel, PartialOutcome

_TIMESTAMP = ColumnType.TIMESTAMP
_USUAL = "yyyy-MM-dd HH:mm:ss"


def _date_format(moment: Column, pattern: Column) -> PartialOutcome:
    return by_word(_formatted, pattern, moment)


def _formatted(pattern: str, moment: Column) -> PartialOutcome:
    us = np.asarray(moment.values)
    made = format_times(pattern, np.atleast_1d(us))
    if made is None:
        nothing = pa.scalar("", pa.string()) if us.ndim == 0 else pa.repeat("", len(us))
        return nothing, np.ones(us.shape, np.bool_), None
    return (made[0] if us.ndim == 0 else made), None, None


def _from_unixtime(seconds: Column, pattern: Column | None = None) -> PartialOutcome:
    size = Column(ColumnType.BIGINT, np.asarray(SECOND_US))
    us, beyond = arithmetic(ArithmeticOp.MULTIPLY, seconds, size)
    if beyond is not None:
        us = np.where(beyond, 0, us)
    moment = Column(_TIMESTAMP, us)
    words = _usual() if pattern is None else pattern
    texts, failed, present = by_word(_formatted, words, moment)
    return texts, either(beyond, failed), present


def _usual() -> Column:
    return Column(ColumnType.STRING, pa.scalar(_USUAL, pa.string()))


def _to_timestamp(text: Column, pattern: Column) -> PartialOutcome:
    """Without a pattern it is a CAST, and no call."""
    return by_word(_parsed, pattern, text)


def _to_date(text: Column, pattern: Column) -> PartialOutcome:
    us, failed, present = by_word(_parsed, pattern, text)
    return np.asarray(us) // DAY_US, failed, present


def _parsed(pattern: str, texts: Column) -> PartialOutcome:
    """Instants of texts that follow a pattern."""
    pieces = pieces_of(pattern, needs_year=False)
    values = texts.values
    is_one = isinstance(values, pa.Scalar)
    many = pa.array([values.as_py()], pa.string()) if is_one else values
    if isinstance(pieces, str):
        made: Any = np.zeros(len(many), np.int64)
        bad: Any = np.ones(len(many), np.bool_)
    else:
        made, bad = TimeForm(None, tuple(pieces), None).of_text(many)
    return (np.asarray(made[0]), np.asarray(bad[0]), None) if is_one else (made, bad, None)


def _unix_timestamp(value: Column, pattern: Column | None = None) -> PartialOutcome:
    """Seconds since the epoch; those of an instant are cut off towards zero, as in Spark."""
    if value.type is _TIMESTAMP:
        us = np.asarray(value.values)
        return np.asarray(np.sign(us) * (np.abs(us) // SECOND_US)), None, None
    us, failed, present = by_word(_parsed, _usual() if pattern is None else pattern, value)
    return np.asarray(us) // SECOND_US, failed, present


KERNELS: dict[str, Kernel] = {
    "unix_seconds": lambda moment: (np.asarray(moment.values) // SECOND_US, None),
    "unix_millis": lambda moment: (np.asarray(moment.values) // 1_000, None),
    "unix_micros": lambda moment: (np.asarray(moment.values), None),
}

PARTIAL_KERNELS: dict[str, PartialKernel] = {
    "date_format": _date_format,
    "from_unixtime": _from_unixtime,
    "to_timestamp": _to_timestamp,
    "to_date": _to_date,
    "unix_timestamp": _unix_timestamp,
    "from_utc_timestamp": lambda moment, zone: by_word(clock_of, zone, moment),
    "to_utc_timestamp": lambda moment, zone: by_word(instants_in, zone, moment),
}

NODES: dict[str, NodeMaker] = {}
