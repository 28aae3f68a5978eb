"""Queries with OVER that differ in their filters alone answer as each alone would, from one holder."""

from __future__ import annotations

import json

import pytest

import cqc
from cqc.runtime.engine.snapshot import EngineState, Snapshot

STREAM = "CREATE STREAM s (ts BIGINT, k STRING, x BIGINT, WATERMARK FOR ts AS ts - 2 SECONDS);\n"
TIMES = [0, 1, 1, 3, 2, 5, 6, 6, 6, 9, 10, 14, 15, 15, 16]
VALUES = [5, 1, 4, 4, None, 2, 9, 9, 3, 1, 7, 7, 2, 8, 8]
ROWS = [(ts, "abcd"[at * 7 % 4], VALUES[at]) for at, ts in enumerate(TIMES)]
SHOWN = {
    "before": "k, x, LAG(x) OVER (PARTITION BY k) AS v",
    "numbers": "k, ROW_NUMBER() OVER (PARTITION BY k) AS v",
    "sums": "k, SUM(x) OVER (PARTITION BY k ORDER BY ts RANGE 4 SECONDS PRECEDING) AS v",
    "rows": "SUM(x) OVER (ROWS 2 PRECEDING) AS v",
    "firsts": "k, FIRST_VALUE(x) OVER (PARTITION BY k ROWS UNBOUNDED PRECEDING) AS v",
    "totals": "k, MAX(x) OVER (PARTITION BY k RANGE UNBOUNDED PRECEDING) AS v, LAG(k) OVER () AS l",
    "kinds": "k, COUNT(DISTINCT x) OVER (RANGE 5 SECONDS PRECEDING) AS v",
}
FILTERS = ["", "WHERE k <> 'a'", "WHERE k <> 'b'", "WHERE x > 3", "WHERE x > 4", "WHERE x IS NULL"]


def program(shown: str, filters: list[str], idle: str = "") -> str:
    queries = [
        f"CREATE QUERY q{FILTERS.index(where)} AS SELECT {SHOWN[shown]} FROM s {where} QUALIFY v IS NOT NULL;\n"
        for where in filters
    ]
    return idle + STREAM + "".join(queries)


def run(text: str, *, size: int = 1, restart: bool = False) -> list[tuple[object, ...]]:
    engine = cqc.Engine(cqc.compile(text))
    found: list[tuple[object, ...]] = []
    for at in range(0, len(ROWS), size):
        rows = ROWS[at : at + size]
        engine.push("s", [{"ts": ts, "k": k, "x": x} for ts, k, x in rows])
        found += [(each.query, each.ts, *each.row.values()) for each in engine.drain()]
        if restart:
            snapshot = engine.snapshot()
            state = EngineState.from_json(json.loads(json.dumps(snapshot.state.to_json())))
            engine = cqc.Engine(cqc.compile(text))
            engine.restore(Snapshot(state, snapshot.tuples))
    engine.finish()
    found += [(each.query, each.ts, *each.row.values()) for each in engine.drain()]
    return sorted(found, key=repr)


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize("idle", ["", "SET KEY_IDLE = 3 SECONDS;\n"])
@pytest.mark.parametrize(("size", "restart"), [(1, False), (4, False), (4, True)])
def test_together_as_each_alone(shown: str, idle: str, size: int, restart: bool) -> None:
    alone = [row for where in FILTERS for row in run(program(shown, [where], idle), size=15)]
    assert len(alone) > 4
    assert run(program(shown, FILTERS, idle), size=size, restart=restart) == sorted(alone, key=repr)


def test_queries_that_come_and_go_have_nothing_of_one_another() -> None:
    engine = cqc.Engine(cqc.compile(STREAM))
    text = "SELECT k, LAG(x) OVER (PARTITION BY k) AS v FROM s WHERE x > {}"
    engine.register(text.format(0), "zero")
    engine.register(text.format(1), "one")
    engine.push("s", [{"ts": 1, "k": "a", "x": 5}])
    engine.push("s", [{"ts": 10, "k": "b", "x": 5}])
    engine.unregister("zero")
    engine.register(text.format(2), "two")  # which takes the place of the one that left
    engine.push("s", [{"ts": 20, "k": "a", "x": 6}])
    engine.finish()
    found = [(each.query, each.ts, each.row["v"]) for each in engine.drain()]
    assert sorted(found, key=repr) == [
        ("one", 1, None),
        ("one", 10, None),
        ("one", 20, 5),
        ("two", 20, None),
        ("zero", 1, None),
    ]
