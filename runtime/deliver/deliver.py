"""From what operators found to result rows of queries.

Several queries may share a body and differ in their SELECT lists, and many queries of different bodies share one SELECT
list. So each distinct list is evaluated once per packet, over the rows that any of its queries wants, and all its queries
are one group that picks rows from it: a packet costs a few array operations a list, and almost nothing a query. Lists of plain
columns are not evaluated at all.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.deliver.outputs import OutputPlans
from cqc.runtime.deliver.results import ResultGroup
from cqc.runtime.expressions.compile.compile_expression import columns_of
from cqc.runtime.join.execute.results import JoinResults
from cqc.runtime.lineage.slot_addresses import NOBODY, SEVERAL, UNKNOWN, Addresses

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.types import ColumnType
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.deliver.outputs import OutputPlan
    from cqc.runtime.lineage.matches import Found, Seat, SlotRows

ListKey = tuple[int, tuple[int, ...], "ColumnType"]
_MOST_CHANGES = 4096  # so many are remembered before all addresses are found out again


@dataclass(slots=True, eq=False)
class SelectList:
    """A SELECT list over the items of a host: what queries that are delivered together have in common."""

    number: int
    plan: OutputPlan
    positions: tuple[int, ...]  # of the FROM items among the host's
    time_type: ColumnType
    users: int = 0


@dataclass(slots=True, eq=False)
class Destination:
    """A push query as delivery sees it."""

    query: QueryNode
    select: SelectList
    source: Hashable  # the operator that finds its rows


class Deliveries:
    """The push queries of a circuit, by the seat of the body that answers them."""

    def __init__(self) -> None:
        self.plans = OutputPlans()
        # By seat and not by body: a pull query of the same body has a seat of its own, whose findings are not delivered.
        self._by_seat: dict[Seat, list[Destination]] = {}
        self._sources: Counter[Hashable] = Counter()  # destinations by operator
        self._numbers: dict[ListKey, int] = {}
        self._lists: dict[int, SelectList] = {}
        self._next_number = 0
        self._addresses: dict[int, Addresses] = {}  # by the identity of an operator's slots
        self._changes: list[int] = []  # slots whose queries have changed, of whatever operator

    def add(self, query: QueryNode, seat: Seat) -> None:
        """Deliver what is found for the query's body from now on."""
        plan = self.plans.use(query.outputs)
        times = next(relation for relation in query.body.relations if relation.is_stream)
        select = self._select_list(plan, query.positions, times.time_type)
        select.users += 1
        self._by_seat.setdefault(seat, []).append(Destination(query, select, seat.source))
        self._sources[seat.source] += 1
        self._note_change(seat.slot_number)

    def remove(self, query: QueryNode, seat: Seat) -> None:
        """Deliver nothing more to the query."""
        destinations = self._by_seat[seat]
        (gone,) = (each for each in destinations if each.query is query)
        destinations.remove(gone)
        if not destinations:
            del self._by_seat[seat]
        self._sources[gone.source] -= 1
        if not self._sources[gone.source]:
            del self._sources[gone.source]
        select = gone.select
        select.users -= 1
        if not select.users:
            del self._lists[select.number]
            del self._numbers[id(select.plan), select.positions, select.time_type]
        self.plans.release(query.outputs)
        self._note_change(seat.slot_number)

    def columns_read(self, relation: str) -> set[int]:
        """The columns of a stream that results show, of queries over it alone."""
        lists = {
            id(each.select.plan): each.query.outputs
            for destinations in self._by_seat.values()
            for each in destinations
            if fold(each.query.body.relations[0].name) == relation
        }
        return {
            column
            for outputs in lists.values()
            for output in outputs
            for column in columns_of(output.expression)
        }

    @property
    def is_empty(self) -> bool:
        """Whether nobody waits for anything."""
        return not self._by_seat

    def deliver_all(self, found: Sequence[Found]) -> list[ResultGroup]:
        """The results of several findings of one micro-batch; some may be of operators that work for others alone."""
        found = [each for each in found if each.source in self._sources]
        joins = [each for each in found if isinstance(each, JoinResults)]
        others = [each for each in found if not isinstance(each, JoinResults)]
        together = JoinResults.together(joins) if len(joins) > 1 else joins
        return [group for each in (*together, *others) for group in self.deliver(each)]

    def deliver(self, found: Found) -> list[ResultGroup]:
        """The results of one finding, a group for each SELECT list."""
        by_slot = found.by_slot()
        slots = by_slot.slots
        addresses = self._addresses_of(by_slot.table)
        lists = addresses.lists(slots)
        if (lists == UNKNOWN).any():
            for slot in slots[lists == UNKNOWN].tolist():
                self._find_out(addresses, found, slot)
            lists = addresses.lists(slots)
        wanted: dict[int, Wanted] = {}
        if len(slots) and lists[0] >= 0 and (lists == lists[0]).all():
            if by_slot.times_us is not None and not by_slot.members:
                return [
                    _whole_group(found, by_slot, self._lists[int(lists[0])], addresses.names(slots))
                ]
            every = Wanted(addresses.names(slots), by_slot.begins, by_slot.ends)
            wanted[int(lists[0])] = every
        else:
            self._gather(wanted, found, by_slot, addresses, lists)
        for seat, begin, end in by_slot.members:
            self._gather_seat(wanted, seat, begin, end)
        return [
            _group_of(found, by_slot, self._lists[number], each) for number, each in wanted.items()
        ]

    def _select_list(
        self, plan: OutputPlan, positions: tuple[int, ...], time_type: ColumnType
    ) -> SelectList:
        number = self._numbers.setdefault((id(plan), positions, time_type), self._next_number)
        if number == self._next_number:
            self._next_number += 1
            self._lists[number] = SelectList(number, plan, positions, time_type)
        return self._lists[number]

    def _note_change(self, slot: int) -> None:
        if len(self._changes) >= _MOST_CHANGES:
            self._changes.clear()
            self._addresses.clear()
        self._changes.append(slot)

    def _addresses_of(self, table: object) -> Addresses:
        addresses = self._addresses.get(id(table))
        if addresses is None:
            addresses = self._addresses[id(table)] = Addresses(table)
        elif addresses.changes_seen < len(self._changes):
            for slot in self._changes[addresses.changes_seen :]:
                addresses.forget(slot)
        addresses.changes_seen = len(self._changes)
        return addresses

    def _find_out(self, addresses: Addresses, found: Found, slot: int) -> None:
        destinations = [
            each for seat in found.seats_at(slot) for each in self._by_seat.get(seat, ())
        ]
        if len(destinations) == 1:
            addresses.learn(slot, destinations[0].select.number, destinations[0].query.name)
        else:
            addresses.learn(slot, SEVERAL if destinations else NOBODY)

    def _gather(
        self,
        wanted: dict[int, Wanted],
        found: Found,
        by_slot: SlotRows,
        addresses: Addresses,
        lists: NDArray[np.int64],
    ) -> None:
        """The queries of slots with SELECT lists of their own, and of slots with several queries."""
        begins, ends = by_slot.begins, by_slot.ends
        for number in np.unique(lists[lists >= 0]).tolist():
            own = lists == number
            wanted[number] = Wanted(addresses.names(by_slot.slots[own]), begins[own], ends[own])
        for at in np.flatnonzero(lists == SEVERAL).tolist():
            for seat in found.seats_at(int(by_slot.slots[at])):
                self._gather_seat(wanted, seat, int(begins[at]), int(ends[at]))

    def _gather_seat(self, wanted: dict[int, Wanted], seat: Seat, begin: int, end: int) -> None:
        for destination in self._by_seat.get(seat, ()):
            number = destination.select.number
            if number not in wanted:
                wanted[number] = Wanted([], _NOTHING, _NOTHING)
            wanted[number].more.append((destination.query.name, begin, end))


