"""What a packet may cost a slot: who is silenced, and that the others miss nothing."""

from __future__ import annotations

import numpy as np
import pytest

from cqc.compiler.physical.executors import Flat, Tree
from cqc.runtime.adapt.work_watch import WorkWatch
from cqc.runtime.join.execute.join_limits import JoinLimits
from cqc.runtime.join.execute.result_limits import TOO_MANY, Flood
from tests.support.join_nodes import PAIR, SmallNode, found_positions

FEW = "SELECT a.k AS x FROM a, b WHERE a.k = b.k AND a.v > 5 MAXWINDOW 5 SEC;"


@pytest.mark.parametrize("executor", [Flat(), Tree((0, 1), "off")], ids=["flat", "tree"])
def test_a_slot_that_finds_too_much_is_silenced_and_the_others_miss_nothing(
    executor: Flat | Tree,
) -> None:
    node = SmallNode(PAIR + FEW, executor)
    node.join.limits.most_found = 30
    node.push("a", [(1, 7, 0, 0.0)] * 30 + [(1, 7, 0, 9.0)])
    found = node.push("b", [(1, 7, 0, 0.0)] * 5)
    assert found_positions(found) == [(30, at) for at in range(5)]
    assert node.join.limits.silenced == {node.seats[0].member: TOO_MANY}
    assert [seat.results for seat in node.seats] == [0, 5]
    assert node.join.measure().tuples_out == 5


def test_seconds_are_credited_to_the_slots_of_the_rows() -> None:
    node, limits = SmallNode(PAIR + FEW), JoinLimits()
    ticks = iter(range(100))
    limits.watch = WorkWatch(processor=lambda: float(next(ticks)))
    limits.watch.most_seconds = 3.0
    limits.watch.resume()
    members = node.join.members
    lineage = np.array([[1], [1]], np.uint64)
    for _ in range(3):
        limits.look(members, lineage, 2)
    assert limits.seconds(2).tolist() == [3.0, 0.0]
    with pytest.raises(Flood) as flood:
        limits.look(members, lineage, 2)
    assert flood.value.slots == [0]


def test_a_query_that_is_dropped_leaves_whoever_else_is_there() -> None:
    node, limits = SmallNode(PAIR + FEW), JoinLimits()
    member = node.seats[1].member
    limits.left_by = lambda queries: [member] if "few" in queries else []
    limits.watch.drop("few")
    with pytest.raises(Flood) as flood:
        limits.look(node.join.members, np.array([[3]], np.uint64), 1)
    limits.silence(node.join.members, flood.value, all_members=False)
    assert list(limits.silenced) == [member]
    assert node.join.plan is not None  # the members are in order by now
    assert limits.muted(node.join.members) == [1]
