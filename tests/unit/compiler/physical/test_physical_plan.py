"""The plan that is printed before anything runs."""

from cqc.compiler import compile as compile_program
from cqc.compiler.physical.physical_plan import plan_lines, plan_of
from cqc.compiler.physical.strategy import Strategy

PROGRAM = """
CREATE STREAM b (ts BIGINT, k BIGINT); CREATE STREAM t (ts BIGINT, k BIGINT); CREATE STREAM h (ts BIGINT, k BIGINT);
CREATE QUERY two AS SELECT b.k AS x FROM b, t WHERE b.k = t.k MAXWINDOW 9 SEC;
CREATE QUERY twin AS SELECT b.k AS x FROM b, t WHERE b.k = t.k MAXWINDOW 9 SEC;
CREATE QUERY three AS SELECT b.k AS x FROM b, t, h WHERE b.k = t.k AND t.k = h.k MAXWINDOW 9 SEC;
CREATE QUERY asked AS SELECT b.k AS x FROM b, t WHERE b.k = t.k MAXWINDOW 9 SEC BEGIN NOW - 10 END NOW;
CREATE QUERY alone AS SELECT k FROM b WHERE k > 1;
"""


def test_the_plan_names_what_is_stored_filtered_joined_and_delivered_together() -> None:
    plan = plan_of(compile_program(PROGRAM).graph, Strategy())
    assert {each.relation: each.nodes for each in plan.stores} == {
        "b": (0, 1),
        "t": (0, 1),
        "h": (0,),
    }
    assert [(each.stream, each.bodies) for each in plan.filters] == [("b", 1)]
    assert [each.hosts for each in plan.joins] == [("join0", "join1"), ("join0",)]
    assert [each.queries for each in plan.deliveries if len(each.queries) > 1] == [("two", "twin")]


def test_the_plan_in_words() -> None:
    assert list(plan_lines(plan_of(compile_program(PROGRAM).graph, Strategy()))) == [
        "node 0 for join0, join1: they have streams in common (flat; 2 slots)",
        "node 1 for join0 (flat, over the past too; 1 slot)",
    ]


def test_with_sharing_off_every_query_has_a_node() -> None:
    plan = plan_of(compile_program(PROGRAM).graph, Strategy(sharing=False))
    assert [each.hosts for each in plan.joins] == [("join0",), ("join0",), ("join1",), ("join0",)]
