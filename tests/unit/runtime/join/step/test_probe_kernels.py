"""The step by key: cursors along chains, and when it gives up."""

from __future__ import annotations

import numpy as np
import pytest

from cqc.runtime.join.step.probe_kernels import GAVE_UP, find_equal_keys
from tests.support.join_nodes import PAIR, SECOND, SmallNode, found_positions


@pytest.mark.parametrize("most", [100, 3])
def test_every_cursor_moves_to_the_next_tuple_of_its_key(most: int) -> None:
    # position: key, next older:   0: 7, -    1: 8, 0    2: 7, 1    3: 9, 2    all in one chain
    links = np.array([[[-1, 7], [0, 8], [1, 7], [2, 9]]])
    active, cursors = np.array([0, 1]), np.array([3, 3])
    keys = np.array([7, 5])
    found, left = find_equal_keys(active, cursors, 2, keys, 0, links, 0, 0, 4, most)
    if most == 3:
        assert left < 0  # so many steps do not suffice
    else:
        assert (found, active[0], cursors[0]) == (1, 0, 2)


def test_a_step_gives_up_after_so_many_tuples_and_takes_fewer_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cqc.runtime.join.step.probe_step.MOST_STEPS", 40)
    node = SmallNode(PAIR)
    node.push("a", [(1, 3, 0, 0.0)] * 20)
    found = node.push("b", [(1, 3, 0, 0.0)] * 20)
    assert len(found_positions(found)) == 400
    assert GAVE_UP < 0


def test_tuples_that_are_too_old_are_not_looked_at() -> None:
    node = SmallNode(PAIR)
    node.push("a", [(1, 3, 0, 0.0), (90, 3, 0, 0.0)])
    assert found_positions(node.push("b", [(92, 3, 0, 0.0)])) == [(1, 0)]
    work = node.join.members.work[0]
    assert (work.probes, work.candidates, work.found) == (1, 1, 1)
    assert int(node.states["a"].ts[0]) == SECOND