_NOTHING = np.zeros(0, np.int64)
_FEW = 16  # rows that are sorted at the cost of one pass over so many times as many


@dataclass(slots=True)
class Wanted:
    """The queries of one SELECT list that have results, and where the rows of each begin and end; `more` one by one."""

    queries: list[str]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    more: list[tuple[str, int, int]] = field(default_factory=list)


def _group_of(found: Found, by_slot: SlotRows, select: SelectList, wanted: Wanted) -> ResultGroup:
    """The results of queries with one SELECT list, which is evaluated once for all of them."""
    queries, begins, stops = wanted.queries, wanted.begins, wanted.ends
    if wanted.more:
        names, firsts, lasts = zip(*wanted.more, strict=True)
        queries = [*queries, *names]
        begins, stops = np.append(begins, firsts), np.append(stops, lasts)
    picks, ends = _stretches(by_slot.rows, begins, stops)
    if by_slot.times_us is not None:
        times_us, _ = _stretches(by_slot.times_us, begins, stops)
    else:
        times_us = found.ts_us[picks]
        order = _time_order(times_us, ends)
        if order is not None:
            picks, times_us = picks[order], times_us[order]
    return _result_group(found, select, queries, picks, times_us, ends)


def _whole_group(
    found: Found, by_slot: SlotRows, select: SelectList, queries: list[str]
) -> ResultGroup:
    """The results of all slots, whose queries have one SELECT list: their rows lie beside each other."""
    assert by_slot.times_us is not None
    return _result_group(found, select, queries, by_slot.rows, by_slot.times_us, by_slot.ends)


