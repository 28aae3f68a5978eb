"""Routes: hosts that go the same way share its steps, and leave where they have all of theirs."""

from __future__ import annotations

from cqc.runtime.join.execute.flat_join import FlatJoin
from tests.support.join_nodes import CHAIN, PAIR, SmallNode


def test_a_host_over_some_of_the_items_leaves_early() -> None:
    node = SmallNode(PAIR + CHAIN)
    for _ in range(3):
        for name in "abc":
            node.push(name, [(1, 1, 1, 0.0)] * 2)
    executor = node.join.executor
    assert isinstance(executor, FlatJoin)
    branches = {branch for branch, _, _ in executor.work_of_levels()}
    pair, chain = (part.host.number for part in node.join.parts)
    shared = [each for each in branches if each.hosts == {pair, chain}]
    assert shared
    for branch in shared:
        assert [leaving.part.host.number for leaving in branch.exits] == [pair]
        (child,) = branch.children
        assert child.hosts == {chain}
        assert child.mask is not None  # the others' rows are picked out
        (leaving,) = child.exits
        bound = [*child.level.bound_items, child.level.target.item]
        assert [bound[place] for place in leaving.places] == list(leaving.part.items)
