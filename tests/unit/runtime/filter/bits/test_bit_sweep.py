"""The pass over blocks of tuples: rows of cuts, masks and hits, and what queries make of them."""

from __future__ import annotations

import numpy as np
import pytest

from cqc.runtime.filter.bits.bit_sweep import (
    AND,
    AND_TOP,
    EVERY_TUPLE,
    FIRST_ID,
    MOST_PAIRS,
    NO_TUPLE,
    OR,
    PUSH,
    STOP,
    Conjunctions,
    Located,
    Outcome,
    Programs,
    sweep,
)
from cqc.runtime.filter.bits.formula_bits import MOST_ACCESS_PAIRS
from cqc.runtime.filter.bits.hit_kernels import Marked
from cqc.runtime.filter.packet_index import aligned_rows
from cqc.runtime.lineage.bit_rows import WORDS

NONE_32, NONE_64 = np.empty(0, np.int32), np.empty(0, np.int64)
NO_CODES = np.empty((0, 0), np.int32), np.zeros(1, np.int64), NONE_32
WIDTHS = (*range(1, MOST_PAIRS + 1), *range(1, MOST_ACCESS_PAIRS + 1))
CUTS = (4, 8)  # rows 2 and 3: below 4, below 8; row 4: not NULL
BELOW_4, BELOW_8, NOT_NULL, MASK, ATOM = range(FIRST_ID, FIRST_ID + 5)


