"""The stations of a stream's filter, and who among a packet's tuples needs to visit the next one.

A station is the grouped filter of one column, or a single condition that is evaluated as a mask (a user function, an
expression over two columns). When some stations were visited, a query has either said no to a tuple by what they found, or
still wants it. The *gate* of a station lets in the tuples that some query wants which has a condition there.

    q0: a > 90    q1: a > 90 AND b > 70    q2: b > 70 AND slow(c)
    a visited: the gate of b is open to all, because q2 has nothing on a; the gate of slow is open too
    b visited: the gate of slow lets in the tuples with b > 70

Gates are the queries' own pairs of rows, those of stations not visited left out, and are evaluated by the same sweep. They
are made when first needed and kept until queries change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.diagnostics.record import record
from cqc.runtime.filter.bits.bit_sweep import (
    EVERY_TUPLE,
    MOST_PAIRS,
    NO_TUPLE,
    Conjunctions,
    Located,
)
from cqc.runtime.filter.bits.formula_bits import MOST_ACCESS_PAIRS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.filter.atoms import Atoms
    from cqc.runtime.filter.packet_index import Layout
    from cqc.runtime.filter.query_store import QueryStore

MOST_STATIONS = 62  # a set of stations is a word
MOST_ROUTED = 1 << 14  # queries; gates for more would cost more than the filters
_MOST_GATES = 256
_FEW_ROWS = 4096  # up to so many, equal rows of a gate are made one
_WIDTHS = MOST_PAIRS + MOST_ACCESS_PAIRS  # the groups that a sweep takes
_NO_BUCKETS = np.empty((0, 0), np.int32)
_NO_SLOTS = np.empty(0, np.int32)
_ONE = np.uint64(1)


@record
class Station:
    """A column's grouped filter (`at` in the layout), or a single condition (`mask`, its row id)."""

    column: int = -1
    at: int = -1
    mask: int = -1


@record
class Gate:
    """Who is let in: the queries that matter, by what was visited. An open gate has no queries to ask."""

    is_open: bool
    located: Located  # without buckets
    conjunctions: Conjunctions
    work: int  # rows to evaluate or to fill for a block of tuples


@record
class Sampled:
    """Some queries taken apart: a row of pairs for each of their stations."""

    conjunctions: Conjunctions
    rows: int
    query_of: NDArray[np.int64]
    station_of: NDArray[np.int64]
    needs: NDArray[np.uint64]  # by query


