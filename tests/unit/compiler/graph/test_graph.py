"""The shared graph: who shares what, and that a query leaves no trace when it goes."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.compiler.graph.graph import Graph
from cqc.compiler.graph.nodes import Direction, ThresholdKind
from cqc.compiler.meaning.bound import ComparisonOp
from cqc.compiler.pipeline import normalise

if TYPE_CHECKING:
    from cqc.compiler import Program

STREAMS = """
CREATE STREAM B (ts TIMESTAMP, bed BIGINT, pressure DOUBLE, temp DOUBLE);
CREATE STREAM T (ts TIMESTAMP, bed BIGINT, fluct DOUBLE);
CREATE STREAM H (ts TIMESTAMP, bed BIGINT, rate BIGINT);
CREATE TABLE ward (bed BIGINT, nurse STRING);
"""

QUERIES = """
CREATE QUERY hot AS SELECT temp FROM B WHERE temp > 39;
CREATE QUERY hot_again AS SELECT pressure FROM B AS x WHERE x.temp > 39;
CREATE QUERY low AS SELECT pressure FROM B WHERE pressure < 60 OR temp + pressure < 90;
CREATE QUERY pair AS SELECT B.pressure FROM B, T WHERE B.bed = T.bed AND T.fluct < 0.5 * B.pressure MAXWINDOW 6 SEC;
CREATE QUERY pair_turned AS SELECT B.temp FROM T, B WHERE B.bed = T.bed AND T.fluct < 0.7 * B.pressure MAXWINDOW 6 SEC;
CREATE QUERY triple AS SELECT B.pressure FROM B, T, H WHERE B.bed = T.bed AND T.bed = H.bed MAXWINDOW 6 SEC;
CREATE QUERY triple_star AS SELECT H.rate FROM H, B, T WHERE H.bed = B.bed AND T.bed = H.bed MAXWINDOW 6 SEC;
CREATE QUERY nurses AS SELECT nurse FROM B, ward WHERE B.bed = ward.bed;
CREATE QUERY twice AS SELECT a.temp FROM B AS a, B AS b WHERE a.temp < b.temp + 1 MAXWINDOW 1 SEC;
CREATE QUERY average AS SELECT avg(temp) AS mean FROM B WHERE temp > 39 BEGIN NOW - 60 END NOW;
CREATE QUERY recent AS SELECT B.temp FROM B [ROWS 2], T [ROWS 3] WHERE B.bed = T.bed;
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return cqc.compile(STREAMS + QUERIES)


def test_queries_with_the_same_conditions_share_a_body(program: Program) -> None:
    graph = program.graph
    bodies = {name: graph.queries[name].body for name in ("hot", "hot_again", "average")}
    assert len(set(map(id, bodies.values()))) == 1
    assert [query.name for query in bodies["hot"].queries] == ["hot", "hot_again", "average"]
    assert bodies["hot"].has_push
    assert bodies["hot"].has_pull


def test_the_order_of_from_does_not_matter_to_a_host(program: Program) -> None:
    first, second = program.graph.queries["pair"], program.graph.queries["pair_turned"]
    assert first.body.host is second.body.host
    assert [relation.name for relation in first.body.relations] == ["B", "T"]
    assert first.positions == (0, 1)
    assert second.positions == (1, 0)


def test_equalities_written_in_another_way_are_the_same(program: Program) -> None:
    first, second = program.graph.queries["triple"], program.graph.queries["triple_star"]
    assert first.body is second.body
    host = first.body.host
    assert host is not None
    assert host.classes == (((0, 1), (1, 1), (2, 1)),)


def test_a_join_of_fewer_streams_is_part_of_the_wider_one(program: Program) -> None:
    graph = program.graph
    pair, triple = graph.queries["pair"].body.host, graph.queries["triple"].body.host
    assert pair is not None
    assert pair.parent is triple
    assert triple is not None
    assert triple.parent is None


def test_theta_conditions_that_differ_in_a_constant_are_one_family(program: Program) -> None:
    body = program.graph.queries["pair"].body
    family = body.family
    assert family is not None
    assert family is program.graph.queries["pair_turned"].body.family
    assert family.predicate_list.kind is ThresholdKind.SLOPE
    assert family.predicate_list.direction is Direction.ABOVE  # B.pressure > T.fluct / 0.5
    assert family.thresholds == [1 / 0.7, 2.0]
    assert [next(member.queries).name for member in family.members] == ["pair_turned", "pair"]


