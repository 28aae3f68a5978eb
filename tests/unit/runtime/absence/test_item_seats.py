"""Tuples that wait are told by the filter of the join that marks them, where both ask for the same."""

from __future__ import annotations

from typing import Any

import pytest

import cqc
from cqc.runtime.absence.item_seats import ItemSeat, item_filtered_alike

DECLARATIONS = """
CREATE STREAM A (ts BIGINT, k BIGINT, x BIGINT);
CREATE STREAM B (ts BIGINT, k BIGINT, x BIGINT);
"""
EXISTS = """CREATE QUERY q AS SELECT A.ts, A.k FROM A WHERE A.x > 5 AND NOT EXISTS
(SELECT 1 FROM B WHERE B.k = A.k{more} WINDOW B.ts >= A.ts AND B.ts <= A.ts + 10);"""
OUTER = """CREATE QUERY q AS SELECT A.ts, A.k FROM A LEFT JOIN B ON B.k = A.k AND {more} AND B.ts >= A.ts AND B.ts <= A.ts + 10
WHERE B.k IS NULL;"""


def alike(query: str) -> list[int | None]:
    patterns = cqc.compile(DECLARATIONS + query).normal("q").patterns
    (pattern,) = (each for each in patterns if each.guards)
    (guard,) = pattern.guards
    return [item_filtered_alike(pattern, mark) for mark in guard.marks]


def test_patterns_are_alike_by_their_filters_on_the_stream() -> None:
    (at,) = alike(EXISTS.format(more=""))
    assert at == 0
    assert alike(EXISTS.format(more=" AND A.x < 9")) == [None]
    assert alike(OUTER.format(more="A.x > 5")) == [None]
    assert alike(OUTER.format(more="B.x > 5")) == [0]


def answer(
    queries: str, rows: list[dict[str, list[dict[str, Any]]]], **options: Any
) -> tuple[cqc.Engine, list[tuple[Any, ...]]]:
    engine = cqc.Engine(cqc.compile(DECLARATIONS + queries), **options)
    for batch in rows:
        engine.push_batch(batch)
    engine.finish()
    return engine, sorted(((each.query, *each.row.values()) for each in engine.drain()), key=str)


ROWS: list[dict[str, list[dict[str, Any]]]] = [
    {
        "A": [{"ts": 1, "k": 1, "x": 6}, {"ts": 2, "k": None, "x": 7}, {"ts": 3, "k": 2, "x": 5}],
        "B": [{"ts": 2, "k": 1, "x": 1}],
    },
    # Hardly any tuple is wanted, and one that is has no key.
    {
        "A": [{"ts": 20, "k": None if at == 7 else at, "x": 9 if at > 7 else 0} for at in range(9)]
        + [{"ts": 21, "k": None, "x": 8}]
    },
    {"A": [{"ts": 50, "k": at, "x": 9} for at in range(3)], "B": [{"ts": 51, "k": 1, "x": 0}]},
]


@pytest.mark.parametrize("keep_past", [True, False])
def test_tuples_without_a_key_are_missing_too(keep_past: bool) -> None:
    engine, found = answer(EXISTS.format(more=""), ROWS, keep_past=keep_past)
    assert found == [("q", 2, None), ("q", 20, 8), ("q", 21, None), ("q", 50, 0), ("q", 50, 2)]
    seats = [seat for _, seat, _ in engine.absent.queries["q"].parts]
    assert [isinstance(seat, ItemSeat) for seat in seats] == [False, True]


def test_other_queries_over_the_stream_and_late_ones_get_theirs() -> None:
    others = "CREATE QUERY plain AS SELECT A.ts, A.k FROM A WHERE A.x > 5;\n"
    _, found = answer(others + EXISTS.format(more=""), ROWS[:1])
    assert found == [("plain", 1, 1), ("plain", 2, None), ("q", 2, None)]
    engine = cqc.Engine(cqc.compile(DECLARATIONS))
    engine.register(EXISTS.format(more="").replace("QUERY q", "QUERY first"))
    engine.push_batch(ROWS[0])
    engine.register(EXISTS.format(more="").replace("QUERY q", "QUERY second"))
    engine.push_batch(ROWS[1])
    engine.unregister("first")
    engine.push_batch(ROWS[2])
    engine.finish()
    rows = sorted(((each.query, *each.row.values()) for each in engine.drain()), key=str)
    assert [row[1:] for row in rows if row[0] == "second"] == [
        (20, 8), (21, None), (50, 0), (50, 2),
    ]  # fmt: skip


def test_each_query_by_itself_gives_the_same() -> None:
    queries = EXISTS.format(more="") + EXISTS.format(more=" AND B.x > 0").replace(
        "QUERY q", "QUERY r"
    )
    _, together = answer(queries, ROWS[2:])
    assert together == [("q", 50, 0), ("q", 50, 2), ("r", 50, 0), ("r", 50, 1), ("r", 50, 2)]
