"""What a function with OVER says of each row, by place: numbers of rows, neighbours, and aggregates of frames.

Aggregates of numbers go through a tree of partial aggregates over the places (`aggregate_tree`), so a frame costs the same
whatever its length and nothing is subtracted: a sum is exact, and does not drift. All others are made of the rows of each
frame, as many frames at a time as memory allows.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.bound import OverFunction
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column, concatenate, null_column, take
from cqc.runtime.pull.aggregate.aggregate_tree import FAN, AggregateTree
from cqc.runtime.pull.aggregate.aggregates import (
    aggregate_rows,
    count_column,
    finish,
    has_partials,
)
from cqc.runtime.pull.aggregate.partials import numbers_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import Aggregate
    from cqc.runtime.pull.over.partitions import Partitions

    Places = NDArray[np.int64]

_ROWS_AT_ONCE = 1 << 20


def at_places(column: Column, places: Places, known: NDArray[np.bool_]) -> Column:
    """The values at some places, NULL where there is none."""
    if known.all():
        return take(column, places)
    if not len(column):
        return null_column(column.type, len(places))
    found = take(column, np.where(known, places, 0))
    if column.type.held_as_text:
        # An Arrow array has its own NULLs: the value after the last is one.
        longer = concatenate([_plain(column), null_column(column.type, 1)])
        return take(longer, np.where(known, places, len(column)))
    return Column(column.type, found.values, known & found.is_valid())


def _plain(column: Column) -> Column:
    return Column(column.type, column.values, column.valid)


def rank_values(function: OverFunction, partitions: Partitions, buckets: int = 1) -> Column:
    """Functions of the place alone."""
    here = np.arange(len(partitions), dtype=np.int64)
    number = here - partitions.first
    size = partitions.last - partitions.first
    match function:
        case OverFunction.ROW_NUMBER:
            return count_column(number + 1)
        case OverFunction.RANK:
            return count_column(partitions.peer_first - partitions.first + 1)
        case OverFunction.DENSE_RANK:
            return count_column(dense_ranks(partitions))
        case OverFunction.PERCENT_RANK:
            rank = (partitions.peer_first - partitions.first).astype(np.float64)
            return Column(ColumnType.DOUBLE, rank / np.maximum(size - 1, 1))
        case OverFunction.CUME_DIST:
            reached = (partitions.peer_last - partitions.first).astype(np.float64)
            return Column(ColumnType.DOUBLE, reached / size)
        case _:
            assert function is OverFunction.NTILE
            small, larger = size // buckets, size % buckets
            edge = larger * (small + 1)
            before = number // (small + 1)
            behind = larger + (number - edge) // np.maximum(small, 1)
            return count_column(np.where(number < edge, before, behind) + 1)


def dense_ranks(partitions: Partitions) -> Places:
    """How many different order keys each partition has up to each place."""
    begins = partitions.peer_first == np.arange(len(partitions))
    seen = np.cumsum(begins)
    return seen - seen[partitions.first] + 1 if len(seen) else seen


def neighbour_values(
    column: Column, default: Column | None, offset: int, partitions: Partitions
) -> Column:
    """The value so many places before (after: a negative offset), or the default of the current row."""
    places = np.arange(len(partitions), dtype=np.int64) - offset
    known = (places >= partitions.first) & (places < partitions.last)
    found = at_places(column, places, known)
    if default is None or known.all():
        return found
    both = concatenate([_plain(found), _plain(default)])
    here = np.arange(len(partitions))
    return take(both, np.where(known, here, here + len(here)))


def framed_value(
    function: OverFunction, column: Column, number: int, begins: Places, stops: Places
) -> Column:
    """FIRST_VALUE, LAST_VALUE and NTH_VALUE."""
    if function is OverFunction.LAST_VALUE:
        places = stops - 1
    else:
        places = begins + (number - 1 if function is OverFunction.NTH_VALUE else 0)
    return at_places(column, places, (places >= begins) & (places < stops))


def frame_partials(column: Column, begins: Places, stops: Places) -> NDArray[Any]:
    """The partial aggregate of each frame, of values at places."""
    numbers = numbers_of(column)
    tree = AggregateTree(max(len(numbers), 1), numbers.dtype)
    tree.write(np.arange(len(numbers)), numbers, column.valid)
    tree.refresh(np.arange(-(-len(numbers) // FAN)))
    return tree.stretches(begins, stops)


def frame_aggregate(
    aggregate: Aggregate, columns: Sequence[Column], begins: Places, stops: Places
) -> tuple[Column, int]:
    """An aggregate of each frame, and how many failed; `columns` have the values of its inputs at each place."""
    if not columns:
        return count_column(stops - begins), 0
    if has_partials(aggregate):
        column = columns[0]

        def values_of(row: int) -> NDArray[np.float64]:
            inside = slice(int(begins[row]), int(stops[row]))
            values: NDArray[np.float64] = column.values[inside][column.is_valid()[inside]]
            return values

        return finish(aggregate, frame_partials(column, begins, stops), values_of)
    return _from_rows(aggregate, columns, begins, stops)


def _from_rows(
    aggregate: Aggregate, columns: Sequence[Column], begins: Places, stops: Places
) -> tuple[Column, int]:
    """The same from the rows of each frame."""
    made: list[Column] = []
    failed = 0
    sizes = np.cumsum(stops - begins)
    edges = [0, *(np.flatnonzero(np.diff(sizes // _ROWS_AT_ONCE)) + 1).tolist(), len(begins)]
    for start, stop in itertools.pairwise(edges):
        lengths = stops[start:stop] - begins[start:stop]
        frames = np.repeat(np.arange(stop - start), lengths)
        offsets = np.arange(len(frames)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        places = np.repeat(begins[start:stop], lengths) + offsets
        values = [take(column, places) for column in columns]
        part, failures = aggregate_rows(aggregate, values, frames, stop - start)
        made.append(_plain(part))
        failed += failures
    return concatenate(made), failed
