"""What operators found reaches each query once, in result-time order, whoever else is delivered with it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

import cqc
from cqc.runtime.deliver import deliver

STREAMS = """
CREATE STREAM a (ts BIGINT, k BIGINT, x BIGINT, WATERMARK FOR ts AS ts - 100 SECONDS);
CREATE STREAM b (ts BIGINT, k BIGINT, x BIGINT, WATERMARK FOR ts AS ts - 100 SECONDS);
"""
JOIN = "FROM a, b WHERE a.k = b.k AND"
QUERIES = {
    "one": f"SELECT a.x AS v {JOIN} a.x > 1 MAXWINDOW 50 SEC",
    "same": f"SELECT a.x AS v {JOIN} a.x > 1 MAXWINDOW 50 SEC",
    "renamed": f"SELECT a.x AS w {JOIN} a.x > 1 MAXWINDOW 50 SEC",
    "sum": f"SELECT a.x + b.x AS v {JOIN} a.x > 0 MAXWINDOW 50 SEC",
    "low": f"SELECT a.x AS v {JOIN} a.x < b.x + 1 MAXWINDOW 50 SEC",
    "high": f"SELECT a.x AS v {JOIN} a.x < b.x + 2 MAXWINDOW 50 SEC",
    "alone": "SELECT x AS v FROM a WHERE x > 1",
    "total": "SELECT COUNT(*) AS v FROM a, b WHERE a.k = b.k BEGIN 0 END NOW",
}
A = [(9, 1, 1), (3, 1, 2), (5, 2, 3), (3, 1, 4)]
B = [(4, 1, 1), (2, 1, 3), (8, 2, 2)]


def rows(tuples: list[tuple[int, int, int]]) -> list[dict[str, int]]:
    return [dict(zip(("ts", "k", "x"), each, strict=True)) for each in tuples]


def expected() -> dict[str, list[tuple[int, int]]]:
    """(result time, value) of every push query, sorted."""
    pairs = [(a, b) for a in A for b in B if a[1] == b[1]]
    conditions: dict[str, Any] = {
        "one": lambda a, _: a[2] > 1,
        "same": lambda a, _: a[2] > 1,
        "renamed": lambda a, _: a[2] > 1,
        "sum": lambda a, _: a[2] > 0,
        "low": lambda a, b: a[2] < b[2] + 1,
        "high": lambda a, b: a[2] < b[2] + 2,
    }
    found = {
        name: sorted(
            (max(a[0], b[0]), a[2] + b[2] if name == "sum" else a[2])
            for a, b in pairs
            if holds(a, b)
        )
        for name, holds in conditions.items()
    }
    return {**found, "alone": sorted((ts, x) for ts, _, x in A if x > 1)}


def delivered(engine: cqc.Engine) -> dict[str, list[tuple[Any, Any]]]:
    found: dict[str, list[tuple[Any, Any]]] = defaultdict(list)
    before: Any = None
    for result in engine.drain():
        if result.at is None:
            found[result.query].append((result.ts, *result.row.values()))
            assert before is None or before <= result.ts
            before = result.ts
    return found


def program() -> cqc.Program:
    return cqc.compile(
        STREAMS + "".join(f"CREATE QUERY {name} AS {text};" for name, text in QUERIES.items())
    )


@pytest.mark.parametrize("sharing", [True, False])
def test_every_query_gets_its_own_rows(sharing: bool) -> None:
    with cqc.Engine(program(), sharing=sharing) as engine:
        engine.push_batch({"a": rows(A), "b": rows(B)})
        found = delivered(engine)
        assert {name: sorted(each) for name, each in found.items()} == expected()
        assert {name: len(each) for name, each in found.items()} == {
            name: count for name, count in engine.result_counts().items() if name != "total"
        }


def test_queries_of_one_select_list_are_one_group() -> None:
    with cqc.Engine(program()) as engine:
        engine.push_batch({"a": rows(A), "b": rows(B)})
        ((groups, _),) = engine.drain_groups()
        joined = [set(group.queries) for group in groups if len(group.queries) > 1]
        assert joined == [{"one", "same", "low", "high"}]
        for group in groups:
            (column,) = group.own_columns()
            assert len(column) == len(group) == group.ends[-1]


@pytest.mark.parametrize("most", [1, 4096])
def test_a_slot_that_is_used_again_has_another_address(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(deliver, "_MOST_CHANGES", most)
    with cqc.Engine(program()) as engine:
        for turn in range(3):
            engine.push_batch({"a": rows(A), "b": rows(B)})
            before = delivered(engine)
            assert before[f"new{turn - 1}"] or not turn
            engine.unregister("same" if not turn else f"new{turn - 1}")
            engine.register("SELECT a.x AS v FROM a WHERE x > 2", name=f"new{turn}")
            engine.register(f"SELECT b.x AS v {JOIN} a.x > 1 MAXWINDOW 50 SEC", name=f"j{turn}")
        engine.push_batch({"a": rows(A), "b": rows(B)})
        found = delivered(engine)
        assert "same" not in found
        assert "new1" not in found
        assert sorted(found["new2"]) == [(3, 4), (5, 3)]
        # A query sees what came after it was registered: this micro-batch alone.
        assert len(found["j2"]) == len(expected()["one"])


def test_the_counts_of_queries_that_left_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cqc.runtime.engine.query_book._MOST_GONE", 3)
    with cqc.Engine(cqc.compile(STREAMS)) as engine:
        for number in range(10):
            handle = engine.register("SELECT x FROM a", name=f"n{number}")
            engine.push("a", [{"ts": number, "k": 1, "x": 1}])
            engine.unregister(handle)
        assert engine.result_counts() == {"n7": 1, "n8": 1, "n9": 1}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x FROM a WHERE 1 / (x - 1) > 0 OR k < x",
        "SELECT a.x AS x FROM a, b WHERE 1 / (a.x - 1) > 0 AND a.k = b.k MAXWINDOW 5 SEC",
        "SELECT a.x AS x FROM a, b WHERE a.k = b.k AND 1 / (a.x - b.x) > 0 MAXWINDOW 5 SEC",
        "SELECT a.x AS x FROM a [ROWS 5], b [ROWS 5] WHERE a.k = b.k AND 1 / (a.x - b.x) > 0",
        "SELECT 1 / (x - 1) AS y FROM a",
    ],
)
def test_failed_evaluations_are_counted_wherever_they_are(query: str) -> None:
    with cqc.Engine(cqc.compile(f"{STREAMS}{query};")) as engine:
        engine.push_batch({"a": rows([(1, 1, 1), (1, 2, 5)]), "b": rows([(1, 1, 1), (1, 2, 5)])})
        engine.finish()
        failed = engine.failed_evaluations
        assert failed >= 1
        engine.unregister("q1")
        assert engine.failed_evaluations == failed


def test_handle_of_a_query_that_is_gone_does_not_reach_the_next_one_of_its_name() -> None:
    engine = cqc.Engine(cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT);"))
    gone = engine.register("SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW")
    engine.unregister(gone)
    there = engine.register("SELECT MAX(x) AS m FROM s BEGIN 0 END NOW")
    assert gone.name == there.name
    for call in (engine.invoke, engine.unregister):
        with pytest.raises(cqc.RunError, match="was unregistered"):
            call(gone)
    assert engine.invoke(there).column_names == ["m"]
    assert engine.invoke(there.name).column_names == ["m"]
