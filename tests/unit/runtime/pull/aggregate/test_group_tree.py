"""Trees over groups answer windows as a walk over all rows does."""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random
from typing import Any

import pytest

import cqc

TEXT = "CREATE STREAM s (ts BIGINT, k STRING, x BIGINT, name STRING);"
QUERY = (
    "SELECT k, COUNT(*) AS n, SUM(x) AS t, MIN(name) AS first, COUNT(DISTINCT x) AS d"
    " FROM s BEGIN NOW - 15 END NOW GROUP BY k"
)


def expected(rows: list[dict[str, Any]], at: int) -> list[tuple[Any, ...]]:
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if at - 15 <= row["ts"] <= at:
            groups[row["k"]].append(row)
    return sorted(
        (
            key,
            len(own),
            sum(row["x"] for row in own),
            min(row["name"] for row in own),
            len(Counter(row["x"] for row in own)),
        )
        for key, own in groups.items()
    )


@pytest.mark.parametrize("seed", range(4))
def test_any_window_at_any_time_whatever_the_order_of_arrival(seed: int) -> None:
    rng = Random(seed)
    text = TEXT.replace("name STRING", "name STRING, WATERMARK FOR ts AS ts - 1 HOUR")
    engine = cqc.Engine(cqc.compile(f"SET RETENTION = 2 HOURS; {text} CREATE QUERY q AS {QUERY};"))
    seen: list[dict[str, Any]] = []
    for step in range(12):
        rows = [
            {
                "ts": step * 5 + rng.randint(-20, 5),
                "k": rng.choice("ab"),
                "x": rng.randint(-3, 3),
                "name": rng.choice(["é", "z", "", "mm"]),
            }
            for _ in range(rng.choice([1, 12]))
        ]
        engine.push("s", rows)
        seen += rows
        for at in rng.sample(range(-5, 60), 4):
            found = engine.invoke("q", at=at).to_pylist()
            assert sorted(tuple(row.values()) for row in found) == expected(seen, at)
    (kept,) = engine._pulls.kept.bodies.values()
    assert kept.tree_count >= 1


def test_groups_whose_rows_are_all_forgotten_do_not_come_back() -> None:
    engine = cqc.Engine(
        cqc.compile(f"SET RETENTION = 10 SECONDS; {TEXT} CREATE QUERY q AS {QUERY};")
    )
    for at in range(0, 200, 20):
        engine.push("s", [{"ts": at, "k": f"k{at}", "x": 1, "name": "n"}])
        assert [row["k"] for row in engine.invoke("q").to_pylist()] == [f"k{at}"]
