"""A gate before one input: who waits there, and who is let go."""

from __future__ import annotations

import numpy as np
import pytest

from cqc.runtime.join.tree.row_gate import Gate
from cqc.runtime.join.tree.tree_state import TreeState

NEVER = -(1 << 60)


def states() -> list[TreeState]:
    made = []
    for item in range(2):
        state = TreeState([item], [(item, 0)], 1, np.full((1, 2), NEVER))
        made.append(state)
    return made


def add(state: TreeState, *keys: int) -> np.ndarray:  # type: ignore[type-arg]
    begin, end = state.count, state.count + len(keys)
    state.reserve(len(keys))
    state.keys[begin:end, 0] = keys
    state.ts[0, begin:end] = state.positions[0, begin:end] = 0
    state.count = end
    return np.arange(begin, end)


@pytest.mark.parametrize("bloom", [False, True])
def test_rows_wait_for_their_value(bloom: bool) -> None:
    waiter, awaited = states()
    gate = Gate(waiter, [(0, 0)], awaited, [(1, 0)], bloom=bloom, permanent=False)
    there = add(awaited, 5)
    awaited.activate(there, 1)
    gate.resume(there)
    assert gate.hold(add(waiter, 5, 6)).tolist() == [0]
    assert (gate.waiting, gate.parked, gate.resumed) == (1, 1, 0)
    late = add(awaited, 6)
    awaited.activate(late, 2)
    assert gate.resume(late).tolist() == [1]
    assert (gate.waiting, gate.resumed) == (0, 1)


def test_what_a_table_refuses_is_forgotten() -> None:
    waiter, awaited = states()
    gate = Gate(waiter, [(0, 0)], awaited, [(1, 0)], bloom=False, permanent=True)
    assert len(gate.hold(add(waiter, 5))) == 0
    assert gate.waiting == 0
    assert waiter.active_rows().tolist() == []


def test_a_gate_that_was_off_knows_what_came_meanwhile() -> None:
    waiter, awaited = states()
    gate = Gate(waiter, [(0, 0)], awaited, [(1, 0)], bloom=False, permanent=False)
    gate.switch(is_on=False)
    awaited.activate(add(awaited, 5), 1)
    gate.switch(is_on=True)
    assert gate.hold(add(waiter, 5, 6)).tolist() == [0]
