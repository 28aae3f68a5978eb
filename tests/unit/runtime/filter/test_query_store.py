from __future__ import annotations

import numpy as np

from cqc.runtime.filter.bits.bit_sweep import AND, MOST_PAIRS, OR, PUSH
from cqc.runtime.filter.bits.formula_bits import Code, Conjunction
from cqc.runtime.filter.query_store import QueryStore

ONE = Conjunction(((10, 11),), access=False)
TWO = Conjunction(((10, 11), (20, 21)), access=False)
POINT = Conjunction(((30, 31), (20, 21)), access=True)


def code(*rows: int, guards: tuple[int, ...] | None = None) -> Code:
    """Pairs (row, row + 1) joined by OR."""
    steps = tuple((PUSH if not at else OR, row, row + 1) for at, row in enumerate(rows))
    return Code(steps, 1, guards, firm=())


def rows_by_slot(store: QueryStore) -> dict[int, list[int]]:
    every = store.conjunctions()
    return {
        slot: rows.tolist()
        for group, slots in zip(every.rows, every.slots, strict=True)
        for rows, slot in zip(group, slots.tolist(), strict=True)
    }


def test_conjunctions_lie_by_length_and_by_whether_they_have_access() -> None:
    store = QueryStore()
    for slot, query in enumerate((ONE, TWO, POINT, TWO)):
        store.add(slot, query)
    every = store.conjunctions()
    assert every.slots[0].tolist() == [0]
    assert every.slots[1].tolist() == [1, 3]
    assert every.slots[MOST_PAIRS + 1].tolist() == [2]
    rows, slots = store.accessible(1)
    assert (rows.tolist(), slots.tolist()) == ([[30, 31, 20, 21]], [2])
    assert (len(store), store.conjunction_count, store.accessible_count) == (4, 4, 1)


def test_a_query_that_goes_gives_its_rows_back_and_the_last_takes_its_place() -> None:
    store = QueryStore()
    for slot in range(3):
        store.add(slot, Conjunction(((10 * slot, 10 * slot + 1),), access=False))
    assert list(store.remove(0)) == [0, 1]
    assert rows_by_slot(store) == {1: [10, 11], 2: [20, 21]}
    assert list(store.remove(2)) == [20, 21]
    store.add(0, TWO)
    assert rows_by_slot(store) == {1: [10, 11], 0: [10, 11, 20, 21]}
    assert store.slot_count == 3


def test_some_queries_are_renumbered_in_the_order_asked_for() -> None:
    store = QueryStore()
    store.add(0, ONE)
    store.add(5, code(40, 50))
    store.add(2, TWO)
    conjunctions, programs = store.select(np.array([5, 2, 0]))
    assert conjunctions.slots[0].tolist() == [2]
    assert conjunctions.slots[1].tolist() == [1]
    assert programs.slots[programs.always].tolist() == [0]


def test_conjunctions_in_lists_can_be_left_out() -> None:
    store = QueryStore()
    for slot in range(3):
        store.add(slot, POINT)
    rest = store.conjunctions_but(np.array([-1, 4], np.int32))
    assert rest.slots[MOST_PAIRS + 1].tolist() == [0, 2]


def test_guarded_programs_are_found_by_their_atoms_and_others_run_always() -> None:
    store = QueryStore()
    store.add(0, code(40, guards=(7, 9)))
    store.add(1, code(50))
    store.add(2, code(60, guards=(9,)))
    programs = store.programs.all(12)
    assert programs.slots[programs.always].tolist() == [1]

    def guarded(atom: int) -> set[int]:
        found, link = set(), programs.guard_head[atom]
        while link >= 0:
            found.add(int(programs.slots[programs.guard_links[link, 0]]))
            link = programs.guard_links[link, 1]
        return found

    assert (guarded(7), guarded(9), guarded(8)) == ({0}, {0, 2}, set())


def test_code_of_programs_that_went_is_dropped_and_the_rest_stays_what_it_is() -> None:
    store = QueryStore()
    for slot in range(900):
        store.add(slot, code(slot, slot + 1, slot + 2))
    for slot in range(0, 900, 2):
        assert list(store.remove(slot))[:2] == [slot, slot + 1]
    programs = store.programs.all(2)
    assert len(programs.code) < 900 * 3
    for number, slot in enumerate(programs.slots.tolist()):
        own = programs.code[programs.begin[number] : programs.end[number]]
        assert own[:, 1].tolist() == [slot, slot + 1, slot + 2]


def test_what_a_program_needs_of_each_id_is_told() -> None:
    store = QueryStore()
    pairs = ((AND, 4, 5),)
    store.add(0, Code(((PUSH, 2, 3), *pairs), 1, None, firm=((4, 5),)))
    bits = np.zeros(8, np.uint64)
    bits[3], bits[4] = 1, 2
    assert store.programs.ids_used(bits).tolist() == [3]
    assert store.programs.firm_pairs()[0, :2].tolist() == [4, 5]