class Stations:
    """The stations of one filter, until its queries change."""

    def __init__(self, atoms: Atoms, layout: Layout, store: QueryStore) -> None:
        self._layout = layout
        columns = [Station(column=column, at=at) for at, column in enumerate(layout.columns)]
        masks = [Station(mask=row_id) for row_id in atoms.mask_ids]
        self.all: Sequence[Station] = (*sorted(columns, key=lambda each: each.column), *masks)
        self._gates: dict[tuple[int, int], Gate] = {}
        bits = self._bits_of_ids(atoms)
        self._pairs, self._pair_bits, self._needs = _taken_apart(store, bits)
        used = [
            int(np.count_nonzero(self._needs & (_ONE << np.uint64(s))))
            for s in range(len(self.all))
        ]
        self.predicates: Sequence[int] = used

    def __len__(self) -> int:
        return len(self.all)

    def gate(self, station: int, visited: int) -> Gate:
        """Who of a packet must visit a station, when those in the set `visited` told what they know."""
        key = (station, visited)
        gate = self._gates.get(key)
        if gate is None:
            if len(self._gates) >= _MOST_GATES:
                self._gates.clear()
            gate = self._gates[key] = self._make_gate(station, visited)
        return gate

    def sample(self, chosen: NDArray[np.int64]) -> Sampled:
        """Some queries by what each wants of each station."""
        pairs, query_of, station_of = [], [], []
        for number, query in enumerate(chosen.tolist()):
            for station in range(len(self.all)):
                own = self._pair_bits[query] == _ONE << np.uint64(station)
                if own.any():
                    pairs.append(np.where(own[:, None], self._pairs[query], _TRUE))
                    query_of.append(number)
                    station_of.append(station)
        rows = np.array(pairs, np.int32).reshape(len(pairs), 2 * MOST_PAIRS)
        empty = [np.empty((0, 2 * width), np.int32) for width in _widths()]
        empty[MOST_PAIRS - 1] = rows
        slots = [_NO_SLOTS] * _WIDTHS
        slots[MOST_PAIRS - 1] = np.arange(len(rows), dtype=np.int32)
        return Sampled(
            Conjunctions(tuple(empty), tuple(slots)),
            len(rows),
            np.array(query_of, np.int64),
            np.array(station_of, np.int64),
            self._needs[chosen],
        )

    @property
    def queries(self) -> int:
        return len(self._needs)

    def _bits_of_ids(self, atoms: Atoms) -> NDArray[np.uint64]:
        """By row id the station it belongs to, as a set."""
        station_of_column = {each.column: s for s, each in enumerate(self.all) if each.mask < 0}
        columns = atoms.columns_of_ids()
        bits = np.zeros(len(columns), np.uint64)
        for column, station in station_of_column.items():
            bits[columns == column] = _ONE << np.uint64(station)
        for station, each in enumerate(self.all):
            if each.mask >= 0:
                bits[each.mask] = _ONE << np.uint64(station)
        return bits

    def _make_gate(self, station: int, visited: int) -> Gate:
        asked = np.flatnonzero(self._needs & (_ONE << np.uint64(station)))
        told = self._pair_bits[asked] & np.uint64(visited) != 0
        located = self._located(visited)
        if not told.any(axis=1).all():
            return Gate(True, located, Conjunctions((), ()), 0)
        widths = told.sum(axis=1)
        first = np.argsort(~told, axis=1, kind="stable")[:, :, None]
        pairs = np.take_along_axis(self._pairs[asked], first, axis=1)
        groups = []
        for width in _widths()[:MOST_PAIRS]:
            rows = pairs[widths == width, :width].reshape(-1, 2 * width)
            if 1 < len(rows) <= _FEW_ROWS:
                rows = np.unique(rows, axis=0)
            groups.append(np.ascontiguousarray(rows, np.int32))
        groups += [np.empty((0, 2 * width), np.int32) for width in _widths()[MOST_PAIRS:]]
        slots = tuple(np.zeros(len(rows), np.int32) for rows in groups)
        work = sum(map(len, groups)) + len(located.order)
        return Gate(False, located, Conjunctions(tuple(groups), slots), work)

    def _located(self, visited: int) -> Located:
        """The cuts of the columns that were visited; the others have none."""
        layout = self._layout
        there = np.zeros(len(layout.columns), np.bool_)
        for station, each in enumerate(self.all):
            if each.at >= 0 and visited >> station & 1:
                there[each.at] = True
        lengths = np.where(there, np.diff(layout.starts), 0)
        starts = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=starts[1:])
        kept = [
            layout.order[layout.starts[at] : layout.starts[at + 1]] for at in np.flatnonzero(there)
        ]
        order = np.concatenate([np.empty(0, np.int32), *kept])
        return Located(_NO_BUCKETS, order, starts, np.where(there, layout.rank_rows, -1))


_TRUE = np.array([EVERY_TUPLE, NO_TUPLE], np.int32)


def _widths() -> tuple[int, ...]:
    return (*range(1, MOST_PAIRS + 1), *range(1, MOST_ACCESS_PAIRS + 1))


def _taken_apart(
    store: QueryStore, bits: NDArray[np.uint64]
) -> tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.uint64]]:
    """Of every query: its pairs [queries, pairs, 2], whose station each is (0: of none or of two), all its stations."""
    padded, needs = [], []
    for rows in store.conjunctions().rows:
        full = np.empty((len(rows), MOST_PAIRS, 2), np.int32)
        full[:] = _TRUE
        full[:, : rows.shape[1] // 2] = rows.reshape(len(rows), rows.shape[1] // 2, 2)
        padded.append(full)
        needs.append(np.bitwise_or.reduce(bits[rows], axis=1))
    padded.append(store.programs.firm_pairs().reshape(-1, MOST_PAIRS, 2))
    needs.append(store.programs.ids_used(bits))
    pairs = np.concatenate(padded)
    pair_bits = bits[pairs[:, :, 0]] | bits[pairs[:, :, 1]]
    pair_bits[np.bitwise_count(pair_bits) > 1] = 0
    return pairs, pair_bits, np.concatenate(needs)
