"""The rows of one input of a tree: active, parked, forgotten, and dropped in bulk."""

from __future__ import annotations

import numpy as np

from cqc.runtime.join.tree.tree_state import TreeState

NEVER = np.full((1, 2), -(1 << 60))


def state_of(keys: list[int], dead: np.ndarray = NEVER) -> TreeState:  # type: ignore[type-arg]
    state = TreeState([0], [(0, 0)], 1, dead.copy())
    state.add_index(np.array([0]))
    state.add_gate(np.array([0]))
    state.reserve(len(keys))
    state.keys[: len(keys), 0] = keys
    state.ts[0, : len(keys)] = np.arange(len(keys))
    state.positions[0, : len(keys)] = np.arange(len(keys))
    state.lineage[: len(keys)] = 1
    state.count = len(keys)
    return state


def absent(state: TreeState, asked: list[int]) -> list[bool]:
    keys = np.array(asked)[:, None]
    return state.absent(0, np.arange(len(asked)), keys, np.array([0])).tolist()


def test_only_active_rows_are_found() -> None:
    state = state_of([5, 6, 7])
    state.activate(np.array([0]), 1)
    state.park(0, np.array([1]))
    state.forget(np.array([2]))
    assert absent(state, [5, 6, 7]) == [False, True, True]
    assert state.parked == [1]
    woken = state.wake(0, np.array([0]), np.array([[6]]), np.array([0]))
    assert woken.tolist() == [1]
    state.activate(woken, 2)
    assert absent(state, [5, 6, 7]) == [False, False, True]
    assert state.active_rows().tolist() == [0, 1]


def test_rows_that_are_dropped_take_nothing_else_with_them() -> None:
    state = state_of(list(range(600)))
    state.activate(np.arange(590), 1)
    state.park(0, np.arange(590, 600))
    state.dead[0] = 595, 1 << 60
    assert state.drop_dead()
    assert state.count == 5
    assert state.parked == [5]
    assert absent(state, [590, 3]) == [True, True]
    assert state.wake(0, np.array([0]), np.array([[597]]), np.array([0])).tolist() == [2]


def test_an_index_that_is_taken_again_has_all_active_rows() -> None:
    state = state_of([5, 6])
    state.release_index(0)
    state.activate(np.array([0, 1]), 1)
    assert absent(state, [5]) == [True]  # it is not kept up
    state.take_index(0)
    assert absent(state, [5, 6, 7]) == [False, False, True]
