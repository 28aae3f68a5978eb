"""The switches choose the join that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.compiler import compile as compile_program
from cqc.compiler.physical.executors import choose_executor
from cqc.compiler.physical.strategy import Strategy, parse_join
from cqc.runtime.join.choice.build_join import JoinOptions, build_join
from cqc.runtime.join.execute.demand_join import DemandSteps
from cqc.runtime.join.execute.flat_join import FlatJoin
from cqc.runtime.join.execute.route_steps import PlainSteps
from cqc.runtime.join.execute.routed_join import RoutedSteps
from cqc.runtime.join.tree.tree_join import TreeJoin
from cqc.runtime.state.shared_state import SharedState

if TYPE_CHECKING:
    from cqc.compiler.physical.tree_shape import Shape
    from cqc.runtime.join.execute.join_node import JoinNode

STREAMS = "".join(
    f"CREATE STREAM {name} (ts BIGINT, k BIGINT, l BIGINT, m BIGINT);" for name in "abcd"
)
CHAIN = (
    "SELECT a.k AS x FROM a, b, c, d WHERE a.k = b.k AND b.l = c.l AND c.m = d.m MAXWINDOW 9 SEC;"
)
TRIANGLE = (
    "SELECT a.k AS x FROM a, b, c WHERE a.k = b.k AND b.l = c.l AND a.m = c.m MAXWINDOW 9 SEC;"
)
SAME_VALUE = (
    "SELECT a.k AS x FROM a, b, c WHERE a.k = b.k AND b.k = c.k AND a.k = c.k MAXWINDOW 9 SEC;"
)


def join_of(query: str, strategy: Strategy) -> JoinNode:
    program = compile_program(STREAMS + query)
    (body,) = program.graph.bodies.values()
    assert body.host is not None
    states = {name: SharedState(each) for name, each in program.catalog.relations.items()}
    executor = choose_executor(body.host, strategy)
    return build_join(body.host, executor, states, JoinOptions(strategy.order))


def shape_of(join: JoinNode | None) -> Shape | None:
    """The shape of a tree."""
    assert join is not None
    return join.executor.shape if isinstance(join.executor, TreeJoin) else None


def steps_of(join: JoinNode | None) -> type:
    """How a flat join takes its steps."""
    assert join is not None
    assert isinstance(join.executor, FlatJoin)
    return type(join.executor.steps)


@pytest.mark.parametrize("feedback", ["off", "on", "exact", "bloom", "auto"])
def test_shapes_are_those_that_were_asked_for(feedback: str) -> None:
    left = join_of(CHAIN, Strategy(join="left-deep", feedback=feedback))
    pairs = join_of(CHAIN, Strategy(join="bushy", feedback=feedback))
    assert shape_of(left) == (((0, 1), 2), 3)
    assert shape_of(pairs) == ((0, 1), (2, 3))


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("((a b) (c d))", ((0, 1), (2, 3))),
        ("((A B C) D)", ((0, 1, 2), 3)),
        ("(a, (c b), d)", (0, (2, 1), 3)),
        ("((a b) ((c)) d)", ((0, 1), 2, 3)),
        ("(a b c d)", None),  # the flat join
        ("((a b) (c e))", None),  # of other streams
        ("((a b) c)", None),
        ("((a b) (c c))", None),
    ],
)
def test_a_tree_that_is_written_out_has_nodes_of_any_number_of_inputs(
    text: str, shape: Shape | None
) -> None:
    join = join_of(CHAIN, Strategy(join=parse_join(text), feedback="off"))
    assert shape_of(join) == shape


def test_the_flat_join_asks_only_where_a_pair_has_two_values_to_ask_for() -> None:
    assert steps_of(join_of(TRIANGLE, Strategy())) is DemandSteps
    assert steps_of(join_of(TRIANGLE, Strategy(feedback="off"))) is PlainSteps
    assert steps_of(join_of(CHAIN, Strategy(feedback="demand"))) is PlainSteps
    assert steps_of(join_of(SAME_VALUE, Strategy())) is PlainSteps


@pytest.mark.parametrize("routing", ["lottery", "random", "fixed"])
def test_a_forced_routing_comes_before_feedback_that_nobody_forced(routing: str) -> None:
    assert steps_of(join_of(TRIANGLE, Strategy(routing=routing))) is RoutedSteps
    assert steps_of(join_of(TRIANGLE, Strategy(routing=routing, feedback="demand"))) is DemandSteps


HINTED = "SELECT /*+ JOIN({}) */ a.k AS x FROM {}, d WHERE a.k = b.k AND b.l = c.l AND c.m = d.m MAXWINDOW {} SEC;"


def test_a_hint_gives_its_queries_a_join_of_their_own() -> None:
    text = STREAMS + CHAIN
    text += HINTED.format("(a b c) d", "a, b, c", 9) + HINTED.format("d (c a b)", "c, b, a", 8)
    text += HINTED.format("(a b c) d", "c, b, a", 7) + HINTED.format("bushy", "a, b, c", 9)
    engine = cqc.Engine(cqc.compile(text))
    joins = [engine._circuit.join(f"q{number}") for number in range(1, 6)]
    shapes = [shape_of(each) for each in joins]
    assert shapes == [None, ((0, 1, 2), 3), (3, (2, 0, 1)), ((0, 1, 2), 3), ((0, 1), (2, 3))]
    assert joins[1] is joins[3]
    for number in range(1, 6):
        engine.unregister(f"q{number}")
    assert not list(engine._circuit.nodes)


def test_a_switch_comes_before_a_hint() -> None:
    text = STREAMS + HINTED.format("(a b c) d", "a, b, c", 9)
    engine = cqc.Engine(cqc.compile(text), strategy=Strategy(join="flat"))
    assert steps_of(engine._circuit.join("q1")) is PlainSteps