class Pass:
    """One column with two cuts, one mask and one atom, over some values (None is NULL)."""

    def __init__(
        self, values: list[int | None], mask: list[int] | None = None, hits: tuple[int, ...] = ()
    ) -> None:
        self.count = len(values)
        self.blocks = -(-self.count // 512)
        buckets = [3 if value is None else sum(value >= cut for cut in CUTS) for value in values]
        self.located = Located(
            np.array([buckets], np.int32), np.array([BELOW_4, BELOW_8, NOT_NULL], np.int32),
            np.array([0, 3]), np.array([-1]),
        )  # fmt: skip
        bits = np.zeros(self.blocks * WORDS * 64, np.uint8)
        bits[mask or []] = 1
        words = np.packbits(bits, bitorder="little").view(np.uint64)[None, :]
        self.marked = Marked(
            np.array([MASK], np.int32), words, np.array(hits, np.int32),
            np.full(len(hits), ATOM, np.int32), *NO_CODES, 0, False,
        )  # fmt: skip

    def counts(self, *queries: tuple[int, ...], programs: Programs | None = None) -> list[int]:
        outcome = Outcome(
            np.zeros(len(queries) + 4, np.int64), np.empty(0, np.uint64), np.empty((0, 0), np.uint64),
            NONE_64, NONE_64,
        )  # fmt: skip
        self.run(queries, outcome, programs)
        return outcome.counts.tolist()

    def run(
        self, queries: tuple[tuple[int, ...], ...], outcome: Outcome, programs: Programs | None
    ) -> None:
        groups = [[query for query in queries if len(query) == 2 * width] for width in WIDTHS]
        groups[MOST_PAIRS:] = [[] for _ in groups[MOST_PAIRS:]]
        rows = tuple(
            np.array(group, np.int32).reshape(-1, 2 * width)
            for group, width in zip(groups, WIDTHS, strict=True)
        )
        slots = tuple(
            np.array([queries.index(each) for each in group], np.int32) for group in groups
        )
        sweep(
            self.count, self.located, self.marked, NONE_32, aligned_rows(8), Conjunctions(rows, slots),
            programs or programs_of(), outcome,
        )  # fmt: skip


def programs_of(*codes: list[tuple[int, int, int]], guard: int | None = None) -> Programs:
    """Programs that run always, or all of them when the atom `guard` is hit."""
    ends = np.cumsum([len(code) for code in codes], dtype=np.int64) if codes else NONE_64
    begins = ends - np.array([len(code) for code in codes], np.int64)
    numbers = np.arange(len(codes), dtype=np.int32)
    head, links = np.full(8, -1, np.int32), np.empty((0, 2), np.int32)
    if guard is not None:
        links = np.array([(number, number - 1) for number in numbers], np.int32)
        head[guard] = len(codes) - 1
    code = np.array([step for code in codes for step in code], np.int32).reshape(-1, 3)
    return Programs(
        code, begins, ends, numbers, numbers if guard is None else NONE_32, head, links, 2
    )


@pytest.mark.parametrize("many", [1, 300])
def test_a_pair_of_cuts_is_an_interval_and_null_is_in_none(many: int) -> None:
    one = Pass([5, 9, 1, 7, None] * many)
    queries = (
        (BELOW_4, BELOW_8),
        (NO_TUPLE, BELOW_4),
        (BELOW_8, NOT_NULL),
        (EVERY_TUPLE, NOT_NULL),
    )
    assert one.counts(*queries)[:4] == [2 * many, many, many, many]


def test_pairs_of_one_query_are_joined_by_and() -> None:
    one = Pass([5, 9, 1, 7, None], mask=[0, 2])
    assert one.counts((BELOW_4, BELOW_8, MASK, NO_TUPLE), (MASK, NO_TUPLE))[:2] == [1, 2]


def test_hits_are_bits_of_their_atom_in_their_block_alone() -> None:
    values: list[int | None] = [5] * 1_100
    one = Pass(values, hits=(3, 511, 600, 1_099))
    assert one.counts((ATOM, NO_TUPLE), (NOT_NULL, ATOM))[:2] == [4, 1_096]


def test_programs_combine_pairs_by_any_formula() -> None:
    one = Pass([5, 9, 1, 7, None], mask=[1, 4])
    either = [(PUSH, NO_TUPLE, BELOW_4), (OR, MASK, NO_TUPLE)]
    both = [(PUSH, BELOW_4, BELOW_8), (AND, MASK, NO_TUPLE)]
    assert one.counts(programs=programs_of(either, both))[:2] == [3, 0]


def test_code_stops_where_nothing_is_left() -> None:
    rest = [(PUSH, BELOW_4, BELOW_8), (AND_TOP, NO_TUPLE, NO_TUPLE)]
    codes = [[(PUSH, MASK, NO_TUPLE), (STOP, NO_TUPLE, NO_TUPLE), *rest]]
    assert Pass([5, 9, 1, 7]).counts(programs=programs_of(*codes))[0] == 0
    assert Pass([5, 9, 1, 7], mask=[1, 3]).counts(programs=programs_of(*codes))[0] == 1


@pytest.mark.parametrize("room", [400, 100])
def test_a_pass_that_counts_notes_what_it_finds_as_far_as_there_is_room(room: int) -> None:
    one = Pass([5, 9, 1, 7, None] * 200)
    counts, noted = np.zeros(3, np.int64), np.zeros(1, np.int64)
    slots, tuples = np.empty(room, np.int32), np.empty(room, np.int32)
    outcome = Outcome(
        counts, np.empty(0, np.uint64), np.empty((0, 0), np.uint64), NONE_64, NONE_64,
        slots, tuples, noted,
    )  # fmt: skip
    one.run((), outcome, programs_of([(PUSH, BELOW_4, BELOW_8), (AND, EVERY_TUPLE, NO_TUPLE)]))
    assert counts[0] == 400
    assert noted[0] == room
    expected = [at for at in range(1_000) if at % 5 in (0, 3)]
    assert tuples.tolist() == expected[:room]
    assert set(slots.tolist()) == {0}


def test_guarded_programs_run_only_on_blocks_that_their_atom_hits() -> None:
    everything = [(PUSH, EVERY_TUPLE, NO_TUPLE)]
    values: list[int | None] = [1] * 1_024
    assert Pass(values).counts(programs=programs_of(everything, guard=ATOM))[0] == 0
    hit = Pass(values, hits=(700, 701))
    assert hit.counts(programs=programs_of(everything, guard=ATOM))[0] == 512


def test_a_pass_gives_positions_in_order_and_the_union() -> None:
    one = Pass([5, 9, 1, 7, None] * 200)
    cursors = np.array([0, -1], np.int64)
    positions, union = np.empty(400, np.int64), np.zeros(one.blocks * WORDS, np.uint64)
    outcome = Outcome(NONE_64, union, np.empty((0, 0), np.uint64), cursors, positions)
    one.run(((BELOW_4, BELOW_8), (NO_TUPLE, BELOW_4)), outcome, None)
    expected = [at for at in range(1_000) if at % 5 in (0, 3)]
    assert positions.tolist() == expected
    bits = np.unpackbits(union.view(np.uint8), bitorder="little")
    assert np.flatnonzero(bits).tolist() == [at for at in range(1_000) if at % 5 in (0, 2, 3)]
