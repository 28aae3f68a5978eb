"""Which join node serves which host, as bodies come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler import compile as compile_program
from cqc.compiler.physical.executors import Flat, Rows, Tree
from cqc.compiler.physical.node_planner import NodePlanner
from cqc.compiler.physical.strategy import Strategy

if TYPE_CHECKING:
    from cqc.compiler.graph.nodes import Body

STREAMS = "".join(f"CREATE STREAM {name} (ts BIGINT, k BIGINT, l BIGINT);" for name in "abcd")


def bodies(*queries: str) -> list[Body]:
    program = compile_program(STREAMS + ";".join(queries))
    return [query.body for query in program.graph.queries.values()]


def pair(left: str, right: str, seconds: int = 9) -> str:
    return f"SELECT {left}.k AS x FROM {left}, {right} WHERE {left}.k = {right}.k MAXWINDOW {seconds} SEC"


def test_hosts_with_a_stream_in_common_share_a_node() -> None:
    planner = NodePlanner(Strategy())
    first, second = bodies(pair("a", "b"), pair("b", "c"))
    planned = planner.seat(first, past=False, hint=None)
    again = planner.seat(second, past=False, hint=None)
    assert planned.node_is_new
    assert again.host_is_new
    assert again.node is planned.node
    assert list(planned.node.relations) == ["a", "b", "c"]


def test_a_host_between_two_nodes_makes_them_one() -> None:
    planner = NodePlanner(Strategy())
    left, right, between = bodies(pair("a", "b"), pair("c", "d"), pair("b", "c"))
    first = planner.seat(left, past=False, hint=None).node
    second = planner.seat(right, past=False, hint=None).node
    assert first is not second
    placement = planner.seat(between, past=False, hint=None)
    assert placement.absorbed == (second,)
    assert planner.node_of(right, past=False, hint=None) is first
    assert list(planner) == [first]


def test_pull_queries_and_other_executors_have_nodes_of_their_own() -> None:
    push, rows = bodies(
        pair("a", "b"), "SELECT a.k AS x FROM a [ROWS 2], b [ROWS 2] WHERE a.k > b.k"
    )
    planner = NodePlanner(Strategy())
    nodes = [
        planner.seat(push, past=False, hint=None).node,
        planner.seat(push, past=True, hint=None).node,
        planner.seat(rows, past=False, hint=None).node,
        planner.seat(push, past=False, hint=(0, 1)).node,
    ]
    assert len(set(nodes)) == 4
    assert [type(node.executor) for node in nodes] == [Flat, Flat, Rows, Tree]


def test_the_last_body_takes_its_node_with_it() -> None:
    planner = NodePlanner(Strategy())
    first, second = bodies(pair("a", "b"), pair("b", "c"))
    node = planner.seat(first, past=False, hint=None).node
    planner.seat(second, past=False, hint=None)
    assert not planner.unseat(first, node)
    assert list(node.relations) == ["b", "c"]
    assert planner.unseat(second, node)
    assert not list(planner)
    assert planner.seat(first, past=False, hint=None).node_is_new


def test_a_join_with_rows_windows_takes_nothing_of_its_host_along() -> None:
    planner = NodePlanner(Strategy())
    plain, rows = bodies(
        pair("a", "b"), "SELECT a.l AS x FROM a [ROWS 2], b [ROWS 2] WHERE a.k = b.k"
    )
    assert plain.host is rows.host
    node = planner.seat(plain, past=False, hint=None).node
    waiting = planner.seat(rows, past=False, hint=None).node
    assert planner.unseat(rows, waiting)
    assert planner.node_of(plain, past=False, hint=None) is node


def test_split_nodes_stay_apart_and_a_new_host_goes_to_the_nearest() -> None:
    planner = NodePlanner(Strategy())
    one, two, three = bodies(pair("a", "b"), pair("b", "c"), pair("c", "d"))
    for body in (one, two):
        planner.seat(body, past=False, hint=None)
    (shared,) = planner
    numbers = [body.host.number for body in (one, two) if body.host is not None]
    apart = planner.regroup([shared], [{numbers[0]}, {numbers[1]}])
    assert [len(node.hosts) for node in apart] == [1, 1]
    assert all(node.is_apart for node in apart)
    placement = planner.seat(three, past=False, hint=None)
    assert placement.node is apart[1]
    assert not placement.absorbed


def test_without_sharing_every_host_is_alone() -> None:
    planner = NodePlanner(Strategy(sharing=False))
    first, second = bodies(pair("a", "b"), pair("b", "c"))
    nodes = {planner.seat(body, past=False, hint=None).node for body in (first, second)}
    assert len(nodes) == 2


def test_a_node_with_many_slots_takes_no_more_hosts() -> None:
    many = [pair("a", "b", seconds) for seconds in range(1, 1026)]
    *own, other = bodies(*many, pair("b", "c"))
    planner = NodePlanner(Strategy())
    node = planner.seat(own[0], past=False, hint=None).node
    for body in own[1:]:
        assert planner.seat(body, past=False, hint=None).node is node
    assert planner.seat(other, past=False, hint=None).node is not node
