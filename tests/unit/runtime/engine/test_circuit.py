"""What is built is what was planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.compiler.physical.physical_plan import plan_of
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.join.execute.flat_join import FlatJoin

if TYPE_CHECKING:
    from cqc.runtime.join.execute.join_node import JoinNode

STREAMS = "".join(
    f"CREATE STREAM {name} (ts BIGINT, k BIGINT, l BIGINT, m BIGINT);" for name in "abcd"
)
PROGRAMS = {
    "pairs": "SELECT a.k AS x FROM a, b WHERE a.k = b.k MAXWINDOW 9 SEC;"
    "SELECT c.k AS x FROM c, d WHERE c.k = d.k MAXWINDOW 9 SEC;"
    "SELECT b.k AS x FROM b, c WHERE b.k = c.k MAXWINDOW 9 SEC;",
    "triangle": "SELECT a.k AS x FROM a, b, c WHERE a.k = b.k AND b.l = c.l AND a.m = c.m MAXWINDOW 9 SEC;",
    "mixed": "SELECT a.k AS x FROM a, b, c WHERE a.k = b.k AND b.k = c.k MAXWINDOW 5 SEC;"
    "SELECT a.k AS x FROM a, b WHERE a.k = b.k MAXWINDOW 9 SEC BEGIN NOW - 5 END NOW;"
    "SELECT a.k AS x FROM a [ROWS 2], b [ROWS 3] WHERE a.k = b.k;"
    "SELECT /*+ JOIN((a b) c) */ a.l AS x FROM a, b, c WHERE a.k = b.k AND b.k = c.k MAXWINDOW 4 SEC;"
    "SELECT k FROM d WHERE k > 1;",
}
STRATEGIES = [
    Strategy(),
    Strategy(sharing=False),
    Strategy(join="bushy"),
    Strategy(join="flat", feedback="demand"),
    Strategy(routing="lottery"),
    Strategy(join="((a b) c)"),
]


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_the_joins_that_run_are_those_of_the_plan(program: str, strategy: Strategy) -> None:
    compiled = cqc.compile(STREAMS + program)
    plan = plan_of(compiled.graph, strategy)
    with cqc.Engine(compiled, strategy=strategy) as engine:
        built = [
            (node.executor, node.past, len(node.hosts), kind_of(join))
            for node, join in engine._circuit.nodes
        ]
    assert [(each[0], each[1], each[2]) for each in built] == [
        (each.executor, each.keeps_past, len(each.hosts)) for each in plan.joins
    ]
    kinds = {"Flat": "PlainSteps", "Routed": "RoutedSteps", "Tree": "TreeJoin", "Rows": "RowsJoin"}
    for executor, _, _, name in built:
        assert name == kinds.get(type(executor).__name__, "DemandSteps")


def kind_of(join: JoinNode) -> str:
    """The class that says how combinations are found: the executor's, or that of its steps where it is flat."""
    executor = join.executor
    return type(executor.steps if isinstance(executor, FlatJoin) else executor).__name__
