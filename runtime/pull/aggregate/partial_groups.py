"""Parts of a pull query's answer, made by several engines that each hold some of the rows, and how they are put together.

An engine that holds only some of a query's rows gives for each window the groups it has with *partial* aggregates, or the rows
themselves before DISTINCT, ORDER BY and LIMIT. Partials lose nothing (sums carry twice the precision, whole numbers are exact),
so the answer is that of one engine that holds all rows.

A sum of doubles that overflowed on the way cannot be mended from partials: such groups bring their values with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.diagnostics.record import record
from cqc.runtime.columns.columns import Column, concatenate, take
from cqc.runtime.pull.aggregate.aggregates import count_column, finish
from cqc.runtime.pull.aggregate.grouping import first_rows, number_rows
from cqc.runtime.pull.aggregate.partials import (
    REST,
    SPECIAL,
    SUM,
    absorb_by_group,
    clear_all,
    merge_partials,
    numbers_of,
    width_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import Aggregate

    ValuesOf = Callable[[int], NDArray[np.float64]]


@record
class Groups:
    """Groups of windows, one row each: its window, its key values and its aggregates."""

    window: NDArray[np.int64]
    keys: tuple[Column, ...]
    aggregates: tuple[Column, ...]


@record
class PartialLane:
    """One aggregate of each group as partials; COUNT(*) has one column. `values` are those of overflowed sums, by row."""

    partials: NDArray[Any]
    values: dict[int, NDArray[np.float64]]


@record
class PartialGroups:
    """Groups of windows, one row each: its window, its key values and its partial aggregates."""

    window: NDArray[np.int64]
    keys: tuple[Column, ...]
    lanes: tuple[PartialLane, ...]


@record
class PartialRows:
    """Rows of windows with their oldest event time, their outputs and what ORDER BY says of them."""

    window: NDArray[np.int64]
    oldest_us: NDArray[np.int64]
    columns: tuple[Column, ...]
    orders: tuple[Column, ...]


def rows_lane(column: Column | None, groups: NDArray[np.int64], group_count: int) -> PartialLane:
    """One aggregate of each group, from the argument's value for each row (None for COUNT(*))."""
    if column is None:
        counts = np.bincount(groups, minlength=group_count).astype(np.int64)
        return PartialLane(counts.reshape(-1, 1), {})
    numbers, valid = numbers_of(column), column.is_valid()
    partials = np.empty((group_count, width_of(numbers)), numbers.dtype)
    clear_all(partials)
    absorb_by_group(numbers, valid, groups, partials)
    return partial_lane(partials, lambda row: numbers[(groups == row) & valid])


def partial_lane(partials: NDArray[Any], values_of: ValuesOf) -> PartialLane:
    """The lane of some partials, with the values of sums that overflowed."""
    if partials.dtype != np.float64:
        return PartialLane(partials, {})
    with np.errstate(all="ignore"):
        spoilt = ~np.isfinite(partials[:, SUM] + partials[:, REST])
    return PartialLane(partials, {row: values_of(row) for row in np.flatnonzero(spoilt).tolist()})


def merge_groups(
    parts: Sequence[PartialGroups],
    aggregates: Sequence[Aggregate],
    told_by_window: frozenset[int] = frozenset(),
) -> tuple[Groups, int]:
    """The groups of all parts with their aggregates, and how many of those failed (a total that does not fit)."""
    window = np.concatenate([part.window for part in parts])
    keys = [
        concatenate([part.keys[at] for part in parts if len(part.window)] or [parts[0].keys[at]])
        for at in range(len(parts[0].keys))
    ]
    telling = [key for at, key in enumerate(keys) if at not in told_by_window]
    numbers, count = number_rows([count_column(window), *telling], len(window))
    firsts = first_rows(numbers, count)
    columns, failed = [], 0
    for at, aggregate in enumerate(aggregates):
        lanes = [part.lanes[at] for part in parts]
        column, failures = _merge_lane(aggregate, lanes, numbers, count)
        columns.append(column)
        failed += failures
    order = np.argsort(window[firsts], kind="stable")
    groups = Groups(
        window[firsts][order],
        tuple(take(take(key, firsts), order) for key in keys),
        tuple(take(column, order) for column in columns),
    )
    return groups, failed


def _merge_lane(
    aggregate: Aggregate, lanes: Sequence[PartialLane], numbers: NDArray[np.int64], count: int
) -> tuple[Column, int]:
    parts = np.concatenate([lane.partials for lane in lanes])
    if aggregate.argument is None:
        totals = np.zeros(count, np.int64)
        np.add.at(totals, numbers, parts[:, 0])
        return count_column(totals), 0
    starts = np.cumsum([0, *(len(lane.partials) for lane in lanes)]).tolist()
    values = {
        start + row: own
        for start, lane in zip(starts, lanes, strict=False)
        for row, own in lane.values.items()
    }
    for row in values:  # its sum says nothing; its other fields do
        parts[row, SUM:SPECIAL] = 0.0
    merged = merge_partials(parts, numbers, count)
    for row in values:
        merged[numbers[row], SUM] = np.inf  # so that the values are asked for

    def values_of(group: int) -> NDArray[np.float64]:
        found = [
            values[row] if row in values else parts[row, [SUM, REST]]
            for row in np.flatnonzero(numbers == group).tolist()
        ]
        return np.concatenate(found)

    return finish(aggregate, merged, values_of)


