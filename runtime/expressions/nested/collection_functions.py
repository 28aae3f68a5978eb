"""Functions of arrays, maps and structs (the compiler's `functions/collections.py`).

They work on the elements of all rows as one column, with the row of each. All are nodes: NULL has a meaning of its own in most of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.bound import ComparisonOp
from cqc.compiler.meaning.types import ArrayType, ColumnType, MapType
from cqc.runtime.columns.columns import Column, is_known, take, text_column
from cqc.runtime.columns.comparisons import compare
from cqc.runtime.columns.nested import (
    column_of_inner,
    field_of,
    flat_of,
    inner_of_column,
    inner_type,
    lists_of,
    nested_column,
    nested_of,
    offsets_of,
    structs_of,
)
from cqc.runtime.expressions.nested.lambdas import picked, value_at_key
from cqc.runtime.expressions.nested.lists import (
    SHORT,
    Lists,
    extreme_numbers,
    first_in_short_rows,
    rows_of_elements,
)
from cqc.runtime.expressions.nested.spread import is_constant, spread
from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cqc.runtime.expressions.expression_kernels import Frame, Node
    from cqc.runtime.expressions.kernel import Kernel, NodeMaker, PartialKernel

_BIGINT = ColumnType.BIGINT


def _node(make: Callable[..., Column], *, takes_constants: bool = False) -> NodeMaker:
    """A node of a function of whole columns; constants are spread over the rows, but for a function that takes them behind its first argument."""

    def maker(nodes: list[Node], type_: ColumnType) -> Node:
        def node(frame: Frame) -> Column:
            columns = [each(frame) for each in nodes]
            count = 1 if takes_constants else len(columns)
            columns[:count] = [spread(each, frame.rows) for each in columns[:count]]
            return make(frame, type_, *columns)

        return node

    return maker


def _masked(type_: ColumnType, values: Any, valid: NDArray[np.bool_]) -> Column:
    return Column(type_, values, None if valid.all() else np.array(valid))


def _failing(frame: Frame, column: Column, failed: NDArray[np.bool_]) -> Column:
    """The column with NULL where it failed; these are counted."""
    if not failed.any():
        return column
    frame.fail(failed)
    keep = pa.array(np.where(failed, -1, np.arange(len(failed))), mask=failed)
    inner = inner_of_column(column).take(keep)
    return column_of_inner(column.type, inner)


def _size(frame: Frame, type_: ColumnType, x: Column) -> Column:
    return _masked(type_, np.diff(offsets_of(nested_of(x))), x.is_valid())


def _element_at(frame: Frame, type_: ColumnType, x: Column, at: Column) -> Column:
    if isinstance(x.type, MapType):
        return value_at_key(x, spread(at, frame.rows), type_)
    lists = Lists(x)
    number = at.values
    behind = np.where(number < 0, lists.lengths, -1) if np.any(number < 0) else -1
    place = number + behind
    there = (place >= 0) & (place < lists.lengths)
    if at.valid is not None:
        there = there & at.valid
    if not there.all():
        failed = x.is_valid() & is_known(at) & ~there
        if failed.any():
            frame.fail(failed)
    return picked(lists.elements, lists.offsets[:-1] + place, there)


def _equal_to(lists: Lists, value: Column) -> NDArray[np.bool_]:
    """Which elements equal the value of their row."""
    beside = value if is_constant(value) else take(value, lists.rows)
    equal = compare(ComparisonOp.EQ, lists.elements, beside)
    if lists.elements.valid is not None:
        equal = equal & lists.known
    return np.broadcast_to(equal, (len(lists.flat),))


def _array_contains(frame: Frame, type_: ColumnType, x: Column, value: Column) -> Column:
    lists = Lists(x)
    found = lists.any_of(_equal_to(lists, value))
    valid = lists.valid & is_known(value)
    if lists.elements.valid is not None:
        valid = valid & (found | ~lists.any_unknown())
    return _masked(type_, found, valid)


def _array_position(frame: Frame, type_: ColumnType, x: Column, value: Column) -> Column:
    lists = Lists(x)
    hits = np.flatnonzero(_equal_to(lists, value))[::-1]
    places = np.zeros(len(x), np.int64)
    places[lists.rows[hits]] = hits - lists.offsets[lists.rows[hits]] + 1
    return _masked(type_, places, lists.valid & is_known(value))


def _array_join(
    frame: Frame, type_: ColumnType, x: Column, between: Column, null: Column | None = None
) -> Column:
    lists = Lists(x)
    valid = lists.valid & between.is_valid()
    texts = lists.elements.values
    if null is not None:
        valid = valid & null.is_valid()
        texts = pc.if_else(pa.array(lists.known), texts, take(null, lists.rows).values)
        counts = lists.lengths
    else:
        texts = texts.filter(pa.array(lists.known))
        counts = np.bincount(lists.rows[lists.known], minlength=len(x))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    joined = pc.binary_join(lists_of(offsets, texts, None), between.values)
    return text_column(pc.if_else(pa.array(valid), joined, pa.scalar(None, pa.string())))


def ranks(column: Column) -> NDArray[np.int64]:
    """Whole numbers in the order of the values, equal where these are: NaN is greatest, -0.0 is 0.0; anything where NULL."""
    if column.type.held_as_text:
        coded = column.values.dictionary_encode()
        order = pc.sort_indices(coded.dictionary).to_numpy().astype(np.int64)
        rank = np.zeros(len(order) + 1, np.int64)
        rank[order] = np.arange(len(order))
        codes = coded.indices.fill_null(len(order)).to_numpy(zero_copy_only=False)
        found: NDArray[np.int64] = rank[codes]
        return found
    values = column.values + 0.0 if column.type is ColumnType.DOUBLE else column.values
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _array_distinct(frame: Frame, type_: ColumnType, x: Column) -> Column:
    lists = Lists(x)
    if lists.lengths.max(initial=0) <= SHORT:
        first = first_in_short_rows(lists)
    else:
        numbers = np.where(lists.known, _numbered(lists.elements), -1) + 1
        first = np.empty(len(numbers), np.bool_)
        _first_in_row(lists.rows, numbers, np.full(len(numbers) + 2, -1, np.int64), first)
    if first.all():
        return nested_column(type_, nested_of(x))
    places = np.flatnonzero(first)
    return lists.kept(places, np.bincount(lists.rows[places], minlength=len(x)), type_)


def _numbered(column: Column) -> NDArray[np.int64]:
    """Whole numbers from 0 that are equal where values are; anything where NULL."""
    if not column.type.held_as_text:
        return ranks(column)
    codes = column.values.dictionary_encode().indices.fill_null(0)
    found: NDArray[np.int64] = codes.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


@njit(cache=True, nogil=True)
def _first_in_row(rows, numbers, seen, first):  # type: ignore[no-untyped-def]
    """Which numbers come for the first time in their row; `seen` has for each number the last row that had it."""
    for at in range(len(rows)):
        first[at] = seen[numbers[at]] != rows[at]
        seen[numbers[at]] = rows[at]


def _extreme(*, greatest: bool) -> Callable[..., Column]:
    def make(frame: Frame, type_: ColumnType, x: Column) -> Column:
        lists = Lists(x)
        if not lists.elements.type.held_as_text:
            return _masked(lists.elements.type, *extreme_numbers(lists, greatest=greatest))
        places = np.flatnonzero(lists.known)
        order = np.lexsort((ranks(lists.elements)[places], lists.rows[places]))
        places = places[order]
        rows = lists.rows[places]
        found = np.full(len(x), -1, np.int64)
        if greatest:
            found[rows] = places
        else:
            found[rows[::-1]] = places[::-1]
        return picked(lists.elements, found, found >= 0)

    return make


def _slice(frame: Frame, type_: ColumnType, x: Column, start: Column, length: Column) -> Column:
    lists = Lists(x)
    valid = lists.valid & is_known(start) & is_known(length)
    failed = valid & ((start.values == 0) | (length.values < 0))
    if failed.any():
        frame.fail(failed)
        valid = valid & ~failed
    begin = start.values + np.where(start.values < 0, lists.lengths, -1)
    inside = (begin >= 0) & (begin < lists.lengths) & valid
    count = np.where(inside, np.minimum(length.values, lists.lengths - begin), 0)
    before = np.cumsum(count) - count  # elements of the rows before
    order = np.arange(int(count.sum())) + np.repeat(lists.offsets[:-1] + begin - before, count)
    made = lists.kept(order, count, type_)
    if valid.all():
        return made
    nested = pc.if_else(pa.array(valid), nested_of(made), pa.scalar(None, inner_type(type_)))
    return nested_column(type_, nested)


def _sort_array(
    frame: Frame, type_: ColumnType, x: Column, ascending: Column | None = None
) -> Column:
    lists = Lists(x)
    up = np.ones(len(x), np.bool_) if ascending is None else ascending.values
    numbers = np.where(lists.known, ranks(lists.elements), -1)
    numbers = np.where(up[lists.rows], numbers, -numbers)
    order = np.lexsort((numbers, lists.rows))
    made = lists.kept(order, lists.lengths, type_)
    if ascending is None or ascending.valid is None:
        return made
    nested = pc.if_else(
        pa.array(ascending.valid), nested_of(made), pa.scalar(None, inner_type(type_))
    )
    return nested_column(type_, nested)


def _flatten(frame: Frame, type_: ColumnType, x: Column) -> Column:
    lists = Lists(x)
    inner = lists.flat
    has_null = lists.any_unknown()
    offsets = offsets_of(inner)[lists.offsets]
    valid = lists.valid & ~has_null
    if has_null.any():  # their elements belong to nobody
        keep = ~has_null[lists.rows]
        rest = inner.filter(pa.array(keep))
        counts = np.bincount(
            lists.rows[keep], weights=np.diff(offsets_of(inner))[keep], minlength=len(x)
        )
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return nested_column(type_, lists_of(offsets, flat_of(rest), valid))
    return nested_column(type_, lists_of(offsets, flat_of(inner), valid))


def _array(frame: Frame, type_: ColumnType, *values: Column) -> Column:
    assert isinstance(type_, ArrayType)
    flat = _interleaved([inner_of_column(each) for each in values], type_.element)
    offsets = np.arange(frame.rows + 1, dtype=np.int64) * len(values)
    return nested_column(type_, lists_of(offsets, flat, None))


def _interleaved(arrays: list[Any], type_: ColumnType) -> Any:
    """The values of some arrays by turns."""
    if not arrays:
        return pa.array([], inner_type(type_))
    rows, count = len(arrays[0]), len(arrays)
    places = np.arange(rows * count).reshape(count, rows).T.reshape(-1)
    return pa.concat_arrays(arrays).take(pa.array(places))


def _map(frame: Frame, type_: ColumnType, *values: Column) -> Column:
    assert isinstance(type_, MapType)
    keys = _interleaved([inner_of_column(each) for each in values[::2]], type_.key)
    items = _interleaved([inner_of_column(each) for each in values[1::2]], type_.item)
    offsets = np.arange(frame.rows + 1, dtype=np.int64) * (len(values) // 2)
    rows = rows_of_elements(offsets)
    column = column_of_inner(type_.key, keys)
    failed = np.zeros(frame.rows, np.bool_)
    failed[rows[~np.broadcast_to(is_known(column), rows.shape)]] = True
    pairs = rows * (len(rows) + 1) + ranks(column)
    first = np.zeros(len(rows), np.bool_)
    first[np.unique(pairs, return_index=True)[1]] = True
    failed[rows[~first]] = True
    made = lists_of(offsets, structs_of([keys, items], ["0", "1"], None), None)
    return _failing(frame, nested_column(type_, made), failed)


def _part_of_map(number: int) -> Callable[..., Column]:
    def make(frame: Frame, type_: ColumnType, x: Column) -> Column:
        nested = nested_of(x)
        inner = field_of(flat_of(nested), number)
        return nested_column(type_, lists_of(offsets_of(nested), inner, x.valid))

    return make


def _struct_node(nodes: list[Node], type_: ColumnType) -> Node:
    """As `_node`, but the names, which are constants, are not spread over the rows."""

    def node(frame: Frame) -> Column:
        values = [spread(each(frame), frame.rows) for each in nodes[1::2]]
        parts = [inner_of_column(each) for each in values]
        names = [str(at) for at in range(len(parts))]
        return nested_column(type_, structs_of(parts, names, None))

    return node


KERNELS: dict[str, Kernel] = {}

PARTIAL_KERNELS: dict[str, PartialKernel] = {}

NODES: dict[str, NodeMaker] = {
    "size": _node(_size),
    "element_at": _node(_element_at, takes_constants=True),
    "array_contains": _node(_array_contains, takes_constants=True),
    "array_position": _node(_array_position, takes_constants=True),
    "array_join": _node(_array_join),
    "array_distinct": _node(_array_distinct),
    "array_max": _node(_extreme(greatest=True)),
    "array_min": _node(_extreme(greatest=False)),
    "slice": _node(_slice, takes_constants=True),
    "sort_array": _node(_sort_array),
    "flatten": _node(_flatten),
    "array": _node(_array),
    "map": _node(_map),
    "map_keys": _node(_part_of_map(0)),
    "map_values": _node(_part_of_map(1)),
    "named_struct": _struct_node,
}


def warm() -> None:
    """Compile this module's kernels."""
    one = np.zeros(1, np.int64)
    _first_in_row(one, one, np.zeros(3, np.int64), np.empty(1, np.bool_))
