"""Views that differ in conditions alone are one stream, and nobody can tell from the results."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

import cqc
from cqc.runtime.engine.snapshot import EngineState, Snapshot

STREAM = "CREATE STREAM s (ts BIGINT, k STRING, x BIGINT, y BIGINT, WATERMARK FOR ts AS ts - 3 SECONDS);\n"
SPAN = "OVER (PARTITION BY k ORDER BY ts RANGE 6 SECONDS PRECEDING)"
AGGREGATES = {
    "count": "COUNT(*)",
    "distinct": "COUNT(DISTINCT y)",
    "temporal": "COUNT(DISTINCT tag)",
    "sum": "SUM(y)",
    "median": "median(y)",
    "marked": "COUNT_IF(tag = 2)",
}


def rule(number: int, aggregate: str) -> tuple[str, str]:
    """The views of one rule, and the query that reports each crossing once."""
    a, b = number % 5, number % 3 + 5
    views = (
        f"CREATE VIEW e{number} AS SELECT ts, k, y, 1 AS tag FROM s WHERE x = {a} "
        f"UNION ALL SELECT ts, k, y, 2 AS tag FROM s WHERE x > {b};\n"
        f"CREATE VIEW c{number} AS SELECT ts, k, {AGGREGATES[aggregate]} {SPAN} AS n FROM e{number};\n"
    )
    least = 1 + number % 3
    query = (
        f"SELECT ts, k, n FROM c{number} QUALIFY n >= {least} AND (ts - LAG(CASE WHEN n >= {least} THEN ts END) "
        "OVER (PARTITION BY k ORDER BY ts) <= 6 SECONDS) IS NOT TRUE"
    )
    return views, query


def program(numbers: list[int], aggregate: str) -> str:
    rules = [(number, *rule(number, aggregate)) for number in numbers]
    queries = [f"CREATE QUERY q{number} AS {query};\n" for number, _, query in rules]
    return STREAM + "".join(views for _, views, _ in rules) + "".join(queries)


def rows() -> list[dict[str, Any]]:
    random = Random(5)
    return [
        {
            "ts": at // 2 - random.randrange(3),
            "k": random.choice("ab"),
            "x": random.randrange(9),
            "y": random.randrange(4),
        }
        for at in range(90)
    ]


def collected(engine: cqc.Engine) -> list[tuple[Any, ...]]:
    return [(each.query, each.ts, *each.row.values()) for each in engine.drain()]


def run(
    text: str, *, size: int, restart: bool = False, sharing: bool = True
) -> list[tuple[Any, ...]]:
    engine, data = cqc.Engine(cqc.compile(text), sharing=sharing), rows()
    found: list[tuple[Any, ...]] = []
    for at in range(0, len(data), size):
        engine.push("s", data[at : at + size])
        found += collected(engine)
        if restart:
            snapshot = engine.snapshot()
            state = EngineState.from_json(json.loads(json.dumps(snapshot.state.to_json())))
            engine = cqc.Engine(cqc.compile(text))
            engine.restore(Snapshot(state, snapshot.tuples))
    engine.finish()
    return sorted([*found, *collected(engine)], key=repr)


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize(("size", "restart"), [(90, False), (7, False), (30, True)])
def test_rules_together_answer_as_each_alone(aggregate: str, size: int, restart: bool) -> None:
    numbers = list(range(8))
    alone = run(program(numbers, aggregate), size=90, sharing=False)
    assert len(alone) > 8
    together = run(program(numbers, aggregate), size=size, restart=restart)
    assert together == alone


def test_what_was_saved_when_each_view_was_a_stream_is_still_read() -> None:
    text, data = program([0, 1, 2], "count"), rows()
    engine = cqc.Engine(cqc.compile(text))
    engine.push("s", data[:45])
    found = collected(engine)
    state = engine.snapshot().state.to_json()
    for each in state["decided"]:
        each["queries"] = [name.removesuffix("@kind") for name in each["queries"]]
    again = cqc.Engine(cqc.compile(text))
    again.restore(Snapshot(EngineState.from_json(json.loads(json.dumps(state)))))
    again.push("s", data[45:])
    again.finish()
    assert sorted([*found, *collected(again)], key=repr) == run(text, size=45)


def test_views_of_one_kind_are_one_stream() -> None:
    engine = cqc.Engine(cqc.compile(program(list(range(8)), "count")))
    made = [name for name in engine.snapshot().state.lines if name.startswith("view:")]
    assert len(made) == 2  # the events and the counts of all eight


def test_rules_that_come_and_go_while_it_runs() -> None:
    data = rows()
    views = "".join(rule(number, "count")[0] for number in range(6))
    engine = cqc.Engine(cqc.compile(STREAM + views))
    plain = {number: cqc.Engine(cqc.compile(STREAM + views), sharing=False) for number in range(6)}
    found: list[tuple[Any, ...]] = []
    expected: list[tuple[Any, ...]] = []
    for at, batch in enumerate(data[begin : begin + 10] for begin in range(0, len(data), 10)):
        if at < 6:
            for each in (engine, plain[at]):
                each.register(rule(at, "count")[1], f"q{at}")
        if at == 6:
            for number in (1, 4):
                engine.unregister(f"q{number}")
                plain[number].unregister(f"q{number}")
        engine.push("s", batch)
        found += collected(engine)
        for each in plain.values():
            each.push("s", batch)
            expected += collected(each)
    for each in plain.values():
        each.finish()
        expected += collected(each)
    engine.finish()
    found += collected(engine)
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    for number in (0, 2, 3, 5):
        engine.unregister(f"q{number}")
    assert not [name for name in engine.snapshot().state.lines if name.startswith("view:")]


def test_a_join_and_a_window_over_a_view_of_a_kind_read_it_as_it_is() -> None:
    text = program([0, 1], "count") + (
        "CREATE QUERY w AS SELECT window_end, COUNT(*) AS m FROM TUMBLE(c0, 10 SEC) GROUP BY window_end;"
        "CREATE QUERY j AS SELECT c0.n, c1.n AS o FROM c0, c1 WHERE c0.k = c1.k AND c0.ts = c1.ts;"
    )
    alone = run(text, size=90, sharing=False)
    assert {row[0] for row in alone} == {"q0", "q1", "w", "j"}
    assert run(text, size=11) == alone
