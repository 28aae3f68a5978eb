"""Rows on their way: what waits goes on with others, and everything leaves in the end."""

from __future__ import annotations

from cqc.runtime.join.execute.flat_join import FlatJoin
from tests.support.join_nodes import CHAIN, PAIR, SmallNode, found_positions


def filled(text: str) -> SmallNode:
    node = SmallNode(text)
    for _ in range(20):  # beyond the packets from which orders are learned
        node.push("a", [(1, 1, 0, 0.0)])
        node.push("c", [(1, 0, 2, 0.0)])
    return node


def test_rows_that_wait_go_on_with_the_last_packet_of_their_stream() -> None:
    node = filled(CHAIN)
    executor = node.join.executor
    assert isinstance(executor, FlatJoin)
    for at in range(20):
        node.push("b", [(1, 9, 9, 0.0)])
        assert not executor.queues, at
    assert node.push("b", [(1, 1, 2, 0.0)], more=True) == []
    assert executor.queues
    found = node.push("b", [(1, 1, 2, 0.0)])
    assert not executor.queues
    assert len(found_positions(found)) == 2 * 20 * 20


def test_a_host_leaves_where_it_has_all_its_items() -> None:
    node = filled(PAIR + CHAIN)
    found = node.push("b", [(1, 1, 9, 0.0)])
    assert len(found_positions(found)) == 20
    assert [seat.results for seat in node.seats] == [20, 0]
    found = node.push("b", [(1, 1, 2, 0.0)])
    assert [seat.results for seat in node.seats] == [40, 400]
