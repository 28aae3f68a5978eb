"""Gates for pairs: what is noted of a leaf, since when a value was absent, and when a gate is silent."""

from __future__ import annotations

import numpy as np

from cqc.runtime.join.tree.pair_gate import ALWAYS, NEVER, PairGates
from cqc.runtime.join.tree.tree_state import TreeState

LONG_AGO = -(1 << 60)


def gates_of() -> tuple[PairGates, TreeState]:
    left, right = (
        TreeState([item], [(item, 0)], 1, np.full((1, 2), LONG_AGO)) for item in range(2)
    )
    leaf = TreeState([2], [(2, 0), (2, 1)], 1, np.full((1, 2), LONG_AGO))
    gates = PairGates(left, right)
    gates.add(leaf, [(0, 0), (1, 0)], [(2, 0), (2, 1)], [])
    return gates, leaf


def come(leaf: TreeState, ts: int, *keys: tuple[int, int]) -> np.ndarray:  # type: ignore[type-arg]
    begin, end = leaf.count, leaf.count + len(keys)
    leaf.reserve(len(keys))
    leaf.keys[begin:end] = keys
    leaf.ts[0, begin:end] = ts
    leaf.count = end
    return np.arange(begin, end)


def test_a_value_is_fresh_once_and_again_after_it_went() -> None:
    gates, leaf = gates_of()
    fresh, since = gates.note(0, come(leaf, 10, (1, 2), (3, 4)))
    assert fresh.tolist() == [0, 1]
    assert since.tolist() == [NEVER, NEVER]
    assert len(gates.note(0, come(leaf, 11, (1, 2)))[0]) == 0
    gates.purged(0, 11, clock=7)  # (3, 4) went, (1, 2) is there still
    fresh, since = gates.note(0, come(leaf, 12, (1, 2), (3, 4)))
    assert fresh.tolist() == [4]
    assert since.tolist() == [7]


def test_a_gate_that_is_off_is_silent_once_no_pair_lives_that_it_held() -> None:
    gates, leaf = gates_of()
    gates.note(0, come(leaf, 10, (1, 2)))
    gates.switch(0, 5, is_on=False)
    assert gates.on_until[0] == 5
    gates.drain(0)
    assert gates.is_silent[0]
    assert not gates.codes.any()
    gates.switch(0, 9, is_on=True)
    assert (gates.on_from[0], gates.on_until[0]) == (10, ALWAYS)
    assert np.count_nonzero(gates.codes) == 1  # what the leaf has is noted again
