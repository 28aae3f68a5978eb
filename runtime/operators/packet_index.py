"""The packet side of the grouped filter: index the packet's tuples, stream the queries past the index.

For a packet, each column's values are located among the cuts of all queries, the sparse atoms report their hits and the
masks are evaluated. From then on any question about the outcome is one pass (`bit_sweep.sweep`) that builds the bit rows of
512 tuples at a time and evaluates the queries asked about on them. Nothing of size tuples x queries is ever kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.operators.bit_sweep import (
    FIRST_ID,
    Conjunctions,
    Located,
    Marked,
    Outcome,
    Programs,
    sweep,
)
from cqc.runtime.operators.row_vectors import BLOCK, WORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.operators.atoms import Atoms
    from cqc.runtime.packet import Packet

# Up to so many ids the table of a block has a row for each, which is within the second-level cache.
MOST_DIRECT_ROWS = 6144


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


def make_layout(atoms: Atoms) -> Layout:
    """Number the rows."""
    columns = tuple(atoms.cuts)
    orders = [atoms.cuts[column].order for column in columns]
    starts = np.zeros(len(columns) + 1, np.int64)
    np.cumsum([len(order) for order in orders], out=starts[1:])
    rank_rows = np.full(len(columns), -1, np.int64)
    if len(atoms.ids) <= MOST_DIRECT_ROWS:
        order = np.concatenate(orders) if orders else np.empty(0, np.int32)
        return Layout(
            columns, order, starts, rank_rows, np.empty(0, np.int32), len(atoms.ids), mapped=False
        )
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
    return Layout(columns, np.concatenate(orders), starts, rank_rows, row_of, row, mapped=True)


class PacketIndex:
    """One packet, located among the constants of all queries."""

    def __init__(self, packet: Packet, atoms: Atoms, layout: Layout, table: RowTable) -> None:
        self._tuples = len(packet)
        self._layout = layout
        self._table = table
        self.blocks = (self._tuples + BLOCK - 1) // BLOCK
        buckets = np.empty((len(layout.columns), self._tuples), np.int32)
        for at, column in enumerate(layout.columns):
            atoms.cuts[column].locate(packet.columns[column], buckets[at])
        self._located = Located(buckets, layout.order, layout.starts, layout.rank_rows)
        self._marked, self._rows = self._mark(packet, atoms)

    @property
    def buckets(self) -> NDArray[np.int32]:
        """[columns, tuples]: where the values lie among the cuts of the layout's columns."""
        return self._located.buckets

    def sweep(self, conjunctions: Conjunctions, programs: Programs, outcome: Outcome) -> None:
        """One pass of some queries over the packet."""
        table = self._table.of(self._rows)
        sweep(
            self._tuples, self._located, self._marked, self._layout.row_of, table,
            conjunctions, programs, outcome,
        )  # fmt: skip

    def _mark(self, packet: Packet, atoms: Atoms) -> tuple[Marked, int]:
        """Evaluate masks and sparse atoms; also returns how many rows a table needs."""
        layout, rows = self._layout, self._layout.rows
        hit_tuples, hit_ids = atoms.hits(packet)
        masks = list(atoms.masks(packet))
        mask_words = np.zeros((len(masks), self.blocks * WORDS), np.uint64)
        for at, (_, mask) in enumerate(masks):
            packed = np.packbits(mask, bitorder="little")
            mask_words[at].view(np.uint8)[: len(packed)] = packed
        mask_rows = np.array([row_id for row_id, _ in masks], np.int32)
        if layout.mapped:
            layout.row_of[mask_rows] = mask_rows = np.arange(
                rows, rows + len(masks), dtype=np.int32
            )
            rows += len(masks)
        free_row = rows
        if layout.mapped and len(hit_ids):
            most = int(np.bincount(hit_tuples >> 9).max())
            rows += min(most, atoms.sparse_count)
        return Marked(mask_rows, mask_words, hit_tuples, hit_ids, free_row, layout.mapped), rows


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
