"""One packet among the constants of all queries: what is visited, by whom, and the layout of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cqc.compiler.meaning.normal import Interval, ValueAtom
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.filter import packet_index
from cqc.runtime.filter.atoms import Atoms
from cqc.runtime.filter.bits.bit_sweep import MOST_PAIRS, Conjunctions
from cqc.runtime.filter.bits.formula_bits import MOST_ACCESS_PAIRS
from cqc.runtime.filter.packet_index import PacketIndex, RowTable, aligned_rows, make_layout
from tests.support.formula_judge import packet_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

INTS = (ColumnType.BIGINT, ColumnType.BIGINT)
WIDTHS = (*range(1, MOST_PAIRS + 1), *range(1, MOST_ACCESS_PAIRS + 1))


def atoms_of(*limits: tuple[int, int]) -> tuple[Atoms, Conjunctions]:
    """A query `column < limit` for each."""
    atoms = Atoms(INTS)
    pairs = []
    for column, limit in limits:
        leaf = atoms.leaf(ValueAtom(column, INTS[column], (Interval(None, False, limit, False),)))
        pairs.append(leaf.pairs[0])
    for cuts in atoms.cuts.values():
        cuts.settle()
    rows = [np.empty((0, 2 * width), np.int32) for width in WIDTHS]
    rows[0] = np.array(pairs, np.int32)
    slots = [np.empty(0, np.int32) for _ in WIDTHS]
    slots[0] = np.arange(len(pairs), dtype=np.int32)
    return atoms, Conjunctions(tuple(rows), tuple(slots))


def positions(rows: NDArray[np.uint64]) -> list[list[int]]:
    bits = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")
    return [np.flatnonzero(row).tolist() for row in bits]


@pytest.mark.parametrize("direct", [True, False], ids=["a row an id", "mapped rows"])
def test_rows_of_queries_are_the_tuples_they_want(
    direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not direct:
        monkeypatch.setattr(packet_index, "MOST_DIRECT_ROWS", 1)
    atoms, queries = atoms_of((0, 5), (1, 2), (0, 1))
    layout = make_layout(atoms)
    assert layout.mapped != direct
    tuples = [(at % 7, at % 3) for at in range(600)]
    index = PacketIndex(packet_of(INTS, tuples), atoms, layout, RowTable())
    found = positions(index.rows_of(queries, 3))
    for row, (column, limit) in zip(found, ((0, 5), (1, 2), (0, 1)), strict=True):
        assert row == [at for at, each in enumerate(tuples) if each[column] < limit]


def test_a_route_visits_columns_with_some_tuples_and_the_rest_are_as_null() -> None:
    atoms, queries = atoms_of((0, 5), (1, 2))
    layout = make_layout(atoms)
    seen: list[list[bool]] = []

    def route(index: PacketIndex) -> None:
        index.visit_column(layout.columns.index(0))
        located = packet_index.Located(
            np.empty((0, 0), np.int32), layout.order, layout.starts, layout.rank_rows
        )
        seen.append(index.union_so_far(located, queries).tolist())
        index.visit_column(layout.columns.index(1), np.array([1, 2]))

    packet = packet_of(INTS, [(9, 0), (1, 1), (2, 9), (3, 0)])
    index = PacketIndex(packet, atoms, layout, RowTable(), route)
    assert seen == [[False, True, True, True]]
    assert positions(index.rows_of(queries, 2)) == [[1, 2, 3], [1]]


def test_a_table_is_kept_between_passes_and_grows_when_it_must() -> None:
    table = RowTable()
    first = table.of(10)
    assert table.of(64) is first
    grown = table.of(100)
    assert len(grown) >= 100
    grown[:] = 7
    table.clear()
    assert not grown.any()


@pytest.mark.parametrize(("rows", "blocks"), [(1, 1), (3, 2), (0, 4)])
def test_rows_begin_at_a_cache_line(rows: int, blocks: int) -> None:
    found = aligned_rows(rows, blocks)
    assert found.shape == (rows, 8 * blocks)
    assert not found.any()
    if rows:
        assert found.ctypes.data % 64 == 0
