"""Parts of nested values, and functions with a lambda: the elements of all arrays are one column, on which the body runs once.

exists(args, a -> a ILIKE '%x%')     rows  0 [p, xq]  1 []  2 [x]   elements p xq x of rows 0 0 2   body F T T   rows T F T
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.bound import ComparisonOp
from cqc.compiler.meaning.types import ArrayType, ColumnType, MapType
from cqc.runtime.columns.columns import Column, is_known, null_column, take
from cqc.runtime.columns.comparisons import compare
from cqc.runtime.columns.nested import (
    column_of_inner,
    field_of,
    inner_of_column,
    lists_of,
    nested_column,
    nested_of,
    offsets_of,
)
from cqc.runtime.expressions.nested.spread import spread

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cqc.runtime.expressions.expression_kernels import Frame, Node

VARIABLES = -3  # the item number under which the variables of lambdas are asked for


def rows_of_elements(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The row of each element."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def field_node(whole: Node, number: int, type_: ColumnType) -> Node:
    """A field of a struct, or of the structs in an array."""

    def node(frame: Frame) -> Column:
        column = spread(whole(frame), frame.rows)
        nested = nested_of(column)
        if isinstance(column.type, ArrayType):
            inner = field_of(nested.flatten(), number)
            return nested_column(type_, lists_of(offsets_of(nested), inner, column.valid))
        return column_of_inner(type_, field_of(nested, number))

    return node


def item_node(whole: Node, index: Node, type_: ColumnType) -> Node:
    """`x[i]` counted from 0, `m['k']`: NULL where there is none."""

    def node(frame: Frame) -> Column:
        column = spread(whole(frame), frame.rows)
        wanted = spread(index(frame), frame.rows)
        if isinstance(column.type, MapType):
            return value_at_key(column, wanted, type_)
        assert isinstance(column.type, ArrayType)
        nested = nested_of(column)
        offsets = offsets_of(nested)
        there = (wanted.values >= 0) & (wanted.values < np.diff(offsets))
        there = there & is_known(wanted)
        elements = column_of_inner(column.type.element, nested.flatten())
        return picked(elements, offsets[:-1] + np.where(there, wanted.values, 0), there)

    return node


def picked(elements: Column, places: NDArray[np.int64], there: NDArray[np.bool_]) -> Column:
    """The elements at some places, NULL where there is none."""
    if not len(elements) or not there.any():
        return null_column(elements.type, len(places))
    inner = inner_of_column(elements)
    found = inner.take(pa.array(np.where(there, places, 0), mask=~there))
    return column_of_inner(elements.type, found)


def value_at_key(column: Column, wanted: Column, type_: ColumnType) -> Column:
    """The value of each map at a key; the last one of a key that comes twice."""
    assert isinstance(column.type, MapType)
    nested = nested_of(column)
    offsets = offsets_of(nested)
    entries = nested.flatten()
    rows = rows_of_elements(offsets)
    keys = column_of_inner(column.type.key, field_of(entries, 0))
    equal = compare(ComparisonOp.EQ, keys, take(wanted, rows)) & np.broadcast_to(
        is_known(take(wanted, rows)), rows.shape
    )
    hits = np.flatnonzero(equal)
    places = np.full(len(column), -1, np.int64)
    places[rows[hits]] = hits
    return picked(column_of_inner(type_, field_of(entries, 1)), places, places >= 0)


class _Elements:
    """The elements of an array column, and the frame in which a body is evaluated on them."""

    def __init__(self, frame: Frame, array: Node, first: int) -> None:
        self.column = spread(array(frame), frame.rows)
        assert isinstance(self.column.type, ArrayType)
        self.nested = nested_of(self.column)
        self.offsets = offsets_of(self.nested)
        self.flat = self.nested.flatten()
        self.rows = rows_of_elements(self.offsets)
        elements = column_of_inner(self.column.type.element, self.flat)
        rows, offsets = self.rows, self.offsets
        known: dict[tuple[int, int], Column] = {(VARIABLES, first): elements}

        def columns(item: int, column: int) -> Column:
            found = known.get((item, column))
            if found is None:
                if (item, column) == (VARIABLES, first + 1):
                    found = Column(ColumnType.BIGINT, np.arange(len(rows)) - offsets[rows])
                else:
                    found = take(frame.columns(item, column), rows)
                known[item, column] = found
            return found

        active = None if frame.active is None else frame.active[rows]
        if self.column.valid is not None and active is not None:
            active = active & self.column.valid[rows]
        self.frame = replace(frame, columns=columns, rows=len(rows), active=active)

    def truth(self, body: Node) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Where the body is TRUE, and where it is NULL."""
        made = spread(body(self.frame), len(self.rows))
        known = np.broadcast_to(is_known(made), self.rows.shape)
        return made.values & known, ~known

    def any_of(self, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The rows one of whose elements is marked."""
        found = np.zeros(len(self.column), np.bool_)
        found[self.rows[marked]] = True
        return found


def _exists(array: Node, body: Node, first: int, type_: ColumnType) -> Node:
    def node(frame: Frame) -> Column:
        elements = _Elements(frame, array, first)
        true, unknown = elements.truth(body)
        held = elements.any_of(true)
        valid = elements.column.is_valid() & (held | ~elements.any_of(unknown))
        return Column(type_, held, None if valid.all() else valid)

    return node


def _forall(array: Node, body: Node, first: int, type_: ColumnType) -> Node:
    def node(frame: Frame) -> Column:
        elements = _Elements(frame, array, first)
        true, unknown = elements.truth(body)
        failed = elements.any_of(~true & ~unknown)
        valid = elements.column.is_valid() & (failed | ~elements.any_of(unknown))
        return Column(type_, ~failed, None if valid.all() else valid)

    return node


def _filter(array: Node, body: Node, first: int, type_: ColumnType) -> Node:
    def node(frame: Frame) -> Column:
        elements = _Elements(frame, array, first)
        true, _ = elements.truth(body)
        kept = elements.flat.filter(pa.array(true))
        before = np.concatenate([[0], np.cumsum(true)])
        return nested_column(type_, lists_of(before[elements.offsets], kept, elements.column.valid))

    return node


def _transform(array: Node, body: Node, first: int, type_: ColumnType) -> Node:
    def node(frame: Frame) -> Column:
        elements = _Elements(frame, array, first)
        made = inner_of_column(spread(body(elements.frame), len(elements.rows)))
        return nested_column(type_, lists_of(elements.offsets, made, elements.column.valid))

    return node


HIGHER_ORDER: dict[str, Callable[[Node, Node, int, ColumnType], Node]] = {
    "exists": _exists,
    "any": _exists,
    "forall": _forall,
    "filter": _filter,
    "transform": _transform,
}