def merge_rows(parts: Sequence[PartialRows]) -> PartialRows:
    """The rows of all parts, window by window in the order of their oldest event time."""
    full = [part for part in parts if len(part.window)] or list(parts[:1])
    window = np.concatenate([part.window for part in full])
    oldest_us = np.concatenate([part.oldest_us for part in full])
    order = np.lexsort((oldest_us, window))
    columns = tuple(
        take(concatenate([part.columns[at] for part in full]), order)
        for at in range(len(full[0].columns))
    )
    orders = tuple(
        take(concatenate([part.orders[at] for part in full]), order)
        for at in range(len(full[0].orders))
    )
    return PartialRows(window[order], oldest_us[order], columns, orders)


def selected_groups(part: PartialGroups, chosen: NDArray[np.bool_]) -> PartialGroups:
    """Some of the groups."""
    if chosen.all():
        return part
    rows = np.flatnonzero(chosen)
    place = np.cumsum(chosen) - 1
    lanes = tuple(
        PartialLane(
            lane.partials[rows],
            {int(place[row]): values for row, values in lane.values.items() if chosen[row]},
        )
        for lane in part.lanes
    )
    return PartialGroups(part.window[rows], tuple(take(key, rows) for key in part.keys), lanes)


def taken_groups(
    part: PartialGroups, rows: NDArray[np.int64], window: NDArray[np.int64] | None = None
) -> PartialGroups:
    """Some of the groups, which may repeat; in other windows where those are given."""
    lanes = []
    for lane in part.lanes:
        values: dict[int, NDArray[np.float64]] = {}
        for row, own in lane.values.items():
            values |= dict.fromkeys(np.flatnonzero(rows == row).tolist(), own)
        lanes.append(PartialLane(lane.partials[rows], values))
    keys = tuple(take(key, rows) for key in part.keys)
    return PartialGroups(part.window[rows] if window is None else window, keys, tuple(lanes))


def joined_groups(
    parts: Sequence[PartialGroups], told_by_window: frozenset[int] = frozenset()
) -> PartialGroups:
    """The groups of all parts, each once, still as partials."""
    if len(parts) == 1:
        return parts[0]
    window = np.concatenate([part.window for part in parts])
    keys = [
        concatenate([_plain(part.keys[at]) for part in parts]) for at in range(len(parts[0].keys))
    ]
    telling = [key for at, key in enumerate(keys) if at not in told_by_window]
    numbers, count = number_rows([count_column(window), *telling], len(window))
    firsts = first_rows(numbers, count)
    lanes = tuple(
        _joined_lane([part.lanes[at] for part in parts], numbers, count)
        for at in range(len(parts[0].lanes))
    )
    return PartialGroups(window[firsts], tuple(take(key, firsts) for key in keys), lanes)


def _plain(column: Column) -> Column:
    return Column(column.type, column.values, column.valid)


def _joined_lane(
    lanes: Sequence[PartialLane], numbers: NDArray[np.int64], count: int
) -> PartialLane:
    parts = np.concatenate([lane.partials for lane in lanes])
    if parts.shape[1] == 1:  # COUNT(*)
        totals = np.zeros(count, np.int64)
        np.add.at(totals, numbers, parts[:, 0])
        return PartialLane(totals.reshape(-1, 1), {})
    starts = np.cumsum([0, *(len(lane.partials) for lane in lanes)]).tolist()
    values = {
        start + row: own
        for start, lane in zip(starts, lanes, strict=False)
        for row, own in lane.values.items()
    }
    for row in values:
        parts[row, SUM:SPECIAL] = 0.0
    merged = merge_partials(parts, numbers, count)
    if parts.dtype != np.float64:
        return PartialLane(merged, {})
    # A group of which one part overflowed keeps all its values: those, and the sums of its other parts.
    spoilt: dict[int, list[NDArray[np.float64]]] = {}
    with np.errstate(all="ignore"):
        overflowed = np.flatnonzero(~np.isfinite(merged[:, SUM] + merged[:, REST]))
    for group in {*(int(numbers[row]) for row in values), *overflowed.tolist()}:
        found = [
            values[row] if row in values else parts[row, [SUM, REST]]
            for row in np.flatnonzero(numbers == group).tolist()
        ]
        spoilt[group] = found
        merged[group, SUM] = np.inf
    return PartialLane(merged, {group: np.concatenate(each) for group, each in spoilt.items()})
