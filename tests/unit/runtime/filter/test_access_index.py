"""Queries in lists under the value that they ask for: built, left, rebuilt, and walked in each of the three ways."""

from __future__ import annotations

import random

import pytest

from cqc.compiler.meaning.normal import AllOf, Interval, ValueAtom
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.filter.access_index import build_lists
from cqc.runtime.filter.bits.bit_sweep import NO_TUPLE
from cqc.runtime.filter.bits.formula_bits import Conjunction
from cqc.runtime.filter.grouped_filter import StreamFilter
from cqc.runtime.filter.match_source import Costs, Side
from cqc.runtime.filter.query_store import QueryStore
from tests.support.formula_judge import packet_of

INTS = (ColumnType.BIGINT, ColumnType.BIGINT)


def store_of(*values: int) -> QueryStore:
    """Slot n asks for the cut of its value, and the odd ones for another pair."""
    store = QueryStore()
    for slot, value in enumerate(values):
        others = ((20, 21),) if slot % 2 else ()
        store.add(slot, Conjunction(((value, value + 1), *others), access=True))
    return store


def test_queries_lie_in_the_list_of_their_value() -> None:
    index = build_lists(store_of(4, 6, 4, 8), 24)
    lists = index.lists
    by_value = {
        value: sorted(lists.slots[lists.begin[value] : lists.end[value]].tolist())
        for value in (4, 5, 6, 8)
    }
    assert by_value == {4: [0, 2], 5: [], 6: [1], 8: [3]}
    assert len(index) == 4


def test_a_query_that_leaves_matches_nothing_until_the_lists_are_rebuilt() -> None:
    index = build_lists(store_of(4, 6, 4), 24)
    entry = int(index.entry_of_slot[1])
    index.remove(1)
    assert (index.lists.others[entry] == NO_TUPLE).all()
    assert index.entry_of_slot[1] == -1
    index.remove(1)  # it has left already
    index.remove(99)  # it came later
    assert index.removed == 1


def test_lists_are_rebuilt_when_many_queries_are_new_or_gone() -> None:
    index = build_lists(store_of(*range(2, 12)), 24)
    assert not index.is_stale(256)
    assert index.is_stale(257)
    index.removed = 10
    assert index.is_stale(250)


@pytest.mark.parametrize("tuples", [3, 60, 3_000], ids=["by tuple", "by word", "by list"])
@pytest.mark.parametrize("values", [2, 200])
def test_every_way_through_the_lists_finds_what_a_comparison_finds(
    tuples: int, values: int
) -> None:
    rng = random.Random(tuples + values)
    filters = StreamFilter(INTS, Costs(access=Side(0.0)))
    queries = [(rng.randrange(values), rng.randrange(100)) for _ in range(300)]
    for slot, (value, least) in enumerate(queries):
        equal = ValueAtom(0, ColumnType.BIGINT, (Interval(value, True, value, True),))
        above = ValueAtom(1, ColumnType.BIGINT, (Interval(least, True, None, False),))
        filters.add(slot, AllOf((equal, above)) if slot % 3 else equal)
    rows = [(rng.randrange(values), rng.randrange(100)) for _ in range(tuples)]
    counts = filters.match(packet_of(INTS, rows)).counts().tolist()
    expected = [
        sum(k == value and (slot % 3 == 0 or v >= least) for k, v in rows)
        for slot, (value, least) in enumerate(queries)
    ]
    assert counts == expected
