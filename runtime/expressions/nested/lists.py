"""The elements of an array column as one column, where those of each row begin, and passes over them row by row."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ArrayType, ColumnType
from cqc.runtime.columns.bytes.byte_columns import bytes_of
from cqc.runtime.columns.columns import Column, is_known
from cqc.runtime.columns.nested import (
    column_of_inner,
    flat_of,
    lists_of,
    nested_column,
    nested_of,
    offsets_of,
)
from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


_TYPES = {
    pa.int64(): ColumnType.BIGINT,
    pa.float64(): ColumnType.DOUBLE,
    pa.bool_(): ColumnType.BOOLEAN,
    pa.string(): ColumnType.STRING,
}


class Lists:
    """The elements of an array column; the row of each, and other things that not everybody asks for, are made when asked for."""

    def __init__(self, column: Column) -> None:
        assert isinstance(column.type, ArrayType)
        self.column = column
        nested = nested_of(column)
        self.offsets = offsets_of(nested)
        self.flat = flat_of(nested)
        self.elements = column_of_inner(column.type.element, self.flat)

    @cached_property
    def valid(self) -> NDArray[np.bool_]:
        """Which arrays are not NULL."""
        return self.column.is_valid()

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """How many elements each row has."""
        return self.offsets[1:] - self.offsets[:-1]

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The row of each element."""
        return rows_of_elements(self.offsets)

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Which elements are not NULL."""
        return np.broadcast_to(is_known(self.elements), (len(self.flat),))

    def any_of(self, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The rows one of whose elements is marked."""
        found = np.empty(len(self.column), np.bool_)
        _any_in_row(self.offsets, _fixed(marked), found)
        return found

    def any_unknown(self) -> NDArray[np.bool_]:
        """The rows one of whose elements is NULL."""
        if self.elements.valid is None:
            return np.zeros(len(self.column), np.bool_)
        return self.any_of(~self.known)

    def kept(
        self, order: NDArray[np.int64], counts: NDArray[np.int64], type_: ColumnType
    ) -> Column:
        """Arrays of some elements, by their places row after row, so many a row."""
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        inner = self.flat.take(pa.array(order))
        return nested_column(type_, lists_of(offsets, inner, self.column.valid))


def rows_of_elements(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The row of each element."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def extreme_numbers(lists: Lists, *, greatest: bool) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The least or the greatest number of each row, and where there is one; NaN is greatest, NULL is passed over."""
    values, valid = lists.elements.values, lists.elements.valid
    found, there = np.zeros(len(lists.column), values.dtype), np.empty(len(lists.column), np.bool_)
    known = _fixed(np.ones(1, np.bool_) if valid is None else valid)
    held = np.int8 if values.dtype == np.bool_ else values.dtype
    made = (found.view(held), there)
    _extreme_in_row(
        lists.offsets, _fixed(values.view(held)), (known, valid is not None), greatest, made
    )
    return found, there


def _fixed(values: NDArray[Any]) -> NDArray[Any]:
    """Side by side and not to be written, as Arrow's are: a kernel is compiled for each layout."""
    made = np.ascontiguousarray(values).view()
    made.flags.writeable = False
    return made


SHORT = 16  # elements of a row that are compared with each other


def first_in_short_rows(lists: Lists) -> NDArray[np.bool_]:
    """Which elements are there for the first time in their row, by comparing those of a row with each other; NULL is a value, and so is NaN."""
    values, first = lists.elements.values, np.empty(len(lists.flat), np.bool_)
    known = _fixed(lists.known)
    if lists.elements.type.held_as_text:
        _first_text(lists.offsets, *bytes_of(values), known, first)
        return first
    if values.dtype == np.float64:
        values = np.where(np.isnan(values), np.nan, values + 0.0).view(np.int64)
    _first_number(lists.offsets, _fixed(values.astype(np.int64)), known, first)
    return first


@njit(cache=True, nogil=True)
def _first_number(offsets, numbers, known, first):  # type: ignore[no-untyped-def]
    for row in range(len(offsets) - 1):
        for at in range(offsets[row], offsets[row + 1]):
            is_first = True
            for other in range(offsets[row], at):
                if known[other] == known[at] and (not known[at] or numbers[other] == numbers[at]):
                    is_first = False
                    break
            first[at] = is_first


@njit(cache=True, nogil=True)
def _first_text(offsets, data, starts, known, first):  # type: ignore[no-untyped-def]
    for row in range(len(offsets) - 1):
        for at in range(offsets[row], offsets[row + 1]):
            is_first = True
            begin, size = starts[at], starts[at + 1] - starts[at]
            for other in range(offsets[row], at):
                if known[other] != known[at]:
                    continue
                if known[at]:
                    since = starts[other]
                    if starts[other + 1] - since != size:
                        continue
                    same = 0
                    while same < size and data[since + same] == data[begin + same]:
                        same += 1
                    if same < size:
                        continue
                is_first = False
                break
            first[at] = is_first


@njit(cache=True, nogil=True)
def _any_in_row(offsets, marked, found):  # type: ignore[no-untyped-def]
    for row in range(len(found)):
        any_marked = False
        for at in range(offsets[row], offsets[row + 1]):
            any_marked |= marked[at]
        found[row] = any_marked


@njit(cache=True, nogil=True)
def _extreme_in_row(offsets, values, asked, greatest, made):  # type: ignore[no-untyped-def]
    known, has_unknown = asked
    found, there = made
    for row in range(len(found)):
        at, end = offsets[row], offsets[row + 1]
        while has_unknown and at < end and not known[at]:
            at += 1
        there[row] = at < end
        if at == end:
            continue
        best = values[at]
        for place in range(at + 1, end):
            if has_unknown and not known[place]:
                continue
            value = values[place]
            # A value that is not itself is NaN.
            if greatest:
                better = value > best or (value != value and best == best)
            else:
                better = value < best or (best != best and value == value)
            if better:
                best = value
        found[row] = best


def warm() -> None:
    """Compile this module's kernels."""
    for values in (pa.array([1]), pa.array([1.0]), pa.array([True]), pa.array(["a"])):
        made = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), values)
        lists = Lists(nested_column(ArrayType(_TYPES[values.type]), made))
        lists.any_of(lists.known)
        first_in_short_rows(lists)
        if values.type != pa.string():
            extreme_numbers(lists, greatest=True)
