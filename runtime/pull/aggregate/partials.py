"""Partial aggregates: what a run of values comes to, in a form that two runs can be put together in.

A partial is one row of a small array. Whole numbers (BIGINT, TIMESTAMP, INTERVAL, BOOLEAN) have

    count, high, low, least, most        high and low are the sums of value >> 32 and of its lower 32 bits

so a total is exact whatever its size, and only at the end it is asked whether it fits. Doubles have

    count, sum, rest, special, least, most

where sum + rest is the total in twice the precision of a double and `special` adds up what is not finite. NaN is greater
than every number. Nothing is ever subtracted, so a sum does not drift however long its window has been sliding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.kernel import njit, when_compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column

COUNT = 0
HIGH, LOW, WHOLE_LEAST, WHOLE_MOST = 1, 2, 3, 4
SUM, REST, SPECIAL, DOUBLE_LEAST, DOUBLE_MOST = 1, 2, 3, 4, 5
WHOLE_WIDTH, DOUBLE_WIDTH = 5, 6

_LARGEST = np.iinfo(np.int64).max
_SMALLEST = np.iinfo(np.int64).min


def width_of(values: NDArray[Any]) -> int:
    """How many numbers a partial of these values has."""
    return DOUBLE_WIDTH if values.dtype == np.float64 else WHOLE_WIDTH


def numbers_of(column: Column) -> NDArray[Any]:
    """The values in the layout that partials are made of; text has none, only its NULLs count."""
    if column.type.held_as_text:
        return np.zeros(len(column), np.int64)
    if column.type is ColumnType.BOOLEAN:
        whole: NDArray[Any] = column.values.astype(np.int64)
        return whole
    values: NDArray[Any] = column.values
    return values


def clear(partial: Any) -> None:
    """Make it the partial of no values."""
    (_clear_double if partial.dtype == np.float64 else _clear_whole)(partial)


def absorb_value(partial: Any, value: Any) -> None:
    """Add one value (not NULL)."""
    (_add_double_value if partial.dtype == np.float64 else _add_whole_value)(partial, value)


def absorb(partial: Any, other: Any) -> None:
    """Add another partial."""
    (_absorb_double if partial.dtype == np.float64 else _absorb_whole)(partial, other)


def _clear_double(partial: Any) -> None:
    partial[:DOUBLE_LEAST] = 0.0
    partial[DOUBLE_LEAST] = np.nan
    partial[DOUBLE_MOST] = -np.inf


def _clear_whole(partial: Any) -> None:
    partial[:WHOLE_LEAST] = 0
    partial[WHOLE_LEAST] = _LARGEST
    partial[WHOLE_MOST] = _SMALLEST


def _add_double(partial: Any, value: Any) -> None:
    before = partial[SUM]
    total = before + value
    part = total - before
    partial[SUM] = total
    partial[REST] += (before - (total - part)) + (value - part)


def _widen_double(partial: Any, least: Any, most: Any) -> None:
    if least < partial[DOUBLE_LEAST] or np.isnan(partial[DOUBLE_LEAST]):
        partial[DOUBLE_LEAST] = least
    if most > partial[DOUBLE_MOST] or np.isnan(most):
        partial[DOUBLE_MOST] = most


def _add_double_value(partial: Any, value: Any) -> None:
    partial[COUNT] += 1
    if np.isfinite(value):
        _add_double(partial, value)
    else:
        partial[SPECIAL] += value
    _widen_double(partial, value, value)


def _add_whole_value(partial: Any, value: Any) -> None:
    partial[COUNT] += 1
    partial[HIGH] += value >> 32
    partial[LOW] += value & 0xFFFFFFFF
    partial[WHOLE_LEAST] = min(partial[WHOLE_LEAST], value)
    partial[WHOLE_MOST] = max(partial[WHOLE_MOST], value)


def _absorb_double(partial: Any, other: Any) -> None:
    partial[COUNT] += other[COUNT]
    _add_double(partial, other[SUM])
    partial[REST] += other[REST]
    partial[SPECIAL] += other[SPECIAL]
    _widen_double(partial, other[DOUBLE_LEAST], other[DOUBLE_MOST])


def _absorb_whole(partial: Any, other: Any) -> None:
    partial[COUNT] += other[COUNT]
    partial[HIGH] += other[HIGH]
    partial[LOW] += other[LOW]
    partial[WHOLE_LEAST] = min(partial[WHOLE_LEAST], other[WHOLE_LEAST])
    partial[WHOLE_MOST] = max(partial[WHOLE_MOST], other[WHOLE_MOST])


def _tell_numba() -> None:
    """Which of two functions is meant, compiled kernels know by the type of the partial; both are declared alike."""
    from numba import types
    from numba.extending import overload, register_jitable

    register_jitable(_add_double)
    register_jitable(_widen_double)

    def is_double(partial: Any) -> bool:
        return isinstance(partial.dtype, types.Float)

    @overload(clear)
    def choose_clear(partial: Any) -> Any:
        return _clear_double if is_double(partial) else _clear_whole

    @overload(absorb_value)
    def choose_absorb_value(partial: Any, value: Any) -> Any:
        return _add_double_value if is_double(partial) else _add_whole_value

    @overload(absorb)
    def choose_absorb(partial: Any, other: Any) -> Any:
        return _absorb_double if is_double(partial) else _absorb_whole


when_compiled(_tell_numba)


@njit(cache=True, nogil=True)
def clear_all(partials):  # type: ignore[no-untyped-def]
    """Make every row the partial of no values."""
    for row in range(len(partials)):
        clear(partials[row])


@njit(cache=True, nogil=True)
def absorb_by_group(values, valid, groups, partials):  # type: ignore[no-untyped-def]
    """Add each value to the partial of its group."""
    for row in range(len(values)):
        if valid[row]:
            absorb_value(partials[groups[row]], values[row])


@njit(cache=True, nogil=True)
def absorb_partials_by_group(parts, groups, partials):  # type: ignore[no-untyped-def]
    """Add each partial to that of its group."""
    for row in range(len(parts)):
        absorb(partials[groups[row]], parts[row])


def merge_partials(
    parts: NDArray[Any], groups: NDArray[np.int64], group_count: int
) -> NDArray[Any]:
    """The partial of each group, from partials of parts of it."""
    partials = np.empty((group_count, parts.shape[1]), parts.dtype)
    clear_all(partials)
    absorb_partials_by_group(parts, groups, partials)
    return partials


def partials_by_group(column: Column, groups: NDArray[np.int64], group_count: int) -> NDArray[Any]:
    """The partial of each group, from the values of all rows at once."""
    values = numbers_of(column)
    partials = np.empty((group_count, width_of(values)), values.dtype)
    clear_all(partials)
    absorb_by_group(values, column.is_valid(), groups, partials)
    return partials


def warm() -> None:
    """Compile this module's kernels."""
    for dtype in (np.int64, np.float64):
        values = np.zeros(1, dtype)
        partials = np.zeros((1, width_of(values)), dtype)
        clear_all(partials)
        absorb_by_group(values, np.ones(1, np.bool_), np.zeros(1, np.int64), partials)
        merge_partials(partials, np.zeros(1, np.int64), 1)
