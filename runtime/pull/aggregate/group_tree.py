"""The aggregates of a history, for any window: one per GROUP BY clause of a body, shared by all its queries.

Every group's rows lie side by side in time order (`GroupSlots`), and for each aggregate argument there is a tree of partial
aggregates over those slots. A window is then one binary search and one logarithmic fold per group that has rows in it; all
windows of a periodic query that are due are answered in one call. Queries of the same clause with other windows, other
periods or other functions of the same arguments use the same trees.

Rows of a join that began in a window may have ended after it. Those that began early enough have surely not, whatever the
window; the few that began later are looked at one by one and added to what the trees say. Aggregates over distinct values
take their values from the tree of a finer grouping, in which each value is a group: they cost a search for each value that
there is, however many rows have it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.bound import AggregateFunction
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.text_labels import TextLabels
from cqc.runtime.expressions.compile.compile_expression import compile_expression
from cqc.runtime.pull.aggregate.aggregate_tree import FAN, AggregateTree
from cqc.runtime.pull.aggregate.aggregates import (
    aggregate_rows,
    count_column,
    finish,
    needs_finer_groups,
)
from cqc.runtime.pull.aggregate.group_slots import GroupSlots
from cqc.runtime.pull.aggregate.partial_groups import (
    Groups,
    PartialGroups,
    PartialLane,
    partial_lane,
)
from cqc.runtime.pull.aggregate.partials import (
    COUNT,
    WHOLE_LEAST,
    WHOLE_MOST,
    absorb_by_group,
    numbers_of,
)
from cqc.runtime.pull.history.result_history import Batch
from cqc.runtime.state.key_numbers import KeyNumbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import Aggregate, Expression
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.expressions.compile.compile_expression import Compiled
    from cqc.runtime.pull.aggregate.aggregates import ValuesOf
    from cqc.runtime.pull.history.result_history import History, Positions

    Fetch = Callable[[int, int], Column]
    FinerTree = Callable[[Expression], "GroupTree"]  # groups of one expression more
    LaneKey = tuple[Expression, bool]  # the argument, and whether texts are in their order
    Folded = tuple[NDArray[Any], ValuesOf]
    FetchRows = Callable[[Positions], Fetch]  # columns of FROM items at given rows

_MOST_WAITING_ROWS = 1 << 16


@dataclass(slots=True, eq=False)
class Lane:
    """One aggregate argument: how it is computed, and its tree; texts are in it as numbers in their order."""

    compiled: Compiled
    tree: AggregateTree
    labels: TextLabels | None

    def numbers(self, column: Column) -> NDArray[Any]:
        """The values as the tree has them."""
        if self.labels is None:
            return numbers_of(column)
        labels, moved = self.labels.of(column)
        if moved is not None:
            self.tree.renumber(*moved)
        return labels

    def finish(
        self, aggregate: Aggregate, partials: NDArray[Any], values_of: ValuesOf
    ) -> tuple[Column, int]:
        """The aggregate of each partial, and how many failed."""
        if self.labels is None:
            return finish(aggregate, partials, values_of)
        present = partials[:, COUNT] > 0
        is_least = aggregate.function is AggregateFunction.MIN
        best = partials[:, WHOLE_LEAST if is_least else WHOLE_MOST]
        return self.labels.texts(best, None if present.all() else present, aggregate.type), 0


@record
class Request:
    """Aggregates and what answers them: a lane, for distinct values the tree of a finer grouping, or the slots alone."""

    tree: GroupTree
    sources: tuple[tuple[Aggregate, Lane | GroupTree | None], ...]


@record
class _Entries:
    """Each window with each group that has rows in it, ascending: slots from, to, and rows that are not among them."""

    window: NDArray[np.int64]
    group: NDArray[np.int64]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    loose: Fetch | None  # columns of the rows that began near the end of a window
    loose_of: NDArray[np.int64]  # the entry of each of them

    def __len__(self) -> int:
        return len(self.window)

    def counts(self) -> NDArray[np.int64]:
        """How many rows each has."""
        counts: NDArray[np.int64] = self.stops - self.starts
        if self.loose is not None:
            counts = counts + np.bincount(self.loose_of, minlength=len(counts))
        return counts


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
        self._lanes: dict[LaneKey, Lane] = {}
        self._failed = 0
        self._start_anew()

    def _start_anew(self) -> None:
        self._waiting: list[Batch] = [self.history.everything()]
        self._waiting_rows = len(self._waiting[0])
        self._numbers = KeyNumbers(self._types)
        self._slots = GroupSlots()
        for lane in self._lanes.values():
            lane.tree = AggregateTree(self._slots.capacity, lane.tree.values.dtype)
            lane.labels = None if lane.labels is None else TextLabels()

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return self._slots.groups

    @property
    def failures(self) -> int:
        """Evaluations of keys and arguments that failed, and totals that did not fit."""
        compiled = [*self._compiled, *(lane.compiled for lane in self._lanes.values())]
        return self._failed + sum(each.failures for each in compiled)

    @property
    def nbytes(self) -> int:
        trees = sum(lane.tree.nbytes for lane in self._lanes.values())
        return trees + int(self._slots.oldest.nbytes) + self._numbers.nbytes

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
        texts = max((len(lane.labels) for lane in self._lanes.values() if lane.labels), default=0)
        few_groups = (
            self._slots.groups > 1024 and 2 * self._slots.live_groups() < self._slots.groups
        )
        # Most slots are free for good: a smaller tree has room for what is left.
        sparse = self._slots.capacity > 16_384 and 16 * len(self.history) < self._slots.capacity
        if few_groups or sparse or texts > 4096 + 2 * len(self.history):
            self._start_anew()

    def request(self, aggregates: Sequence[Aggregate], finer: FinerTree) -> Request:
        """What to ask for with `answer`; trees for arguments that are new are made now."""
        wanted = [lane_key(each) for each in aggregates]
        missing = [key for key in wanted if key is not None and key not in self._lanes]
        if (
            missing and not self._slots.groups
        ):  # nothing is there yet: the rows that wait fill all of them at once
            for key in missing:
                self._make_lane(key)
        self._catch_up()
        for key in missing:
            if key not in self._lanes:
                self._fill_lane(self._make_lane(key))
        sources: list[tuple[Aggregate, Lane | GroupTree | None]] = []
        for each, lane in zip(aggregates, wanted, strict=True):
            if needs_finer_groups(each):
                assert each.argument is not None
                sources.append((each, finer(each.argument)))
            else:
                sources.append((each, None if lane is None else self._lanes[lane]))
        return Request(self, tuple(sources))

    def answer(
        self, request: Request, begin_us: NDArray[np.int64], end_us: NDArray[np.int64]
    ) -> Groups:
        """The groups of each window, with the aggregates asked for."""
        entries = self._entries(begin_us, end_us)
        folded: dict[int, Folded] = {}
        columns = []
        for each, source in request.sources:
            if source is None:
                columns.append(count_column(entries.counts()))
            elif isinstance(source, GroupTree):
                columns.append(self._distinct(each, source, entries, begin_us, end_us))
            else:
                columns.append(self._column(each, source, entries, folded))
        return Groups(entries.window, self._keys_of(entries), tuple(columns))

    def _keys_of(self, entries: _Entries) -> tuple[Column, ...]:
        return self._numbers.columns(entries.group)

    def _entries(self, begin_us: NDArray[np.int64], end_us: NDArray[np.int64]) -> _Entries:
        self._catch_up()
        sure_us = self.history.sure_until(end_us)
        window, group, starts, stops = self._slots.stretches(begin_us, sure_us)
        none = np.zeros(0, np.int64)
        if sure_us is end_us or (sure_us == end_us).all():
            return _Entries(window, group, starts, stops, None, none)
        loose_window, rows = self.history.ended(begin_us, end_us)
        if not len(loose_window):
            return _Entries(window, group, starts, stops, None, none)
        fetch = self._fetch_rows(rows)
        loose_group = self._groups_of(fetch, len(loose_window))
        width = max(self._slots.groups, 1)
        codes = window * width + group
        every, loose_of = np.unique(
            np.concatenate((codes, loose_window * width + loose_group)), return_inverse=True
        )
        places = every.searchsorted(codes)
        slots = np.zeros((2, len(every)), np.int64)
        slots[0, places], slots[1, places] = starts, stops
        return _Entries(
            every // width, every % width, slots[0], slots[1], fetch, loose_of[len(codes) :]
        )

    def parts(
        self, request: Request, begin_us: NDArray[np.int64], end_us: NDArray[np.int64]
    ) -> PartialGroups:
        """The same as partial aggregates, to be put together with those of other engines.

        Texts and distinct values have none that could be put together.
        """
        entries = self._entries(begin_us, end_us)
        lanes: list[PartialLane] = []
        for _, source in request.sources:
            if source is None:
                lanes.append(PartialLane(entries.counts().reshape(-1, 1), {}))
            else:
                assert isinstance(source, Lane)
                folded, values_of = _fold(source, entries)
                lanes.append(partial_lane(folded, values_of))
        return PartialGroups(entries.window, self._keys_of(entries), tuple(lanes))

    def _column(
        self,
        aggregate: Aggregate,
        lane: Lane,
        entries: _Entries,
        folded: dict[int, Folded],  # by lane: SUM and AVG of one argument are folded once
    ) -> Column:
        if id(lane) not in folded:
            folded[id(lane)] = _fold(lane, entries)
        column, failed = lane.finish(aggregate, *folded[id(lane)])
        self._failed += failed
        return column

    def _distinct(
        self,
        aggregate: Aggregate,
        finer: GroupTree,
        entries: _Entries,
        begin_us: NDArray[np.int64],
        end_us: NDArray[np.int64],
    ) -> Column:
        """An aggregate over distinct values: the finer tree has each of them as a group of its own."""
        parts = finer._entries(begin_us, end_us)
        *keys, values = finer._keys_of(parts)
        groups = self._numbers.of(keys, len(parts))
        width = max(self._slots.groups, 1)
        codes = entries.window * width + entries.group
        entry = codes.searchsorted(parts.window * width + groups)
        plain = replace(aggregate, distinct=False)
        column, failed = aggregate_rows(plain, [values], entry, len(entries))
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
        move = self._slots.insert(groups, batch.oldest, len(self._numbers))
        for lane in self._lanes.values():
            if move.laid_out is not None:
                lane.tree.relocate(*move.laid_out)
            lane.tree.move(move.sources, move.targets)
            column = lane.compiled.run(fetch, len(batch))
            lane.tree.write(move.slots, lane.numbers(column), column.valid)
            lane.tree.refresh(move.blocks)

    def _groups_of(self, fetch: Fetch, length: int) -> NDArray[np.int64]:
        keys = [compiled.run(fetch, length) for compiled in self._compiled]
        return self._numbers.of(keys, length)

    def _make_lane(self, key: LaneKey) -> Lane:
        argument, in_order = key
        dtype = np.float64 if argument.type is ColumnType.DOUBLE else np.int64
        tree = AggregateTree(self._slots.capacity, dtype)
        labels = TextLabels() if in_order else None
        lane = self._lanes[key] = Lane(compile_expression(argument), tree, labels)
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
        lane.tree.write(slots, lane.numbers(column), column.valid)
        lane.tree.refresh(np.arange(-(-self._slots.capacity // FAN)))


def _fold(lane: Lane, entries: _Entries) -> Folded:
    """The partial of each entry, and how to get the values that it is made of."""
    loose = None
    if entries.loose is not None:
        loose = lane.compiled.run(entries.loose, len(entries.loose_of))
        numbers = lane.numbers(loose)
    partials = lane.tree.stretches(entries.starts, entries.stops)
    if loose is not None:
        absorb_by_group(numbers, loose.is_valid(), entries.loose_of, partials)
    tree = lane.tree

    def values_of(row: int) -> NDArray[np.float64]:
        stretch = slice(entries.starts[row], entries.stops[row])
        values: NDArray[np.float64] = tree.values[stretch][tree.valid[stretch]]
        if loose is not None:
            own = loose.values[(entries.loose_of == row) & loose.is_valid()]
            values = np.concatenate((values, own))
        return values

    return partials, values_of


def lane_key(aggregate: Aggregate) -> LaneKey | None:
    """Which lane answers an aggregate; None where none does."""
    if aggregate.argument is None or needs_finer_groups(aggregate):
        return None
    is_text = aggregate.argument.type.held_as_text
    return aggregate.argument, is_text and aggregate.function is not AggregateFunction.COUNT


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
