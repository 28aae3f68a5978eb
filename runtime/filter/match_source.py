"""Both sides of the grouped filter over one packet, and the choice between them.

Queries with an access predicate can be answered from either side: by the packet index at a cost for each query and block of
512 tuples, by the access index at a cost for each candidate, a tuple meeting a query in a list. How many candidates a packet
has is counted on a sample of its tuples; what a candidate and a block cost is measured as packets go by.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import thread_time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cqc.compiler.diagnostics.record import record
from cqc.runtime.adapt import settings
from cqc.runtime.adapt.controller import Controller
from cqc.runtime.adapt.decision import Decision, counted
from cqc.runtime.adapt.measured_cost import MeasuredCost
from cqc.runtime.filter.access_index import (
    AccessIndex,
    Ranks,
    Wanted,
    access_sweep,
    count_candidates,
)
from cqc.runtime.filter.bits.bit_sweep import Conjunctions, Outcome
from cqc.runtime.filter.packet_index import aligned_rows
from cqc.runtime.lineage.bit_rows import WORDS
from cqc.runtime.lineage.bitmaps import words_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.filter.packet_index import PacketIndex
    from cqc.runtime.filter.query_store import QueryStore

_NO_NUMBERS = np.empty(0, np.int64)
_NO_WORDS = np.empty(0, np.uint64)
_NO_ROWS = np.empty((0, 0), np.uint64)


@dataclass(slots=True)
class Side(MeasuredCost):
    """One of the two sides: how its measured cost compares with the expected (`each`), and what it did."""

    newest: float = settings.FILTER_SIDE.newest
    passes: int = 0
    seconds: float = 0.0

    def ran(self, expected: float, seconds: float) -> None:
        """Take note of a pass; one whose cost was not foreseen, or too short to measure, has 0 expected."""
        self.passes += 1
        self.seconds += seconds
        if expected > settings.FILTER_SIDE.enough_s:
            self.saw(seconds / expected)


def _new_side() -> Side:
    return Side(1.0)


@dataclass(slots=True)
class Costs:
    """What both sides cost, what they found, and which one answers."""

    packet: Side = field(default_factory=_new_side)
    access: Side = field(default_factory=_new_side)
    matches: int = 0
    controller: Controller[str] = field(
        default_factory=lambda: Controller(settings.FILTER_SIDE, "packet")
    )

    def prefer_access(self, by_access: float, by_packet: float) -> bool:
        """Which side to take, given what each should cost; now and then the other one, to measure it."""
        costs = {"packet": by_packet * self.packet.each, "access": by_access * self.access.each}
        controller = self.controller
        side = controller.decide(costs)
        controller.budget.since_s += costs[side]
        return side == "access"

    def decision(self, about: str) -> Decision | None:
        """Which side answers, as it was last decided; None where there was no choice."""
        controller = self.controller
        if not controller.decisions:
            return None
        arm, other = controller.arm, "access" if controller.arm == "packet" else "packet"
        ratio = controller.costs[arm] / max(controller.costs[other], 1e-12)
        does = f"answers from the {arm} index"
        over, note = controller.decisions, counted(controller.changes, "change")
        return Decision(about, does, f"the {other} index", ratio, over, "packets", note=note)


@record
class Access:
    """The access index with what it needs to know of the cuts."""

    index: AccessIndex
    ranks: Ranks
    words: NDArray[np.uint64]  # room for one word an id, or empty where there are too many
    rest: Conjunctions  # those that are not in the lists
    alone: bool  # no query is outside the lists


class _Noted(NamedTuple):
    """Every match of a packet: each slot's tuples in their order, the slots among each other."""

    slots: NDArray[np.int32]
    tuples: NDArray[np.int32]

    def positions(self, slots: NDArray[np.int64], slot_count: int) -> NDArray[np.int64]:
        """The tuples of some slots, one slot after the other."""
        places = np.full(slot_count, -1, np.int64)
        places[slots] = np.arange(len(slots))
        of_notes = places[self.slots]
        asked = of_notes >= 0
        order = np.argsort(of_notes[asked], kind="stable")
        return self.tuples[asked][order].astype(np.int64)


