"""The grouped filter: one operator answers every query over a stream's tuples (CACQ, section 3.1).

Queries and tuples are duals, and either can be indexed. The *packet index* (`packet_index`) orders the packet's values and
streams the queries past it; its cost is the same whatever matches. The *access index* (`access_index`) keeps queries in lists
under a value that they ask for; its cost goes with the matches. `match_source` picks by measured cost. Conditions of all queries
on one column share that column's constants, the literals of their text patterns one search, equal atoms are evaluated once.

    slot 0: light < 200    slot 1: light < 200 AND room = '1.07'    slot 2: light BETWEEN 150 AND 300

    light: cuts 150 200 301        room: point '1.07'
    tuple (180, '1.01'): below 200 and 301, not below 150     ->  slots 0, 2
    tuple (120, '1.07'): below 150, 200, 301; hits the point  ->  slots 0, 1

What comes out is a `Lineage`: who wants which tuple, worked out as far as it is asked for.
"""

from __future__ import annotations

import weakref
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.diagnostics.record import record
from cqc.compiler.wording.expressions import formula_text
from cqc.runtime.expressions.function_faults import noted_in
from cqc.runtime.filter.access_index import AccessIndex, build_lists, make_ranks
from cqc.runtime.filter.atoms import Atoms
from cqc.runtime.filter.bits.formula_bits import compile_formula
from cqc.runtime.filter.kernel_samples import FORMULAS, TYPES, sample_packets
from cqc.runtime.filter.match_source import Access, Costs, MatchSource, Side
from cqc.runtime.filter.packet_index import (
    MOST_DIRECT_ROWS,
    Layout,
    PacketIndex,
    RowTable,
    make_layout,
)
from cqc.runtime.filter.query_store import QueryStore
from cqc.runtime.filter.stations import MOST_ROUTED, MOST_STATIONS, Stations
from cqc.runtime.filter.visit_order import FilterRoute
from cqc.runtime.lineage.bitmaps import Lineage
from cqc.runtime.metrics.parts import VisitMetrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import Formula
    from cqc.compiler.meaning.types import ColumnType
    from cqc.runtime.adapt.decision import Decision
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.filter.stations import Station


@record
class FilterCount:
    """What a filter did so far, and what it holds."""

    packets: int
    tuples: int
    matches: int  # (tuple, slot) pairs, where they were counted
    seconds_located: float  # finding the values among the constants, and the hits of sparse atoms
    seconds_packet_side: float  # evaluating queries by the packet index
    seconds_access_side: float  # and by the access index
    queries: int
    programs: int  # queries that are not plain conjunctions of intervals
    bytes: int
    cuts_by_column: dict[int, int]
    sparse_atoms: int
    failures: int  # evaluations that gave NULL instead of an error


