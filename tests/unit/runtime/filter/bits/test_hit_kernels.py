"""Hits as bit rows of one block after the other, against the pairs of tuple and atom that were put in."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cqc.runtime.filter.bits.bit_sweep import Programs
from cqc.runtime.filter.bits.hit_kernels import (
    BlockHits,
    Marked,
    choose_programs,
    fill_hits,
    forget_hits,
    room_for_hits,
)
from cqc.runtime.filter.packet_index import aligned_rows
from cqc.runtime.lineage.bit_rows import BLOCK, WORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

ATOMS = 40
FREE_ROW = 2


def marked_of(
    single: list[tuple[int, int]], columns: list[list[int]], lists: list[list[int]], *, mapped: bool
) -> Marked:
    """`single` are pairs of tuple and atom, `columns` the codes of tuples, `lists` the atoms of each code."""
    single = sorted(single, key=lambda hit: hit[0] // BLOCK)
    ends = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return Marked(
        np.empty(0, np.int32),
        np.empty((0, WORDS), np.uint64),
        np.array([at for at, _ in single], np.int32),
        np.array([atom for _, atom in single], np.int32),
        np.array(columns or np.empty((0, 0)), np.int32),
        ends,
        np.array([atom for each in lists for atom in each], np.int32),
        FREE_ROW,
        mapped,
    )


def set_bits(row: NDArray[np.uint64]) -> set[int]:
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")
    return set(np.flatnonzero(bits).tolist())


def blocks_of(
    marked: Marked, tuples: int
) -> tuple[list[dict[int, set[int]]], NDArray[np.uint64], NDArray[np.int32]]:
    """The tuples that each hit atom has, block by block; then the table and the map after the last."""
    row_of = np.zeros(ATOMS, np.int32)
    table = aligned_rows(FREE_ROW + ATOMS)
    room = room_for_hits(marked, ATOMS)
    found, next_hit = [], 0
    for block in range(-(-tuples // BLOCK)):
        next_hit, count = fill_hits(table, marked, row_of, block, tuples, next_hit, room)
        atoms = room.atoms[:count].tolist()
        assert len(set(atoms)) == count
        rows = {atom: int(row_of[atom]) if marked.mapped else atom for atom in atoms}
        assert len(set(rows.values())) == count
        first = block * BLOCK
        found.append(
            {atom: {first + bit for bit in set_bits(table[row])} for atom, row in rows.items()}
        )
        forget_hits(table, marked, row_of, room, count)
    assert next_hit == len(marked.hit_ids)
    return found, table, row_of


@pytest.mark.parametrize("mapped", [False, True], ids=["a row an id", "mapped rows"])
@pytest.mark.parametrize("seed", range(12))
def test_rows_hold_the_tuples_that_hit_and_are_empty_afterwards(seed: int, mapped: bool) -> None:
    rng = random.Random(seed)
    tuples = rng.choice([1, 64, 511, 512, 513, 1_500])
    values = rng.choice([1, 3, 60, 700])  # many tuples of one code, and one tuple a code
    firsts = [values * column for column in range(rng.randrange(3))]  # columns share no code
    lists = [rng.sample(range(ATOMS), rng.randrange(4)) for _ in range(values * len(firsts))]
    columns = [
        [rng.choice([-1, first + rng.randrange(values)]) for _ in range(tuples)] for first in firsts
    ]
    single = [
        (rng.randrange(tuples), rng.randrange(ATOMS)) for _ in range(rng.choice([0, 5, 2_000]))
    ]
    expected: list[dict[int, set[int]]] = [{} for _ in range(-(-tuples // BLOCK))]
    coded = [
        (at, atom)
        for codes in columns
        for at, code in enumerate(codes)
        if code >= 0
        for atom in lists[code]
    ]
    for at, atom in single + coded:
        expected[at // BLOCK].setdefault(atom, set()).add(at)

    found, table, row_of = blocks_of(marked_of(single, columns, lists, mapped=mapped), tuples)
    assert found == expected
    assert not table.any()
    assert not row_of.any()


def test_there_is_no_room_taken_where_nothing_is_hit() -> None:
    room: BlockHits = room_for_hits(marked_of([], [], [], mapped=False), ATOMS)
    assert [len(each) for each in room[:7]] == [0] * 7


def programs_guarded_by(*guards: tuple[int, ...]) -> Programs:
    """Programs that run when one of some atoms is hit."""
    head, links = np.full(ATOMS, -1, np.int32), []
    for program, atoms in enumerate(guards):
        for atom in atoms:
            links.append((program, int(head[atom])))
            head[atom] = len(links) - 1
    none = np.empty(0, np.int64)
    return Programs(
        np.empty((0, 3), np.int32), none, none, np.arange(len(guards), dtype=np.int32),
        np.empty(0, np.int32), head, np.array(links, np.int32).reshape(-1, 2), 1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("guards", "expected"),
    [
        (((3,), (4,), (3, 4), (9,)), [{0, 1, 2}, {1, 2}]),
        (((), (9,)), [set(), set()]),
        ((), [set(), set()]),
    ],
)
def test_programs_are_chosen_once_a_block_by_any_atom_that_is_hit(
    guards: tuple[tuple[int, ...], ...], expected: list[set[int]]
) -> None:
    marked = marked_of([(0, 3), (9, 4), (600, 4)], [], [], mapped=False)
    programs = programs_guarded_by(*guards)
    table, row_of = aligned_rows(FREE_ROW + ATOMS), np.zeros(ATOMS, np.int32)
    room, next_hit = room_for_hits(marked, ATOMS), 0
    stamps, chosen = np.full(len(guards), -1, np.int64), np.empty(len(guards), np.int32)
    for block, programs_of_block in enumerate(expected):
        next_hit, hit = fill_hits(table, marked, row_of, block, 700, next_hit, room)
        count = choose_programs(programs, room, hit, block, stamps, chosen)
        assert sorted(chosen[:count].tolist()) == sorted(programs_of_block)
        forget_hits(table, marked, row_of, room, hit)
