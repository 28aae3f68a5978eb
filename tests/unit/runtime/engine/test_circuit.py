"""What is built is what was planned."""

from __future__ import annotations

import pytest

import cqc
from cqc.compiler.physical.physical_plan import plan_of
from cqc.compiler.physical.strategy import Strategy

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
            (node.executor, node.past, len(node.hosts), type(join).__name__)
            for node, join in engine._circuit.nodes
        ]
    assert [(each[0], each[1], each[2]) for each in built] == [
        (each.executor, each.keeps_past, len(each.hosts)) for each in plan.joins
    ]
    classes = {"Flat": "MultiJoin", "Routed": "RoutedJoin", "Tree": "JoinTree", "Rows": "RowsJoin"}
    for executor, _, _, name in built:
        assert name == classes.get(type(executor).__name__, "DemandJoin")
