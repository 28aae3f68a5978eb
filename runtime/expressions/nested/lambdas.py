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
    flat_of,
    inner_of_column,
    lists_of,
    nested_column,
    nested_of,
    offsets_of,
)
from cqc.runtime.expressions.nested.lists import Lists, rows_of_elements
from cqc.runtime.expressions.nested.spread import spread

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cqc.runtime.expressions.expression_kernels import ColumnSource, Frame, Node

VARIABLES = -3  # the item number under which the variables of lambdas are asked for


def field_node(whole: Node, number: int, type_: ColumnType) -> Node:
    """A field of a struct, or of the structs in an array."""

    def node(frame: Frame) -> Column:
        column = spread(whole(frame), frame.rows)
        nested = nested_of(column)
        if isinstance(column.type, ArrayType):
            inner = field_of(flat_of(nested), number)
            return nested_column(type_, lists_of(offsets_of(nested), inner, column.valid))
        return column_of_inner(type_, field_of(nested, number))

    return node


def item_node(whole: Node, index: Node, type_: ColumnType) -> Node:
    """`x[i]` counted from 0, `m['k']`: NULL where there is none."""

    def node(frame: Frame) -> Column:
        column = spread(whole(frame), frame.rows)
        wanted = index(frame)
        if isinstance(column.type, MapType):
            return value_at_key(column, spread(wanted, frame.rows), type_)
        assert isinstance(column.type, ArrayType)
        lists = Lists(column)
        there = (wanted.values >= 0) & (wanted.values < lists.lengths) & is_known(wanted)
        return picked(lists.elements, lists.offsets[:-1] + wanted.values, there)

    return node


def picked(elements: Column, places: NDArray[np.int64], there: NDArray[np.bool_]) -> Column:
    """The elements at some places, NULL where there is none."""
    inner = inner_of_column(elements)
    if there.all():
        found = inner.take(pa.array(places))
    elif len(elements) and there.any():
        found = inner.take(pa.array(np.where(there, places, 0), mask=~there))
    else:
        return null_column(elements.type, len(places))
    return column_of_inner(elements.type, found)


def value_at_key(column: Column, wanted: Column, type_: ColumnType) -> Column:
    """The value of each map at a key; the last one of a key that comes twice."""
    assert isinstance(column.type, MapType)
    nested = nested_of(column)
    offsets = offsets_of(nested)
    entries = flat_of(nested)
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
        self.lists = lists = Lists(spread(array(frame), frame.rows))
        active = None if frame.active is None else frame.active[lists.rows]
        if lists.column.valid is not None and active is not None:
            active = active & lists.valid[lists.rows]
        columns = _columns_of_elements(frame, lists, first)
        self.frame = replace(frame, columns=columns, rows=len(lists.flat), active=active)

    def truth(self, body: Node) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | None]:
        """Where the body is TRUE, and where it is NULL (None: nowhere)."""
        made = spread(body(self.frame), self.frame.rows)
        if made.valid is None:
            return made.values, None
        return made.values & made.valid, ~made.valid

    def decided(
        self,
        type_: ColumnType,
        held: NDArray[np.bool_],
        result: bool,
        unknown: NDArray[np.bool_] | None,
    ) -> Column:
        """The result where it is held, which one element decides; NULL where it is not and an element is unknown."""
        valid = self.lists.column.valid
        if unknown is not None:
            valid = self.lists.valid & (held | ~self.lists.any_of(unknown))
        return Column(type_, held if result else ~held, valid)


def _columns_of_elements(frame: Frame, lists: Lists, first: int) -> ColumnSource:
    """The columns that a body sees: its variables, and those of the row of each element."""
    known: dict[tuple[int, int], Column] = {(VARIABLES, first): lists.elements}

    def columns(item: int, column: int) -> Column:
        found = known.get((item, column))
        if found is None:
            if (item, column) == (VARIABLES, first + 1):
                places = np.arange(len(lists.flat)) - lists.offsets[lists.rows]
                found = Column(ColumnType.BIGINT, places)
            else:
                found = take(frame.columns(item, column), lists.rows)
            known[item, column] = found
        return found

    return columns


def _exists(array: Node, body: Node, first: int, type_: ColumnType) -> Node:
    def node(frame: Frame) -> Column:
        elements = _Elements(frame, array, first)
        true, unknown = elements.truth(body)
        return elements.decided(type_, elements.lists.any_of(true), True, unknown)

    return node


def _forall(array: Node, body: Node, first: int, type_: ColumnType) -> Node:
    def node(frame: Frame) -> Column:
        elements = _Elements(frame, array, first)
        true, unknown = elements.truth(body)
        false = ~true if unknown is None else ~(true | unknown)
        return elements.decided(type_, elements.lists.any_of(false), False, unknown)

    return node


def _filter(array: Node, body: Node, first: int, type_: ColumnType) -> Node:
    def node(frame: Frame) -> Column:
        elements = _Elements(frame, array, first)
        true, _ = elements.truth(body)
        kept = elements.lists.flat.filter(pa.array(true))
        before = np.concatenate([[0], np.cumsum(true)])
        return nested_column(
            type_, lists_of(before[elements.lists.offsets], kept, elements.lists.column.valid)
        )

    return node


def _transform(array: Node, body: Node, first: int, type_: ColumnType) -> Node:
    def node(frame: Frame) -> Column:
        elements = _Elements(frame, array, first)
        made = inner_of_column(spread(body(elements.frame), elements.frame.rows))
        return nested_column(
            type_, lists_of(elements.lists.offsets, made, elements.lists.column.valid)
        )

    return node


HIGHER_ORDER: dict[str, Callable[[Node, Node, int, ColumnType], Node]] = {
    "exists": _exists,
    "any": _exists,
    "forall": _forall,
    "filter": _filter,
    "transform": _transform,
}
