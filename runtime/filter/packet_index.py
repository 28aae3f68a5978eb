"""The packet side of the grouped filter: index the packet's tuples, stream the queries past the index.

For a packet, each column's values are located among the cuts of all queries, the sparse atoms report their hits and the
masks are evaluated. From then on any question about the outcome is one pass (`bit_sweep.sweep`) that builds the bit rows of
512 tuples at a time and evaluates the queries asked about on them. Nothing of size tuples x queries is ever kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import take
from cqc.runtime.filter.bits.bit_sweep import (
    FIRST_ID,
    NO_TUPLE,
    Conjunctions,
    Located,
    Outcome,
    Programs,
    sweep,
)
from cqc.runtime.filter.bits.hit_kernels import Marked
from cqc.runtime.filter.bits.interval_sweep import SortedTuples
from cqc.runtime.filter.packet_hits import PacketHits
from cqc.runtime.lineage.bit_rows import BLOCK, WORDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.filter.atoms import Atoms

_NO_NUMBERS = np.empty(0, np.int64)
_NO_IDS = np.empty(0, np.int32)
_NO_WORDS = np.empty(0, np.uint64)
_NO_ROWS = np.empty((0, 0), np.uint64)
_NO_PROGRAMS = Programs(
    np.empty((0, 3), np.int32), _NO_NUMBERS, _NO_NUMBERS, _NO_IDS, _NO_IDS, _NO_IDS,
    np.empty((0, 2), np.int32), 1,
)  # fmt: skip
# Up to so many ids the table of a block has a row for each, which is within the second-level cache.
MOST_DIRECT_ROWS = 6144
_LONG_TEXT = (
    128  # bytes of a value: picking those that are not NULL costs more than passing over the others
)
# So many queries that are one interval are answered by themselves.
_MANY_INTERVALS = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Queries that are one interval: by column of the layout the places of their cuts and their slots; and the others."""

    pairs: NDArray[np.int32]
    by_column: list[tuple[int, NDArray[np.int32], NDArray[np.int32]]]
    rest: tuple[NDArray[np.int32], NDArray[np.int32]]


@dataclass(frozen=True, slots=True)
class Layout:
    """Which row is whose, the same for all packets until queries change."""

    columns: tuple[int, ...]  # those with cuts
    order: NDArray[np.int32]
    starts: NDArray[np.int64]
    rank_rows: NDArray[np.int64]
    row_of: NDArray[np.int32]
    rows: int  # without those of masks and hit atoms, where ids are mapped
    mapped: bool
    # By id, where ids are mapped: which of the columns it is a cut of, and its place among those; -1 where it is none.
    cut_columns: NDArray[np.int32]
    cut_places: NDArray[np.int32]
    masks: tuple[int, ...]  # ids of conditions that are evaluated by themselves
    mask_of: dict[int, int]  # where an id is among those
    mask_rows: NDArray[np.int32]
    beyond: NDArray[np.int32]  # [columns, 1]: the bucket of NULL
    known: list[Intervals] = field(
        default_factory=list
    )  # of all queries, as they were last asked about

    def intervals_of(self, pairs: NDArray[np.int32], slots: NDArray[np.int32]) -> Intervals:
        """Which of some queries are one interval of a column; the queries of a filter are looked at once."""
        for each in self.known:
            if each.pairs is pairs:
                return each
        columns, places = self.cut_columns[pairs], self.cut_places[pairs]
        column = columns.max(axis=1)
        fits = ((columns == column[:, None]) | (pairs == NO_TUPLE)).all(axis=1) & (column >= 0)
        by_column = []
        for at in np.unique(column[fits]).tolist():
            own = np.flatnonzero(fits & (column == at))
            by_column.append((at, places[own], slots[own]))
        found = Intervals(pairs, by_column, (pairs[~fits], slots[~fits]))
        self.known[:] = [found, *self.known[:1]]
        return found


def make_layout(atoms: Atoms) -> Layout:
    """Number the rows."""
    columns = tuple(atoms.cuts)
    orders = [atoms.cuts[column].order for column in columns]
    starts = np.zeros(len(columns) + 1, np.int64)
    np.cumsum([len(order) for order in orders], out=starts[1:])
    rank_rows = np.full(len(columns), -1, np.int64)
    beyond = np.diff(starts)[:, None].astype(np.int32)
    masks = atoms.mask_ids
    mask_of, mask_rows = {row_id: at for at, row_id in enumerate(masks)}, np.array(masks, np.int32)
    if len(atoms.ids) <= MOST_DIRECT_ROWS:
        order = np.concatenate(orders) if orders else np.empty(0, np.int32)
        return Layout(
            columns, order, starts, rank_rows, _NO_IDS, len(atoms.ids), False, _NO_IDS, _NO_IDS,
            masks, mask_of, mask_rows, beyond,
        )  # fmt: skip
    cut_columns, cut_places = (np.full(len(atoms.ids), -1, np.int32) for _ in range(2))
    for at, order in enumerate(orders):
        cut_columns[order], cut_places[order] = at, np.arange(len(order), dtype=np.int32)
    row_of = np.zeros(len(atoms.ids), np.int32)
    row_of[1] = 1
    row = FIRST_ID
    for at, order in enumerate(orders):
        if len(order) > BLOCK + 1:
            rank_rows[at] = row
            row += BLOCK + 1
        else:
            row_of[order] = np.arange(row, row + len(order), dtype=np.int32)
            orders[at] = row_of[order]
            row += len(order)
    order = np.concatenate(orders) if orders else _NO_IDS
    row_of[mask_rows] = rows_of_masks = np.arange(row, row + len(masks), dtype=np.int32)
    return Layout(
        columns, order, starts, rank_rows, row_of, row, True, cut_columns, cut_places,
        masks, mask_of, rows_of_masks, beyond,
    )  # fmt: skip


