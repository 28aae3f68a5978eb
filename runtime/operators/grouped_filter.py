"""The grouped filter: one operator answers every query over a stream's tuples (CACQ, section 3.1).

Queries and tuples are duals, and either can be indexed. The *packet index* (`packet_index`) orders the packet's values and
streams the queries past it; its cost is the same whatever matches. Conditions on one column of all queries share that column's
constants, their text patterns one automaton, equal atoms are evaluated once.

    slot 0: light < 200    slot 1: light < 200 AND room = '1.07'    slot 2: light BETWEEN 150 AND 300

    light: cuts 150 200 301        room: point '1.07'
    tuple (180, '1.01'): below 200 and 301, not below 150     ->  slots 0, 2
    tuple (120, '1.07'): below 150, 200, 301; hits the point  ->  slots 0, 1

What comes out is a `Lineage`: who wants which tuple, worked out as far as it is asked for.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from cqc.runtime.lineage import Lineage
from cqc.runtime.operators.atoms import Atoms
from cqc.runtime.operators.formula_bits import compile_formula
from cqc.runtime.operators.packet_index import Layout, PacketIndex, RowTable, make_layout
from cqc.runtime.operators.query_store import QueryStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.normal import Formula
    from cqc.compiler.types import ColumnType
    from cqc.runtime.packet import Packet


@dataclass(frozen=True, slots=True)
class FilterCount:
    """What a filter did so far, and what it holds."""

    packets: int
    tuples: int
    seconds: float  # locating values and finding hits; evaluating queries is counted by who asks the lineage
    queries: int
    programs: int  # queries that are not plain conjunctions of intervals
    bytes: int
    cuts_by_column: dict[int, int]
    sparse_atoms: int
    failed: int  # evaluations that gave NULL instead of an error


class StreamFilter:
    """The filters of many slots over tuples of one relation, whose columns have these types."""

    def __init__(self, types: Sequence[ColumnType]) -> None:
        self._atoms = Atoms(types)
        self._store = QueryStore()
        self._table = RowTable()
        self._layout: Layout | None = None
        self._lineages: weakref.WeakSet[Lineage] = weakref.WeakSet()
        self._packets = 0
        self._tuples = 0
        self._seconds = 0.0

    def __len__(self) -> int:
        return len(self._store)

    def add(self, slot: int, formula: Formula) -> None:
        """Let a free slot want the tuples for which the formula is TRUE, from the next packet on."""
        self._before_change()
        self._store.add(slot, compile_formula(formula, self._atoms.leaf))

    def remove(self, slot: int) -> None:
        """Free a slot."""
        self._before_change()
        for row_id in self._store.remove(slot):
            self._atoms.release(row_id)

    def match(self, packet: Packet) -> Lineage:
        """Which slots want which tuples of the packet."""
        started = perf_counter()
        index = PacketIndex(packet, self._atoms, self._store, self._settled(), self._table)
        lineage = Lineage(len(packet), self._store.slot_count, index)
        self._lineages.add(lineage)
        self._packets += 1
        self._tuples += len(packet)
        self._seconds += perf_counter() - started
        return lineage

    def measure(self) -> FilterCount:
        """Counters since the start, and sizes now."""
        cuts = {column: len(cuts) for column, cuts in self._atoms.cuts.items()}
        return FilterCount(
            self._packets,
            self._tuples,
            self._seconds,
            len(self._store),
            len(self._store.programs),
            self._store.nbytes + self._atoms.nbytes + self._table.nbytes,
            cuts,
            self._atoms.sparse_count,
            self._atoms.failed,
        )

    def _before_change(self) -> None:
        for lineage in list(self._lineages):
            lineage.settle()
        self._lineages.clear()
        self._layout = None

    def _settled(self) -> Layout:
        if self._layout is None:
            for cuts in self._atoms.cuts.values():
                cuts.settle()
            self._layout = make_layout(self._atoms)
            self._table.clear()
        return self._layout
