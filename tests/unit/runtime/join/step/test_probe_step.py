"""One step of a join: what it makes of rows, the room that it finds, and how it groups its arguments."""

from __future__ import annotations

import numpy as np

from cqc.runtime.join.execute.flat_join import FlatJoin
from cqc.runtime.join.step.probe_step import Rows, Work
from cqc.runtime.join.step.step_arguments import ChainTarget
from tests.support.join_nodes import CHAIN, PAIR, SmallNode, found_positions


def test_rows_that_grow_have_a_new_block() -> None:
    rows = Rows(2, 1)
    before = rows.block
    rows.resize(5_000)
    assert rows.room == 5_000
    assert rows.block is not before
    assert rows.block[0] is rows.positions
    complete = Rows(3, 1, 1)
    assert complete.ts.shape[0] == 1
    complete.ts[0, :3] = [5, 2, 9]
    complete.count = 3
    assert complete.oldest_us == 2


def test_a_step_is_told_where_the_state_is_now() -> None:
    node = SmallNode(PAIR)
    node.push("a", [(1, 3, 0, 0.0)])
    node.push("b", [(1, 3, 0, 0.0)])
    executor = node.join.executor
    assert isinstance(executor, FlatJoin)
    (level,) = {each.level for each, _, work in executor.work_of_levels() if work.found}
    state = level.target.state
    target = ChainTarget(*level.chain_target(level.limit(0)))
    assert (target.first, target.limit) == (state.first, state.head)
    assert np.shares_memory(target.links, state.chains.links)
    assert level.is_pair
    assert level.by_key


def test_what_does_not_fit_is_made_again_with_more_room() -> None:
    node = SmallNode(CHAIN)
    node.push("a", [(1, 1, 0, 0.0)] * 40)
    node.push("c", [(1, 0, 1, 0.0)] * 40)
    assert len(found_positions(node.push("b", [(1, 1, 1, 0.0)] * 2))) == 3_200


def test_work_adds_up() -> None:
    work = Work(1, 2, 3)
    work.add(Work(10, 20, 30))
    assert (work.probes, work.candidates, work.found) == (11, 22, 33)


def test_the_shortest_chains_are_walked() -> None:
    node = SmallNode("SELECT a.k FROM a, b WHERE a.k = b.k AND a.l = b.l MAXWINDOW 9 SEC;\n")
    node.push("b", [(1, 7, at, 0.0) for at in range(200)])
    found = node.push("a", [(1, 7, at, 0.0) for at in range(3)])
    assert len(found_positions(found)) == 3
    executor = node.join.executor
    assert isinstance(executor, FlatJoin)
    (level,) = {each.level for each, _, work in executor.work_of_levels() if work.found}
    chains = level.target.state.chains
    lengths = [chains.mean_length(edge.target_form, slice(0, 200)) for edge in level.edges]
    assert lengths == [1.0, 200.0]
    assert level.target_forms.tolist() == [edge.target_form for edge in level.edges]
    (work,) = {work.candidates for each, _, work in executor.work_of_levels() if work.found}
    assert work == 3
