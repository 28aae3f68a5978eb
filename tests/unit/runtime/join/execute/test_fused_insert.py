"""A packet that is filtered, stored and started by one call, beside one that goes the longer way."""

from __future__ import annotations

from cqc.runtime.join.execute.fused_insert import FusedInsert
from cqc.runtime.join.step.probe_step import Rows
from tests.support.join_nodes import SmallNode, packet_of

RANGES = "SELECT a.k AS x FROM a, b WHERE a.k = b.k AND a.v > 5 AND a.l < 3 MAXWINDOW 5 SEC;"
ROWS = [(1, 7, 0, 9.0), (2, 8, 5, 9.0), (3, 9, 0, 1.0), (4, 6, 2, 6.0)]


def test_it_stores_and_starts_what_the_longer_way_does() -> None:
    quick, slow = SmallNode(RANGES), SmallNode(RANGES)
    for node in (quick, slow):
        assert node.join.plan.required  # chains are there
        node.push("b", [(1, 7, 0, 0.0)])
    members = quick.join.members
    assert members.filters[0].is_plain
    rows = Rows(1, 1)
    first = FusedInsert(members.inputs[0], members.filters[0]).take(
        packet_of(ROWS), rows, keep_all=True
    )
    slow.push("a", ROWS)
    assert first == 0
    assert rows.positions[0, : rows.count].tolist() == [0, 3]
    one, two = (node.join.members.inputs[0] for node in (quick, slow))
    assert one.lineage.values[:4].tolist() == two.lineage.values[:4].tolist()
    assert one.state.newest[:4].tolist() == two.state.newest[:4].tolist()
    assert one.state.chains.links[:, :4].tolist() == two.state.chains.links[:, :4].tolist()


def test_nothing_is_stored_when_hardly_anybody_wants_it() -> None:
    node = SmallNode(RANGES)
    members = node.join.members
    insert = FusedInsert(members.inputs[0], members.filters[0])
    packet = packet_of([ROWS[0], *([ROWS[2]] * 5)])
    assert insert.take(packet, Rows(1, 1), keep_all=False) == -1
    assert len(node.states["a"]) == 0
