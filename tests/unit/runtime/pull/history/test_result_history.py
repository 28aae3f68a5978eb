"""A history keeps rows by their oldest event time, whatever the order in which they come."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python
from cqc.runtime.columns.packet import Packet
from cqc.runtime.pull.history.result_history import History
from cqc.runtime.pull.ready_outputs import MaterialisedOutputs
from cqc.runtime.state.shared_state import SharedState
from tests.support.relations import relation

if TYPE_CHECKING:
    from cqc.runtime.pull.history.result_history import Positions


def state_with(*times_us: int) -> SharedState:
    state = SharedState(relation({"ts": T.TIMESTAMP}))
    insert(state, *times_us)
    return state


def insert(state: SharedState, *times_us: int) -> None:
    numbers = np.arange(state.head, state.head + len(times_us))
    column = from_python(T.TIMESTAMP, list(times_us))
    state.insert(Packet((column,), np.array(times_us, np.int64), numbers))


def positions(*numbers: int) -> Any:
    return np.array(numbers, np.int64)


def lists(rows: Positions) -> list[list[int]]:
    return [part.tolist() for part in rows]


def test_rows_of_equal_time_stay_as_they_came() -> None:
    history = History([state_with(5, 3, 5, 3)])
    for number in range(4):
        history.append((positions(number),))
        history.settle()
    assert lists(history.window(0, 9)) == [[1, 3, 0, 2]]
    assert lists(history.window(4, 9)) == [[0, 2]]
    assert lists(history.window(9, 0)) == [[]]


def test_a_join_counts_when_its_oldest_and_newest_are_inside() -> None:
    history = History([state_with(10, 20, 30), state_with(15, 40)])
    history.append((positions(0, 1, 2), positions(0, 1, 1)))
    history.settle()
    assert lists(history.window(10, 40)) == [[0, 1, 2], [0, 1, 1]]
    assert lists(history.window(10, 39)) == [[0], [0]]
    assert lists(history.window(11, 40)) == [[1, 2], [1, 1]]


@pytest.mark.parametrize("seed", range(4))
def test_what_comes_out_of_order_is_merged_and_what_is_old_is_forgotten(seed: int) -> None:
    rng = Random(seed)
    state, times = state_with(), []
    history, before = History([state]), -1
    doubled = MaterialisedOutputs(history, lambda rows: pa.table({"twice": 2 * rows[0]}))
    shown = []
    for step in range(40):
        batch = [step * 5 + rng.randint(-30, 10) for _ in range(rng.choice([1, 20]))]
        insert(state, *batch)
        history.append((np.arange(len(times), len(times) + len(batch)),))
        times += batch
        if rng.random() < 0.3:
            before = max(before, step * 5 - 60)
            history.purge(before)
        if rng.random() < 0.7:
            history.settle()
            begin, end = sorted(rng.sample(range(step * 5 + 12), 2))
            kept = [(time, at) for at, time in enumerate(times) if before <= time]
            inside = [at for time, at in sorted(kept) if begin <= time <= end]
            assert lists(history.window(begin, end)) == [inside]
            table = doubled.table(begin, end)
            shown.append((table, [2 * at for at in inside]))
            assert table.column("twice").num_chunks <= 12
    assert all(table.column("twice").to_pylist() == expected for table, expected in shown)


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_a_join_that_end_after_a_window_are_not_in_it(seed: int) -> None:
    rng = Random(seed)
    left, right = [[rng.randint(0, 60) for _ in range(80)] for _ in range(2)]
    history = History([state_with(*left), state_with(*right)])
    ready = MaterialisedOutputs(history, lambda rows: pa.table({"l": rows[0], "r": rows[1]}))
    pairs = [(rng.randrange(80), rng.randrange(80)) for _ in range(300)]
    for start in range(0, 300, 60):
        part = pairs[start : start + 60]
        history.append((positions(*(a for a, _ in part)), positions(*(b for _, b in part))))
        history.settle()
        known = [
            (min(left[a], right[b]), at, max(left[a], right[b]), a, b)
            for at, (a, b) in enumerate(pairs[: start + 60])
        ]
        for begin, end in [(0, 60), (10, 40), (20, 20), (30, 10), (0, 5), (55, 59)]:
            inside = [(a, b) for old, _, new, a, b in sorted(known) if begin <= old and new <= end]
            assert list(zip(*lists(history.window(begin, end)), strict=True)) == inside
            table = ready.table(begin, end)
            assert (
                list(zip(*(column.to_pylist() for column in table.columns), strict=True)) == inside
            )