def _result_group(
    found: Found,
    select: SelectList,
    queries: list[str],
    picks: NDArray[np.int64],
    times_us: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> ResultGroup:
    used = None
    if not select.plan.is_plain:
        used, picks = _numbered(picks, len(found))
    columns = _evaluate(found, select, used)
    return ResultGroup(
        queries=queries,
        names=select.plan.names,
        columns=columns,
        picks=picks,
        times_us=times_us,
        ends=ends,
        time_type=select.time_type,
    )


def _numbered(
    picks: NDArray[np.int64], length: int
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
    """The rows that are picked among so many, ascending (None: all of them), and the picks as numbers of these."""
    if _FEW * len(picks) < length:
        used = np.unique(picks)
        return used, np.searchsorted(used, picks)
    is_used = np.zeros(length, np.bool_)
    is_used[picks] = True
    if is_used.all():
        return None, picks
    return np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[picks]


def _stretches(
    rows: NDArray[np.int64], begins: NDArray[np.int64], stops: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Stretches of an array, one after the other, and where each ends."""
    ends = np.cumsum(stops - begins)
    if int(ends[-1]) == int(stops[-1] - begins[0]) and (begins[1:] == stops[:-1]).all():
        return rows[begins[0] : stops[-1]], ends
    stretches = zip(begins.tolist(), stops.tolist(), strict=True)
    return np.concatenate([rows[begin:stop] for begin, stop in stretches]), ends


def _time_order(times_us: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """How to bring the rows of each query into result-time order; None when they are."""
    falls = times_us[1:] < times_us[:-1]
    starts = ends[:-1]
    falls[starts - 1] = False
    if not falls.any():
        return None
    query_of = np.zeros(len(times_us), np.int64)
    query_of[starts] = 1
    return np.lexsort((times_us, np.cumsum(query_of)))


def _evaluate(
    found: Found, select: SelectList, rows: NDArray[np.int64] | None
) -> tuple[Column, ...]:
    """A SELECT list over rows of a finding; FROM positions are translated to the host's."""
    positions = select.positions

    def fetch(item: int, column: int) -> Column:
        return found.column(positions[item], column, rows)

    return select.plan.columns(fetch, len(found) if rows is None else len(rows))
