"""Queries of one shape share a node, and leave it without a trace."""

from __future__ import annotations

import cqc

DECLARATIONS = """
CREATE STREAM A (ts BIGINT, k BIGINT);
CREATE STREAM B (ts BIGINT, k BIGINT);
"""
WITHOUT = "SELECT A.k FROM A WHERE NOT EXISTS (SELECT 1 FROM B WHERE B.k = A.k WINDOW B.ts >= A.ts AND B.ts {} A.ts + 10)"


def engine_of(*queries: str) -> cqc.Engine:
    return cqc.Engine(cqc.compile(DECLARATIONS + ";".join(queries)))


def drained(engine: cqc.Engine) -> list[tuple[str, object, tuple[object, ...]]]:
    return [(each.query, each.ts, tuple(each.row.values())) for each in engine.drain()]


def test_rules_of_one_shape_are_one_node() -> None:
    engine = engine_of(WITHOUT.format("<="), WITHOUT.format("<").replace("10", "20"))
    assert [len(node) for node in engine.absent.nodes] == [2]
    engine.push_batch({"A": [{"ts": 5, "k": 1}], "B": [{"ts": 17, "k": 2}]})
    assert drained(engine) == [("q1", 15, (1,))]
    engine.unregister("q1")
    engine.push_batch({"A": [{"ts": 6, "k": 1}], "B": [{"ts": 40, "k": 2}]})
    assert drained(engine) == [("q2", 25, (1,)), ("q2", 26, (1,))]
    engine.unregister("q2")
    assert engine.absent.nodes == []


def test_what_is_past_is_forgotten() -> None:
    engine = cqc.Engine(cqc.compile(DECLARATIONS + WITHOUT.format("<=")), keep_past=False)
    for at in range(0, 20_000, 100):
        rows = [{"ts": at + each, "k": each} for each in range(100)]
        engine.push_batch({"A": rows, "B": rows})
    (node,) = engine.absent.nodes
    assert node.waiting < 400
    assert max(len(state) for state in engine.states.values()) < 1_000
    assert max(len(each.entries) for place in node.places for each in place.rows.guards) < 3_000
