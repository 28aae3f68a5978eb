"""Which way rows go: decided now and then, forced where it is, and with lanes for steps that scan."""

from __future__ import annotations

import numpy as np

from cqc.runtime.join.execute.executor import NodeCounts
from cqc.runtime.join.plan.route_planner import RoutePlanner
from tests.support.join_nodes import CHAIN, SECOND, SmallNode

TIMES = np.array([SECOND])


def planner_of(node: SmallNode, orders: dict[int, tuple[int, ...]]) -> RoutePlanner:
    members = node.join.members
    return RoutePlanner(node.join.plan, orders, members.work, NodeCounts().phases)


def test_a_forced_order_is_the_way() -> None:
    node = SmallNode("SELECT a.k AS x FROM a, b, c MAXWINDOW 5 SEC;")
    for order in ((1, 2), (2, 1)):
        routes = planner_of(node, {0: order}).routes(0, TIMES)
        assert tuple(level.target.item for level in routes.levels) == order
        assert routes.through is None  # nothing goes by key


def test_the_first_packets_decide_often_and_later_ones_seldom() -> None:
    planner = planner_of(SmallNode(CHAIN), {})
    due = []
    for packet in range(40):
        due.append(planner.is_due(0))
        planner.routes(0, TIMES) if due[-1] else planner.next_routes(0)
        assert planner.observing == due[packet]
    assert [at for at, is_due in enumerate(due) if is_due] == [0, 1, 3, 7, 16, 32]


def test_steps_that_scan_an_item_share_one_lane_with_all_columns() -> None:
    queries = "".join(
        f"SELECT a.k AS x FROM a, b WHERE a.{column} < b.{column} MAXWINDOW 5 SEC;"
        for column in ("l", "v")
    )
    node = SmallNode(queries)
    node.push("b", [(1, 1, 1, 1.0)] * 3)
    planner = planner_of(node, {})
    routes = planner.routes(0, TIMES)
    (level,) = routes.levels
    assert not level.by_key
    lane = planner.lanes[1]
    assert len(lane.columns) == 2
    assert lane.end - lane.start == 3
    assert planner.levels == [level]
