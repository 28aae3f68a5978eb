"""Tuples in the order of a value or of time: few sorted runs that together have every living tuple, against sorting them all."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python
from cqc.runtime.columns.packet import Packet
from cqc.runtime.state.lanes import Lane
from cqc.runtime.state.shared_state import SharedState
from cqc.runtime.state.sorted_runs import SortedRuns
from tests.support.relations import relation


def insert(state: SharedState, times: list[int]) -> None:
    columns = (from_python(T.BIGINT, times),)
    state.insert(Packet(columns, np.array(times, np.int64), np.arange(len(times))))


@pytest.mark.parametrize("seed", range(4))
def test_runs_have_every_living_tuple_once_and_in_order(seed: int) -> None:
    random = Random(seed)
    state = SharedState(relation({"ts": T.BIGINT}))
    runs = SortedRuns.by_time(state)
    for step in range(60):
        insert(state, [10 * step + random.randint(-30, 30) for _ in range(random.randint(0, 12))])
        if random.random() < 0.4:
            state.purge(10 * step - 200)
        if random.random() < 0.5:
            runs.catch_up()
    runs.catch_up()
    living: list[int] = []
    for keys, positions in runs.runs:
        assert (np.diff(keys) >= 0).all()
        young = positions[positions >= state.first]
        living += young.tolist()
        assert keys[positions >= state.first].tolist() == state.ts_at(young).tolist()
    assert sorted(living) == list(range(state.first, state.head))
    assert len(runs.runs) <= 2 + np.log2(len(living) + 1)
    assert runs.nbytes >= 16 * len(living)


def test_nothing_new_changes_nothing() -> None:
    state = SharedState(relation({"ts": T.BIGINT}))
    runs = SortedRuns.by_time(state)
    runs.catch_up()
    assert runs.runs == []
    insert(state, [3, 1])
    runs.catch_up()
    before = list(runs.runs)
    runs.catch_up()
    assert all(one is other for one, other in zip(before, runs.runs, strict=True))
    assert before[0][1].tolist() == [1, 0]


def test_runs_of_what_somebody_wants_have_nothing_else() -> None:
    state = SharedState(relation({"ts": T.BIGINT}))
    lineage = Lane(np.zeros((state.capacity, 2), np.uint64))
    state.attach(lineage)
    runs = SortedRuns.by_time(state, lineage)
    insert(state, [3, 1, 2])
    lineage.values[[0, 2], [1, 0]] = 1
    runs.catch_up()
    assert [each[1].tolist() for each in runs.runs] == [[2, 0]]
    insert(state, [5, 4])
    runs.catch_up()
    assert [each[1].tolist() for each in runs.runs] == [[2, 0]]
