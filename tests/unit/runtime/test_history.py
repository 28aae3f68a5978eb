"""A history keeps rows by their oldest event time, whatever the order in which they come."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cqc.compiler.types import ColumnType as T
from cqc.runtime.columns import from_python
from cqc.runtime.history import History
from cqc.runtime.operators.shared_state import SharedState
from cqc.runtime.packet import Packet
from cqc.runtime.stream_order import StreamOrder
from tests.unit.runtime.relations import relation

if TYPE_CHECKING:
    from cqc.runtime.history import Positions


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
    doubled = history.attach(lambda rows: [2 * rows[0]])
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
            beside = doubled.arrays[0][history.stretch(begin, end)]
            assert beside.tolist() == [2 * at for at in inside]


def test_the_last_tuples_up_to_an_end_are_found_in_time_order() -> None:
    state = state_with(10, 30, 20, 20)
    order = StreamOrder(state)
    assert order.last(2, 20) == (20, 2)
    assert order.last(3, 20) is None
    insert(state, 15)
    assert order.last(3, 20) == (15, 4)
    assert order.between(11, 25).tolist() == [4, 2, 3]
