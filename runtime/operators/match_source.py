"""Both sides of the grouped filter over one packet, and the choice between them.

Queries with an access predicate can be answered from either side: by the packet index at a cost for each query and block of
512 tuples, by the access index at a cost for each candidate, a tuple meeting a query in a list. How many candidates a packet
has is counted on a sample of its tuples; what a candidate and a block cost is measured as packets go by.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.lineage import words_for
from cqc.runtime.operators.access_index import (
    AccessIndex,
    Ranks,
    Wanted,
    access_sweep,
    count_candidates,
)
from cqc.runtime.operators.bit_sweep import Outcome
from cqc.runtime.operators.row_vectors import WORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.operators.packet_index import PacketIndex
    from cqc.runtime.operators.query_store import QueryStore

_NO_NUMBERS = np.empty(0, np.int64)
_NO_WORDS = np.empty(0, np.uint64)
_NO_ROWS = np.empty((0, 0), np.uint64)
_SAMPLE = 256
_NEWEST = 0.2  # the weight of the newest measurement


@dataclass(slots=True)
class Costs:
    """Measured seconds, as decayed means, and how often each side was taken."""

    row: float = 8e-9  # one conjunction on one block by the packet index
    candidate: float = 2e-9
    tuple: float = 20e-9  # one tuple looked up in the access index, without candidates
    packet_side: int = 0
    access_side: int = 0
    seconds_packet_side: float = 0.0
    seconds_access_side: float = 0.0

    def saw_rows(self, rows: int, seconds: float) -> None:
        """Take note of a pass of the packet index."""
        self.packet_side += 1
        self.seconds_packet_side += seconds
        if rows > 10_000:
            self.row += _NEWEST * (seconds / rows - self.row)

    def saw_candidates(self, tuples: int, candidates: float, seconds: float) -> None:
        """Take note of a pass of the access index."""
        self.access_side += 1
        self.seconds_access_side += seconds
        rest = seconds - tuples * self.tuple
        if candidates > 10_000 and rest > 0:
            self.candidate += _NEWEST * (rest / candidates - self.candidate)


@dataclass(frozen=True, slots=True)
class Access:
    """The access index with what it needs to know of the cuts."""

    index: AccessIndex
    ranks: Ranks
    words: NDArray[np.uint64]  # room for one word an id, or empty where there are too many


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
        self._candidates = 0.0
        self._access = access if access is not None and self._pays(access) else None

    def counts(self) -> NDArray[np.int64]:
        counts = np.zeros(self._store.slot_count, np.int64)
        self._run_all(Outcome(counts, _NO_WORDS, _NO_ROWS, _NO_NUMBERS, _NO_NUMBERS))
        return counts

    def union(self) -> NDArray[np.uint64]:
        union = np.zeros(self._packet.blocks * WORDS, np.uint64)
        self._run_all(Outcome(_NO_NUMBERS, union, _NO_ROWS, _NO_NUMBERS, _NO_NUMBERS))
        return union[: words_for(self._tuples)]

    def rows(self, slots: NDArray[np.int64]) -> NDArray[np.uint64]:
        rows = np.zeros((len(slots), self._packet.blocks * WORDS), np.uint64)
        self.write_rows(slots, rows)
        return rows[:, : words_for(self._tuples)]

    def write_rows(self, slots: NDArray[np.int64], rows: NDArray[np.uint64]) -> None:
        """The rows of some slots into an array of whole blocks."""
        conjunctions, programs = self._store.select(slots)
        outcome = Outcome(_NO_NUMBERS, _NO_WORDS, rows, _NO_NUMBERS, _NO_NUMBERS)
        self._packet.sweep(conjunctions, programs, outcome)

    def positions(
        self, slots: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        ends = np.cumsum(counts)
        positions = np.empty(int(ends[-1]) if len(ends) else 0, np.int64)
        cursors = ends - counts
        if self._access is not None:
            listed = self._access.index.entry_of_slot
            in_lists = (slots < len(listed)) & (listed[np.minimum(slots, len(listed) - 1)] >= 0)
            self._access_positions(slots[in_lists], cursors[in_lists], positions)
            slots, cursors = slots[~in_lists], cursors[~in_lists]
        if len(slots):
            conjunctions, programs = self._store.select(slots)
            outcome = Outcome(_NO_NUMBERS, _NO_WORDS, _NO_ROWS, cursors, positions)
            self._packet.sweep(conjunctions, programs, outcome)
        return positions

    def _pays(self, access: Access) -> bool:
        """Whether the access index is expected to cost less on this packet."""
        if not len(access.index) or not self._tuples:
            return False
        step = max(1, self._tuples // _SAMPLE)
        sampled = count_candidates(self._packet.buckets, access.ranks, access.index.lists, step)
        self._candidates = float(sampled * step)
        by_access = self._candidates * self._costs.candidate + self._tuples * self._costs.tuple
        return by_access < self._packet.blocks * len(access.index) * self._costs.row

    def _run_all(self, outcome: Outcome) -> None:
        started = perf_counter()
        programs = self._store.programs.all(self._ids)
        if self._access is None:
            self._packet.sweep(self._store.conjunctions(), programs, outcome)
            rows = self._store.conjunction_count * self._packet.blocks
            self._costs.saw_rows(rows, perf_counter() - started)
            return
        wanted = Wanted(outcome.counts, outcome.union, _NO_NUMBERS, _NO_NUMBERS)
        self._run_access(wanted)
        self._costs.saw_candidates(self._tuples, self._candidates, perf_counter() - started)
        rest = self._store.conjunctions_but(self._access.index.entry_of_slot)
        if len(self._store.programs) or any(len(slots) for slots in rest.slots):
            self._packet.sweep(rest, programs, outcome)

    def _access_positions(
        self, slots: NDArray[np.int64], starts: NDArray[np.int64], out: NDArray[np.int64]
    ) -> None:
        if len(slots):
            cursors = np.full(self._store.slot_count, -1, np.int64)
            cursors[slots] = starts
            self._run_access(Wanted(_NO_NUMBERS, _NO_WORDS, cursors, out))

    def _run_access(self, wanted: Wanted) -> None:
        assert self._access is not None
        access_sweep(
            self._packet.buckets,
            self._access.ranks,
            self._access.index.lists,
            self._access.words,
            wanted,
        )