class StreamFilter:
    """The filters of many slots over tuples of one relation, whose columns have these types.

    `costs` are what both sides are known to cost from earlier; they decide which one answers, never the answer. No more
    does the `route`, in which order the conditions are looked at.
    """

    def __init__(
        self,
        types: Sequence[ColumnType],
        costs: Costs | None = None,
        route: FilterRoute | None = None,
    ) -> None:
        self._atoms = Atoms(types)
        self._store = QueryStore()
        self._table = RowTable()
        self._layout: Layout | None = None
        self._lists: AccessIndex | None = None
        self._access: Access | None = None
        self._costs = costs or Costs()
        self.route = route or FilterRoute("selectivity")
        self._lineages: weakref.WeakSet[Lineage] = weakref.WeakSet()
        self._packets = 0
        self._tuples = 0
        self._seconds = 0.0
        self._failures_of_samples = 0  # tuples of a sample are evaluated again with their packet

    def __len__(self) -> int:
        return len(self._store)

    def add(self, slot: int, formula: Formula) -> None:
        """Give a free slot a formula: from the next packet on it matches the tuples for which the formula is TRUE."""
        self._before_change()
        uses = self._atoms.ids.uses
        self._store.add(slot, compile_formula(formula, self._atoms.leaf, uses.__getitem__))

    def remove(self, slot: int) -> None:
        """Free a slot."""
        self._before_change()
        if self._lists is not None:
            self._lists.remove(slot)
        for row_id in self._store.remove(slot):
            self._atoms.release(row_id)

    def match(self, packet: Packet) -> Lineage:
        """Which slots want which tuples of the packet."""
        started = perf_counter()
        index = self._index(packet, self._settled())
        source = MatchSource(
            len(packet), index, self._access, self._store, len(self._atoms.ids), self._costs
        )
        lineage = Lineage(len(packet), self._store.slot_count, source)
        self._lineages.add(lineage)
        self._packets += 1
        self._tuples += len(packet)
        self._seconds += perf_counter() - started
        return lineage

    @property
    def failures(self) -> int:
        """Evaluations that gave NULL where Spark's ANSI mode would have failed."""
        return self._atoms.failures - self._failures_of_samples

    def columns_read(self) -> set[int]:
        """The columns that the formulas speak of."""
        return self._atoms.columns_read()

    def visits(self, relation: Relation) -> tuple[VisitMetrics, ...]:
        """What a packet of the relation visits: tuples, packets without any, place in the order and tickets of each."""
        is_lottery = self.route.routing == "lottery"
        return tuple(
            VisitMetrics(
                self._station_name(station, relation),
                known.tuples,
                known.skipped,
                known.place + 1,
                round(tickets) if is_lottery else None,
            )
            for station, known, tickets in self.route.measure()
        )

    def decisions(self, about: str, relation: Relation) -> tuple[Decision, ...]:
        """From which side the filter answers, and in which order packets visit its columns."""
        names = [self._station_name(station, relation) for station, _, _ in self.route.measure()]
        found = (self._costs.decision(about), self.route.decision(about, names))
        return tuple(each for each in found if each is not None)

    def _station_name(self, station: Station, relation: Relation) -> str:
        if station.mask >= 0:
            return formula_text(self._atoms.masked(station.mask), relation)
        return relation.columns[station.column].name

    def _index(self, packet: Packet, layout: Layout) -> PacketIndex:
        route = self.route
        if not route.chooses:
            return PacketIndex(packet, self._atoms, layout, self._table)
        if route.wants_sample(len(packet)):
            some = packet.take(route.sample_rows(len(packet)))
            failed = self._atoms.failures
            with noted_in(None):
                sample = PacketIndex(some, self._atoms, layout, self._table, route.taste)
                route.learn_from(sample, len(packet))
            self._failures_of_samples += self._atoms.failures - failed
        return PacketIndex(packet, self._atoms, layout, self._table, route.route)

    def measure(self) -> FilterCount:
        """Counters since the start, and sizes now."""
        lists = 0 if self._lists is None else self._lists.nbytes
        cuts = {column: len(cuts) for column, cuts in self._atoms.cuts.items()}
        return FilterCount(
            self._packets,
            self._tuples,
            self._costs.matches,
            self._seconds,
            self._costs.packet.seconds,
            self._costs.access.seconds,
            len(self._store),
            len(self._store.programs),
            self._store.nbytes + self._atoms.nbytes + self._table.nbytes + lists,
            cuts,
            self._atoms.sparse_count,
            self.failures,
        )

    def _before_change(self) -> None:
        if self._layout is not None:
            for lineage in list(self._lineages):
                lineage.settle()
            self._lineages.clear()
            self._layout = None

    def _settled(self) -> Layout:
        if self._layout is None:
            for cuts in self._atoms.cuts.values():
                cuts.settle()
            self._atoms.known.forget()
            self._layout = make_layout(self._atoms)
            self._table.clear()
            self._access = self._make_access()
            self.route.settle(self._stations(self._layout))
        return self._layout

    def _stations(self, layout: Layout) -> Stations | None:
        """What a packet can visit in one order or another; None where finding that out costs too much."""
        count = len(layout.columns) + len(self._atoms.mask_ids)
        if not 1 < count <= MOST_STATIONS or len(self._store) > MOST_ROUTED:
            return None
        return Stations(self._atoms, layout, self._store)

    def _make_access(self) -> Access | None:
        """The access index over the cuts as they are now, its lists rebuilt if many queries are new."""
        accessible, ids = self._store.accessible_count, len(self._atoms.ids)
        if not accessible:
            self._lists = None
            return None
        listed = 0 if self._lists is None else len(self._lists) - self._lists.removed
        if self._lists is None or self._lists.is_stale(accessible - listed):
            self._lists = build_lists(self._store, ids)
        ranks = make_ranks(
            [cuts.order for cuts in self._atoms.cuts.values()], ids, self._lists.lists
        )
        words = np.empty(ids if ids <= MOST_DIRECT_ROWS else 0, np.uint64)
        rest = self._store.conjunctions_but(self._lists.entry_of_slot)
        alone = not len(self._store.programs) and not any(map(len, rest.slots))
        return Access(self._lists, ranks, words, rest, alone)


def warm() -> None:
    """Compile the kernels of the filter and of what it is made of."""
    for costs in (Costs(access=Side(0.0)), Costs(packet=Side(0.0))):
        filters = StreamFilter(TYPES, costs)
        for slot, formula in enumerate(FORMULAS):
            filters.add(slot, formula)
        for packet in sample_packets():
            lineage = filters.match(packet)
            lineage.counts()
            lineage.any_tuple()
            lineage.by_tuple()
            lineage.pairs()
        for slot in range(len(FORMULAS)):
            filters.remove(slot)