def test_theta_joins_are_kept_with_the_lower_item_on_the_left(program: Program) -> None:
    (theta,) = program.graph.queries["pair_turned"].body.theta_joins
    assert (theta.left_item, theta.right_item, theta.op) == (0, 1, ComparisonOp.GT)
    assert (theta.left_scale, theta.right_scale) == (0.7, 1.0)


def test_rows_windows_remember_the_order_of_from(program: Program) -> None:
    body = program.graph.queries["recent"].body
    assert body.rows == (2, 3)
    assert body.order == (0, 1)


def test_the_normal_form_comes_back_in_from_order(program: Program) -> None:
    for query in program.queries:
        restored, made = program.normal(query.name), normalise(query)
        assert restored.filters == made.filters
        assert restored.bounds == made.bounds
        assert restored.residuals == made.residuals
        assert [join.expression for join in restored.theta_joins] == [
            join.expression for join in made.theta_joins
        ]


def test_names_match_in_any_case(program: Program) -> None:
    assert program.normal("HOT").name == "hot"


def test_removing_is_the_inverse_of_adding(program: Program) -> None:
    whole = program.graph.to_json()
    graph = Graph.from_json(whole)
    chooser = random.Random(7)
    for _ in range(30):
        names = chooser.sample(list(graph.queries), 4)
        kept = [program.normal(name) for name in names]
        before = {name: graph.queries[name].body.number for name in graph.queries}
        for name in names:
            graph.remove(name)
        for query in reversed(kept):
            graph.add(query)
        assert len(set(before.values())) == len({q.body.number for q in graph.queries.values()})
        assert sorted(graph.bodies) == list(
            range(len(graph.bodies))
        )  # freed numbers are given again
    for name in list(graph.queries):
        graph.remove(name)
    assert not graph.bodies
    assert not graph.hosts
    assert graph.to_json() == Graph().to_json()


def test_a_change_says_what_came_and_what_went() -> None:
    graph = Graph()
    program = cqc.compile(STREAMS + QUERIES)
    first = graph.add(program.normal("pair"))
    assert (first.body_is_new, first.host_is_new, first.family_is_new) == (True, True, True)
    second = graph.add(program.normal("pair_turned"))
    assert (second.body_is_new, second.host_is_new, second.family_is_new) == (True, False, False)
    gone = graph.remove("pair")
    assert (gone.body_is_new, gone.host_is_new, gone.family_is_new) == (True, False, False)
    gone = graph.remove("pair_turned")
    assert (gone.body_is_new, gone.host_is_new, gone.family_is_new) == (True, True, True)


def test_a_body_stays_while_one_of_its_queries_does(program: Program) -> None:
    graph = Graph()
    for name in ("hot", "hot_again", "average"):
        graph.add(program.normal(name))
    assert not graph.remove("hot").body_is_new
    assert not graph.remove("average").body_is_new
    assert graph.remove("hot_again").body_is_new


def test_json_reads_back_as_the_same_graph(program: Program) -> None:
    text = program.graph.to_json()
    document = json.loads(text)
    assert document["version"] == 1
    assert Graph.from_json(text).to_json() == text


def test_json_keeps_the_numbers_of_a_graph_with_gaps(program: Program) -> None:
    graph = Graph.from_json(program.graph.to_json())
    for name in ("low", "pair", "triple"):
        graph.remove(name)
    again = Graph.from_json(graph.to_json())
    assert {name: node.body.number for name, node in again.queries.items()} == {
        name: node.body.number for name, node in graph.queries.items()
    }
    assert again.add(program.normal("low")).query.body.number == 1


def test_json_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="version 1"):
        Graph.from_json('{"version": 2}')


def test_the_picture_has_the_operators_of_the_design(program: Program) -> None:
    ids = {operator.id for operator in program.graph.nodes}
    assert {"source:B", "filter:B.temp", "state:B", "deliver:hot", "aggregate:average"} <= ids
    ends = {end for edge in program.graph.edges for end in (edge.source, edge.target)}
    assert ends <= ids
    assert any(edge.feedback for edge in program.graph.edges)
