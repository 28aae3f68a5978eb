"""The built-in scalar functions over columns, and the user's own.

Each takes columns of its arguments (constants allowed, see `evaluate.py`) and gives values with a mask of failed
evaluations; NULL handling is the caller's, except for `least`, `greatest` and `coalesce`, which are in `evaluate.py`.
"""

from __future__ import annotations

import decimal
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.bound import INSTANT, MATCH_CALLS
from cqc.compiler.types import ColumnType
from cqc.runtime.arithmetic import Outcome, absolute, whole_from_double
from cqc.runtime.columns import Column
from cqc.runtime.distinct import text_of_text
from cqc.runtime.event_time import instants
from cqc.runtime.patterns import lower_texts, match_each

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.bound import PatternKind

# Enough digits for every DOUBLE written out in full.
_EXACT = decimal.Context(prec=2000)
_EXACT_POWER = 22  # ten to this power is the last one that a DOUBLE holds exactly


def _instant(column: Column) -> Outcome:
    """Event times of tuples that were taken always have an instant."""
    return instants(column)[0], None


def _floor(column: Column) -> Outcome:
    if column.type is ColumnType.BIGINT:
        return column.values, None
    return whole_from_double(np.floor(column.values))


def _ceil(column: Column) -> Outcome:
    if column.type is ColumnType.BIGINT:
        return column.values, None
    return whole_from_double(np.ceil(column.values))


def _round(column: Column, digits: Column | None = None) -> Outcome:
    """Half away from zero on the decimal digits that the number shows, so 2.675 rounds to 2.68."""
    places = np.asarray(0 if digits is None else digits.values)
    if places.ndim == 0:
        return _round_to(column, int(places))
    values = np.array(np.broadcast_to(column.values, places.shape))
    failed = np.zeros(places.shape, dtype=np.bool_)
    for place in np.unique(places).tolist():
        rows = places == place
        values[rows], bad = _round_to(Column(column.type, values[rows]), place)
        if bad is not None:
            failed[rows] = bad
    return values, failed


def _round_to(column: Column, digits: int) -> Outcome:
    if column.type is ColumnType.BIGINT:
        return _round_bigint(column.values, digits)
    values = np.asarray(column.values)
    if digits == 0:
        return _round_half_away(values) + 0.0, None
    return _round_double(values, digits), None