class PacketIndex:
    """One packet, located among the constants of all queries.

    The packet visits the grouped filter of each column and each single condition. A `route` does so in an order of its own,
    and only with the tuples that some query still wants there: of the others the queries need to know nothing more.
    """

    def __init__(
        self,
        packet: Packet,
        atoms: Atoms,
        layout: Layout,
        table: RowTable,
        route: Callable[[PacketIndex], None] | None = None,
    ) -> None:
        self._packet = packet
        self._tuples = len(packet)
        self._atoms = atoms
        self._layout = layout
        self._table = table
        self.blocks = (self._tuples + BLOCK - 1) // BLOCK
        columns = len(layout.columns)
        self._buckets = np.empty((columns, self._tuples), np.int32)
        self._hits = PacketHits(self._tuples, self.blocks)
        self._columns: dict[int, Column] = {}  # those that were visited
        self._parts: dict[int, Column] = {}  # of conditions
        self._mask_words = np.zeros((len(layout.masks), self.blocks * WORDS), np.uint64)
        if route is None:
            for at in range(columns):
                self.visit_column(at)
            for row_id in layout.masks:
                self.visit_mask(row_id)
        else:
            self._buckets[:] = layout.beyond  # as of NULL
            route(self)
        self._sorted: dict[int, SortedTuples] = {}  # by column of the layout, where asked for
        self._located = Located(self._buckets, layout.order, layout.starts, layout.rank_rows)
        self._marked, self._rows = self._mark()

    def __len__(self) -> int:
        return self._tuples

    @property
    def buckets(self) -> NDArray[np.int32]:
        """[columns, tuples]: where the values lie among the cuts of the layout's columns."""
        return self._located.buckets

    def sweep(self, conjunctions: Conjunctions, programs: Programs, outcome: Outcome) -> None:
        """One pass of some queries over the packet."""
        if self._layout.mapped and not len(outcome.rows):
            conjunctions = self._without_intervals(conjunctions, outcome)
            if not len(programs.slots) and not any(map(len, conjunctions.slots)):
                return
        table = self._table.of(self._rows)
        sweep(
            self._tuples, self._located, self._marked, self._layout.row_of, table,
            conjunctions, programs, outcome,
        )  # fmt: skip

    def _without_intervals(self, conjunctions: Conjunctions, outcome: Outcome) -> Conjunctions:
        """The queries that are left when those that are one interval have been answered, where these are many."""
        rows, slots = list(conjunctions.rows), list(conjunctions.slots)
        for group, pairs in enumerate(rows):
            if pairs.shape[1] != 2 or len(pairs) < _MANY_INTERVALS:
                continue
            intervals = self._layout.intervals_of(pairs, slots[group])
            for at, places, own in intervals.by_column:
                self._sorted_by(at).answer(places, own, outcome)
            rows[group], slots[group] = intervals.rest
        return Conjunctions(tuple(rows), tuple(slots))

    def _sorted_by(self, at: int) -> SortedTuples:
        found = self._sorted.get(at)
        if found is None:
            cuts = int(self._layout.starts[at + 1] - self._layout.starts[at])
            found = self._sorted[at] = SortedTuples(self._located.buckets[at], cuts)
        return found

    def rows_of(self, conjunctions: Conjunctions, count: int) -> NDArray[np.uint64]:
        """[slots, words]: the tuples that each of some queries wants."""
        rows = aligned_rows(count, self.blocks)
        outcome = Outcome(_NO_NUMBERS, _NO_WORDS, rows, _NO_NUMBERS, _NO_NUMBERS)
        self.sweep(conjunctions, _NO_PROGRAMS, outcome)
        return rows

    def union_so_far(self, located: Located, conjunctions: Conjunctions) -> NDArray[np.bool_]:
        """The tuples that some of the queries want, by what was visited; `located` without its buckets."""
        marked, rows = self._mark()
        union = np.zeros(self.blocks * WORDS, np.uint64)
        sweep(
            self._tuples, located._replace(buckets=self._buckets), marked, self._layout.row_of,
            self._table.of(rows), conjunctions, _NO_PROGRAMS,
            Outcome(_NO_NUMBERS, union, _NO_ROWS, _NO_NUMBERS, _NO_NUMBERS),
        )  # fmt: skip
        bits = np.unpackbits(union.view(np.uint8), bitorder="little")
        return bits[: self._tuples].view(np.bool_)

    def visit_column(self, at: int, rows: NDArray[np.int64] | None = None) -> int:
        """Locate the values of the layout's column, of some tuples or of all; returns how many are not NULL."""
        number = self._layout.columns[at]
        column = self._raw(number, rows)
        if rows is None and column.valid is None and not column.type.held_as_text:
            self._atoms.cuts[number].locate(column, self._buckets[at])
            hits = self._atoms.hits_of(number, column)
            if hits:
                self._hits.add(hits, None)
            return self._tuples
        present = len(column) if column.valid is None else int(np.count_nonzero(column.valid))
        null = int(self._layout.starts[at + 1] - self._layout.starts[at])
        known = None
        if present and column.type is ColumnType.STRING:
            known = self._atoms.known.look(number, column, self._atoms)
        if not present:
            found = np.full(len(column), null, np.int32)
        elif known is not None:
            found = known.buckets_of_rows(null)
            self._hits.add_known(known, rows)
        else:
            found = self._find_each(at, column, present, rows)
        if rows is None:
            self._buckets[at] = found
        else:
            self._buckets[at, rows] = found
        return present

    def _find_each(
        self, at: int, column: Column, present: int, rows: NDArray[np.int64] | None
    ) -> NDArray[np.int32]:
        """Locate every value by itself; where most are NULL, the others alone."""
        number = self._layout.columns[at]
        cuts = self._atoms.cuts[number]
        is_long = column.type.held_as_text and column.nbytes > _LONG_TEXT * len(column)
        if (
            column.valid is None or 2 * present > len(column) or is_long
        ):  # NULL has no bytes to search
            found = np.empty(len(column), np.int32)
            cuts.locate(column, found)
            self._hits.add(self._atoms.hits_of(number, column), rows)
            return found
        found = np.full(
            len(column), self._layout.starts[at + 1] - self._layout.starts[at], np.int32
        )
        some = np.flatnonzero(column.valid)
        if len(some):
            values, places = take(column, some), np.empty(len(some), np.int32)
            cuts.locate(values, places)
            found[some] = places
            where = some if rows is None else rows[some]
            self._hits.add(self._atoms.hits_of(number, values), where)
        return found

    def _raw(self, number: int, rows: NDArray[np.int64] | None) -> Column:
        """A column of the packet, or some rows of it."""
        column = self._columns.get(number) or self._packet.columns[number]
        return column if rows is None else take(column, rows)

    def _column(self, number: int, rows: NDArray[np.int64] | None) -> Column:
        """A column of the packet, or some rows of it, by its distinct values where it repeats."""
        whole = self._columns.get(number)
        if whole is not None:
            return whole if rows is None else take(whole, rows)
        column = self._packet.columns[number]
        if rows is not None:
            return self._atoms.encoded(number, take(column, rows))
        whole = self._columns[number] = self._atoms.encoded(number, column)
        return whole

    def visit_mask(self, row_id: int, rows: NDArray[np.int64] | None = None) -> None:
        """Evaluate a single condition, for some tuples or for all."""
        if rows is None:
            mask = self._atoms.mask(
                row_id, lambda column: self._column(column, None), self._tuples, self._parts
            )
        else:
            some = self._atoms.mask(
                row_id, lambda column: self._column(column, rows), len(rows), {}
            )
            mask = np.zeros(self._tuples, np.bool_)
            mask[rows] = some
        packed = np.packbits(mask, bitorder="little")
        self._mask_words[self._layout.mask_of[row_id]].view(np.uint8)[: len(packed)] = packed

    def _mark(self) -> tuple[Marked, int]:
        """Masks and hits of sparse atoms; also returns how many rows a table needs."""
        layout, rows = self._layout, self._layout.rows
        hits = self._hits.forms()
        if layout.mapped:
            rows += len(layout.mask_rows)
        free_row = rows
        if layout.mapped:
            rows += min(hits.most_rows, self._atoms.sparse_count)
        marked = Marked(layout.mask_rows, self._mask_words, *hits, free_row, layout.mapped)
        return marked, rows


class RowTable:
    """The table of a block, kept between passes because fresh memory costs more than filling it."""

    def __init__(self) -> None:
        self._table = aligned_rows(64)

    @property
    def nbytes(self) -> int:
        return self._table.nbytes

    def of(self, rows: int) -> NDArray[np.uint64]:
        """A table of at least so many rows; rows of sparse atoms are empty."""
        if rows > len(self._table):
            self._table = aligned_rows(rows + rows // 4)
        return self._table

    def clear(self) -> None:
        """Forget what the rows hold: they are about to be someone else's."""
        self._table[:] = 0


def aligned_rows(rows: int, blocks: int = 1) -> NDArray[np.uint64]:
    """Empty rows over some blocks of tuples, each block within one cache line."""
    size = rows * blocks * WORDS
    memory = np.zeros(size + WORDS, np.uint64)
    skip = -(memory.ctypes.data // 8) % WORDS
    return memory[skip : skip + size].reshape(rows, blocks * WORDS)