class MatchSource:
    """The lineage of one packet, worked out from either side."""

    def __init__(
        self,
        tuples: int,
        packet: PacketIndex,
        access: Access | None,
        store: QueryStore,
        ids: int,
        costs: Costs,
    ) -> None:
        self._tuples = tuples
        self._packet = packet
        self._store = store
        self._ids = ids
        self._costs = costs
        self._expected = 0.0  # seconds, by the access index
        self._noted: _Noted | None = None  # what was found while it was counted
        self._access = access if access is not None and self._pays(access) else None

    def counts(self) -> NDArray[np.int64]:
        counts = np.zeros(self._store.slot_count, np.int64)
        room, noted = max(settings.LEAST_NOTES, self._tuples), np.zeros(1, np.int64)
        slots, tuples = np.empty(room, np.int32), np.empty(room, np.int32)
        self._run_all(
            Outcome(counts, _NO_WORDS, _NO_ROWS, _NO_NUMBERS, _NO_NUMBERS, slots, tuples, noted)
        )
        found, count = int(counts.sum()), int(noted[0])
        self._costs.matches += found
        if count == found:  # all of it: there was room, and nothing was found in another way
            self._noted = _Noted(slots[:count].copy(), tuples[:count].copy())
        return counts

    def union(self) -> NDArray[np.uint64]:
        union = np.zeros(self._packet.blocks * WORDS, np.uint64)
        self._run_all(Outcome(_NO_NUMBERS, union, _NO_ROWS, _NO_NUMBERS, _NO_NUMBERS))
        return union[: words_for(self._tuples)]

    def rows(self, slots: NDArray[np.int64]) -> NDArray[np.uint64]:
        if 4 * len(slots) >= self._store.slot_count:  # picking queries would cost more than they do
            whole = aligned_rows(self._store.slot_count, self._packet.blocks)
            self.write_rows(whole)
            picked = whole if len(slots) == len(whole) and _are_all(slots) else whole[slots]
            return picked[:, : words_for(self._tuples)]
        rows = aligned_rows(len(slots), self._packet.blocks)
        conjunctions, programs = self._store.select(slots)
        self._packet.sweep(conjunctions, programs, _rows_outcome(rows))
        return rows[:, : words_for(self._tuples)]

    def write_rows(self, rows: NDArray[np.uint64]) -> None:
        """The rows of all slots into memory for whole blocks of tuples, [slots, 8 * blocks]."""
        programs = self._store.programs.all(self._ids)
        self._packet.sweep(self._store.conjunctions(), programs, _rows_outcome(rows))

    def positions(self, slots: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        if self._noted is not None:
            return self._noted.positions(slots, self._store.slot_count)
        ends = np.cumsum(counts)
        positions = np.empty(int(ends[-1]) if len(ends) else 0, np.int64)
        if 4 * len(slots) >= len(self._store):
            cursors = np.full(self._store.slot_count, -1, np.int64)
            cursors[slots] = ends - counts
            self._run_all(Outcome(_NO_NUMBERS, _NO_WORDS, _NO_ROWS, cursors, positions))
        else:
            conjunctions, programs = self._store.select(slots)
            outcome = Outcome(_NO_NUMBERS, _NO_WORDS, _NO_ROWS, ends - counts, positions)
            self._packet.sweep(conjunctions, programs, outcome)
        return positions

    def _pays(self, access: Access) -> bool:
        """Whether the access index is expected to cost less on this packet."""
        if not len(access.index) or not self._tuples:
            return False
        step = max(1, self._tuples // settings.SIDE_SAMPLE)
        sampled = count_candidates(self._packet.buckets, access.ranks, access.index.lists, step)
        self._expected = (
            sampled * step * settings.SIDE_CANDIDATE_S + self._tuples * settings.SIDE_TUPLE_S
        )
        by_packet = self._packet.blocks * len(access.index) * settings.SIDE_ROW_S
        if access.alone:  # nobody else needs the rows of the cuts
            by_packet += self._packet.blocks * self._ids * settings.SIDE_CUT_S
        return self._costs.prefer_access(self._expected, by_packet)

    def _run_all(self, outcome: Outcome) -> None:
        started, comparable = thread_time(), float(len(outcome.counts) > 0)
        if self._access is None:
            programs = self._store.programs.all(self._ids)
            self._packet.sweep(self._store.conjunctions(), programs, outcome)
            a_block = (
                self._store.conjunction_count * settings.SIDE_ROW_S
                + self._ids * settings.SIDE_CUT_S
            )
            expected = comparable * self._packet.blocks * a_block
            self._costs.packet.ran(expected, thread_time() - started)
            return
        self._run_access(Wanted(outcome.counts, outcome.union, outcome.cursors, outcome.positions))
        self._costs.access.ran(comparable * self._expected, thread_time() - started)
        if not self._access.alone:
            programs = self._store.programs.all(self._ids)
            self._packet.sweep(self._access.rest, programs, outcome)

    def _run_access(self, wanted: Wanted) -> None:
        assert self._access is not None
        access_sweep(
            self._packet.buckets,
            self._access.ranks,
            self._access.index.lists,
            self._access.words,
            wanted,
        )


def _are_all(slots: NDArray[np.int64]) -> bool:
    """Whether so many slots are all of them, in their order."""
    return bool((slots == np.arange(len(slots))).all())


def _rows_outcome(rows: NDArray[np.uint64]) -> Outcome:
    return Outcome(_NO_NUMBERS, _NO_WORDS, rows, _NO_NUMBERS, _NO_NUMBERS)