def _round_half_away(values: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        whole = np.trunc(values)
        up = np.abs(values - whole) >= 0.5  # the difference is exact; false for NaN and infinities
    return whole + np.where(up, np.copysign(1.0, values), 0.0)


def _round_double(values: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """Where scaling cannot blur on which side of a half a value is, scale; the others digit by digit."""
    result = np.array(values)
    unclear = np.isfinite(values)
    if 0 < digits <= _EXACT_POWER:
        power = 10.0**digits
        with np.errstate(all="ignore"):
            scaled = values * power
            distance = np.abs(np.abs(scaled - np.trunc(scaled)) - 0.5)
            clear = (np.abs(scaled) < 2.0**50) & (distance > 1e-2)
            result = np.where(clear, _round_half_away(scaled) / power + 0.0, values)
        unclear &= ~clear
    if unclear.any():
        slow = [_round_exactly(value, digits) for value in np.asarray(values[unclear]).tolist()]
        result[unclear] = slow
    return result


def _round_exactly(value: float, digits: int) -> float:
    if digits > 400:
        return value
    if digits < -400:
        return 0.0
    scaled = Decimal(repr(value)).scaleb(digits, _EXACT).to_integral_value(ROUND_HALF_UP)
    return float(scaled.scaleb(-digits, _EXACT)) + 0.0


def _round_bigint(values: NDArray[np.int64], digits: int) -> Outcome:
    if digits >= 0:
        return values, None
    if digits < -19:
        return np.zeros_like(values), None
    power = 10**-digits
    if (
        power > 2**62
    ):  # 10**19: no BIGINT reaches half of it by enough to fit, but one may round up to it
        over = np.abs(np.asarray(values, dtype=np.float64)) >= power / 2
        return np.zeros_like(values), np.asarray(over)
    with np.errstate(all="ignore"):
        rest = np.fmod(values, power)
        whole = np.asarray(values - rest)
        up = np.abs(rest) >= power // 2
        step = np.where(up, np.where(values < 0, -power, power), 0)
        rounded = np.asarray(whole + step)
        return rounded, np.asarray((whole ^ rounded) & (step ^ rounded) < 0)


def _lower(column: Column) -> Outcome:
    return lower_texts(column.values), None


def _upper(column: Column) -> Outcome:
    texts = column.values
    if not isinstance(texts, pa.Scalar) and pc.all(pc.string_is_ascii(texts)).as_py() is not False:
        return pc.ascii_upper(texts), None
    return text_of_text(texts, str.upper), None


def _length(column: Column) -> Outcome:
    if isinstance(column.values, pa.Scalar):
        return np.asarray(len(column.values.as_py() or ""), dtype=np.int64), None
    lengths = pc.fill_null(pc.utf8_length(column.values), 0)
    return lengths.to_numpy(zero_copy_only=False).astype(np.int64), None


def _concat(*columns: Column) -> Outcome:
    return pc.binary_join_element_wise(*(column.values for column in columns), ""), None


def _substring(text: Column, position: Column, length: Column | None = None) -> Outcome:
    """Positions count from 1, negative ones from the end, 0 is the first."""
    start, size = position.values, None if length is None else length.values
    constant = start.ndim == 0 and (size is None or size.ndim == 0)
    if constant:
        count = None if size is None else int(size)
        first = int(start)
        return text_of_text(text.values, lambda value: substring(value, first, count)), None
    return _substring_rows(text, start, size), None


def _substring_rows(text: Column, start: NDArray[Any], size: NDArray[Any] | None) -> Any:
    count = len(start) if start.ndim else len(size) if size is not None else 0
    constant = isinstance(text.values, pa.Scalar)
    texts = [text.values.as_py()] * count if constant else text.values.to_pylist()
    starts = np.broadcast_to(start, (count,)).tolist()
    sizes = [None] * count if size is None else np.broadcast_to(size, (count,)).tolist()
    rows = zip(texts, starts, sizes, strict=True)
    return pa.array([None if t is None else substring(t, s, n) for t, s, n in rows], pa.string())


def substring(text: str, position: int, length: int | None) -> str:
    """What SUBSTRING gives; what is outside the text is not there."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = len(text) if length is None else start + length
    return text[max(start, 0) : max(end, 0)]


def _match_call(kind: PatternKind) -> Callable[..., Outcome]:
    def call(texts: Column, patterns: Column, escape: Column) -> Outcome:
        return match_each(kind, texts.values, patterns.values, escape.values.as_py())

    return call


FUNCTIONS: dict[str, Callable[..., Outcome]] = {
    **{name: _match_call(kind) for name, kind in MATCH_CALLS.items()},
    INSTANT: _instant,
    "abs": absolute,
    "round": _round,
    "floor": _floor,
    "ceil": _ceil,
    "lower": _lower,
    "upper": _upper,
    "length": _length,
    "concat": _concat,
    "substring": _substring,
}


def pick_extreme(columns: Sequence[Column], *, greatest: bool) -> tuple[Any, Any]:
    """`least` or `greatest` of numbers (all of one type), skipping NULL: the values and where there are any."""
    best, known = columns[0].values, _known(columns[0])
    for column in columns[1:]:
        better = (
            _exceeds(column, best)
            if greatest
            else _exceeds(Column(column.type, best), column.values)
        )
        present = _known(column)
        best = np.where(present & (better | ~known), column.values, best)
        known = known | present
    return best, known


def _known(column: Column) -> NDArray[np.bool_]:
    return np.asarray(True) if column.valid is None else column.valid


def _exceeds(column: Column, other: Any) -> NDArray[np.bool_]:
    larger = np.asarray(column.values > other)
    if column.type is ColumnType.DOUBLE:
        larger = larger | (np.isnan(column.values) & ~np.isnan(other))
    return larger
