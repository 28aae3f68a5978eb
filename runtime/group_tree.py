"""The aggregates of a history, for any window: one per GROUP BY clause of a body, shared by all its queries.

Every group's rows lie side by side in time order (`GroupSlots`), and for each aggregate argument there is a tree of partial
aggregates over those slots. A window is then one binary search and one logarithmic fold per group that has rows in it; all
windows of a periodic query that are due are answered in one call. Queries of the same clause with other windows, other
periods or other functions of the same arguments use the same trees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.types import ColumnType
from cqc.runtime.aggregate_tree import FAN, AggregateTree
from cqc.runtime.aggregates import count_column, finish
from cqc.runtime.columns import take
from cqc.runtime.evaluate import compile_expression
from cqc.runtime.group_slots import GroupSlots
from cqc.runtime.grouping import GroupNumbers
from cqc.runtime.history import Batch
from cqc.runtime.partial_groups import Groups, PartialGroups, PartialLane, partial_lane
from cqc.runtime.partials import numbers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.bound import Aggregate, Expression
    from cqc.runtime.columns import Column
    from cqc.runtime.evaluate import Compiled
    from cqc.runtime.history import History, Positions

    Fetch = Callable[[int, int], Column]
    FetchRows = Callable[[Positions], Fetch]  # columns of FROM items at given rows

_MOST_WAITING_ROWS = 1 << 16


@dataclass(slots=True, eq=False)
class Lane:
    """One aggregate argument: how it is computed, and its tree."""

    compiled: Compiled
    tree: AggregateTree


@dataclass(frozen=True, slots=True)
class Request:
    """Aggregates and the trees that answer them."""

    tree: GroupTree
    lanes: tuple[tuple[Aggregate, Lane | None], ...]


class GroupTree:
    """The rows of a history by group, with trees over their aggregate arguments."""

    def __init__(
        self, history: History, group_by: tuple[Expression, ...], fetch_rows: FetchRows
    ) -> None:
        self.history = history
        self.users = 0
        self._types = [expression.type for expression in group_by]
        self._compiled = [compile_expression(expression) for expression in group_by]
        self._fetch_rows = fetch_rows
        self._lanes: dict[Expression, Lane] = {}
        self._failed = 0
        self._start_anew()

    def _start_anew(self) -> None:
        self._waiting: list[Batch] = [self.history.everything()]
        self._waiting_rows = len(self._waiting[0])
        self._numbers = GroupNumbers(self._types)
        self._slots = GroupSlots()
        for lane in self._lanes.values():
            lane.tree = AggregateTree(self._slots.capacity, lane.tree.values.dtype)

    @property
    def failures(self) -> int:
        """Evaluations of keys and arguments that failed, and totals that did not fit."""
        compiled = [*self._compiled, *(lane.compiled for lane in self._lanes.values())]
        return self._failed + sum(each.failures for each in compiled)

    @property
    def nbytes(self) -> int:
        trees = sum(lane.tree.nbytes for lane in self._lanes.values())
        return trees + int(self._slots.oldest.nbytes)

    def offer(self, batch: Batch, number: int) -> None:
        """Take rows that were merged into the history, now or when somebody asks."""
        del number  # groups have an order of their own
        self._waiting.append(batch)
        self._waiting_rows += len(batch)
        if self._waiting_rows > _MOST_WAITING_ROWS:
            self._catch_up()

    def purge(self, before_us: int) -> None:
        """Forget rows that began before `before_us`, and from time to time the groups that have none left."""
        self._slots.purge(before_us)
        if self._slots.groups > 1024 and 2 * self._slots.live_groups() < self._slots.groups:
            self._start_anew()

    def request(self, aggregates: Sequence[Aggregate]) -> Request:
        """What to ask for with `answer`; trees for arguments that are new are made now."""
        wanted = [each.argument for each in aggregates if each.argument is not None]
        missing = [argument for argument in wanted if argument not in self._lanes]
        if (
            missing and not self._slots.groups
        ):  # nothing is there yet: the rows that wait fill all of them at once
            for argument in missing:
                self._make_lane(argument)
        self._catch_up()
        for argument in missing:
            if argument not in self._lanes:
                self._fill_lane(self._make_lane(argument))
        lanes = tuple(
            (each, None if each.argument is None else self._lanes[each.argument])
            for each in aggregates
        )
        return Request(self, lanes)

    def answer(
        self, request: Request, begin_us: NDArray[np.int64], end_us: NDArray[np.int64]
    ) -> Groups:
        """The groups of each window, with the aggregates asked for."""
        self._catch_up()
        window, group, starts, stops = self._slots.stretches(begin_us, end_us)
        partials: dict[int, NDArray[Any]] = {}
        columns = [
            self._column(each, lane, starts, stops, partials) for each, lane in request.lanes
        ]
        keys = tuple(take(key, group) for key in self._numbers.key_columns())
        return Groups(window, keys, tuple(columns))

    def parts(
        self, request: Request, begin_us: NDArray[np.int64], end_us: NDArray[np.int64]
    ) -> PartialGroups:
        """The same as partial aggregates, to be put together with those of other engines."""
        self._catch_up()
        window, group, starts, stops = self._slots.stretches(begin_us, end_us)
        lanes: list[PartialLane] = []
        for _, lane in request.lanes:
            if lane is None:
                lanes.append(PartialLane((stops - starts).reshape(-1, 1), {}))
                continue
            tree = lane.tree

            def values_of(row: int, tree: AggregateTree = tree) -> NDArray[np.float64]:
                stretch = slice(starts[row], stops[row])
                values: NDArray[np.float64] = tree.values[stretch][tree.valid[stretch]]
                return values

            lanes.append(partial_lane(tree.stretches(starts, stops), values_of))
        keys = tuple(take(key, group) for key in self._numbers.key_columns())
        return PartialGroups(window, keys, tuple(lanes))

    def _column(
        self,
        aggregate: Aggregate,
        lane: Lane | None,
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        partials: dict[int, NDArray[Any]],  # by lane: SUM and AVG of one argument are folded once
    ) -> Column:
        if lane is None:
            return count_column(stops - starts)
        tree = lane.tree
        if id(lane) not in partials:
            partials[id(lane)] = tree.stretches(starts, stops)

        def values_of(row: int) -> NDArray[np.float64]:
            stretch = slice(starts[row], stops[row])
            values: NDArray[np.float64] = tree.values[stretch][tree.valid[stretch]]
            return values

        column, failed = finish(aggregate, partials[id(lane)], values_of)
        self._failed += failed
        return column

    def _catch_up(self) -> None:
        if not self._waiting_rows:
            self._waiting = []
            return
        batch = _joined(self._waiting)
        self._waiting, self._waiting_rows = [], 0
        batch = self.history.still_there(batch)
        if not len(batch):
            return
        fetch = self._fetch_rows(batch.positions)
        groups = self._groups_of(fetch, len(batch))
        move = self._slots.insert(groups, batch.oldest, max(len(self._numbers), 1))
        for lane in self._lanes.values():
            if move.laid_out is not None:
                lane.tree.relocate(*move.laid_out)
            lane.tree.move(move.sources, move.targets)
            column = lane.compiled.run(fetch, len(batch))
            lane.tree.write(move.slots, numbers_of(column), column.valid)
            lane.tree.refresh(move.blocks)

    def _groups_of(self, fetch: Fetch, length: int) -> NDArray[np.int64]:
        if not self._compiled:
            return np.zeros(length, np.int64)
        keys = [compiled.run(fetch, length) for compiled in self._compiled]
        return self._numbers.of(keys, length)

    def _make_lane(self, argument: Expression) -> Lane:
        dtype = np.float64 if argument.type is ColumnType.DOUBLE else np.int64
        tree = AggregateTree(self._slots.capacity, dtype)
        lane = self._lanes[argument] = Lane(compile_expression(argument), tree)
        return lane

    def _fill_lane(self, lane: Lane) -> None:
        """Put the rows that are there into a new tree.

        The history and every group keep rows in one order: by oldest event time, then as they came. So the n-th row of a
        group in the history is the n-th of the group's slots.
        """
        batch = self.history.everything()
        if not len(batch):
            return
        fetch = self._fetch_rows(batch.positions)
        groups = self._groups_of(fetch, len(batch))
        order = np.argsort(groups, kind="stable")
        counts = np.bincount(groups, minlength=self._slots.groups)
        within = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        slots = np.empty(len(order), np.int64)
        slots[order] = self._slots.first[groups[order]] + within
        column = lane.compiled.run(fetch, len(batch))
        lane.tree.write(slots, numbers_of(column), column.valid)
        lane.tree.refresh(np.arange(-(-self._slots.capacity // FAN)))


def _joined(batches: Sequence[Batch]) -> Batch:
    """Several batches as one, ascending by oldest event time, equal times as they came."""
    if len(batches) == 1:
        return batches[0]
    oldest = np.concatenate([batch.oldest for batch in batches])
    positions = zip(*(batch.positions for batch in batches), strict=True)
    joined = [np.concatenate(parts) for parts in positions]
    if (oldest[1:] < oldest[:-1]).any():
        order = np.argsort(oldest, kind="stable")
        oldest, joined = oldest[order], [part[order] for part in joined]
    return Batch(oldest, tuple(joined))
