"""Queries over windows that differ in their filters alone answer as each alone would, from one holder."""

from __future__ import annotations

import json

import pytest

import cqc
from cqc.runtime.engine.snapshot import EngineState, Snapshot

STREAM = "CREATE STREAM s (ts BIGINT, k STRING, x BIGINT, WATERMARK FOR ts AS ts - 2 SECONDS);\n"
ROWS = [
    (at, "abcd"[at * 7 % 4], x)
    for at, x in enumerate([5, 1, 4, 4, None, 2, 9, 9, 3, 1, 7, 7, 2, 8, 8])
]
CLAUSES = {
    "top groups, filters of keys": (
        "k, COUNT(*) AS n",
        "HOP(s, 2 SEC, 6 SEC)",
        "GROUP BY k, window_end QUALIFY RANK() OVER (PARTITION BY window_end ORDER BY n DESC) = 1",
    ),
    "groups": ("k, SUM(x) AS t, window_end", "TUMBLE(s, 5 SEC)", "GROUP BY window_end, k"),
    "groups with HAVING": (
        "SUM(x) AS t",
        "HOP(s, 1 SEC, 5 SEC)",
        "GROUP BY window_end HAVING t > 9",
    ),
    "first rows": (
        "k, x",
        "TUMBLE(s, 5 SEC)",
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY window_end ORDER BY x DESC, k, ts) <= 2",
    ),
    "all rows": ("k, x, SUM(x) OVER (PARTITION BY window_end) AS t", "TUMBLE(s, 5 SEC)", ""),
    "limited": ("k, MAX(x) AS m", "TUMBLE(s, 5 SEC)", "GROUP BY window_end, k ORDER BY m LIMIT 1"),
}
FILTERS = ["", "WHERE k <> 'a'", "WHERE k <> 'b'", "WHERE x > 3", "WHERE x > 4", "WHERE x IS NULL"]


def query(clause: str, where: str) -> str:
    shown, source, rest = CLAUSES[clause]
    return f"SELECT {shown} FROM {source} {where} {rest}"


def program(clause: str, filters: list[str]) -> str:
    queries = [f"CREATE QUERY q{FILTERS.index(w)} AS {query(clause, w)};\n" for w in filters]
    return STREAM + "".join(queries)


def run(text: str, *, size: int = 1, restart: bool = False) -> list[tuple[object, ...]]:
    engine = cqc.Engine(cqc.compile(text))
    found: list[tuple[object, ...]] = []

    def collect() -> None:
        for each in engine.drain():
            time = each.ts if each.at is None else each.at
            found.append((each.query, time, *each.row.values()))

    for at in range(0, len(ROWS), size):
        engine.push(
            "s", [dict(zip(("ts", "k", "x"), r, strict=True)) for r in ROWS[at : at + size]]
        )
        collect()
        if restart:
            snapshot = engine.snapshot()
            state = EngineState.from_json(json.loads(json.dumps(snapshot.state.to_json())))
            engine = cqc.Engine(cqc.compile(text))
            engine.restore(Snapshot(state, snapshot.tuples))
    engine.finish()
    collect()
    return sorted(found, key=repr)


@pytest.mark.parametrize("clause", CLAUSES)
@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("size", [1, 4])
def test_together_as_alone(clause: str, restart: bool, size: int) -> None:
    alone = [row for where in FILTERS for row in run(program(clause, [where]))]
    assert run(program(clause, FILTERS), size=size, restart=restart) == sorted(alone, key=repr)


@pytest.mark.parametrize("clause", CLAUSES)
def test_queries_come_and_go(clause: str) -> None:
    """One that comes sees only rows from then on, also in the place of one that left."""
    engine = cqc.Engine(cqc.compile(program(clause, FILTERS[:4])))
    other = cqc.Engine(cqc.compile(STREAM))
    for at, row in enumerate(ROWS):
        if at == 6:
            engine.unregister("q1")
            engine.register(query(clause, FILTERS[4]), name="new")
            other.register(query(clause, FILTERS[4]), name="new")
        for each in (engine, other):
            each.push("s", [dict(zip(("ts", "k", "x"), row, strict=True))])
    results = []
    for each in (engine, other):
        each.finish()
        found = [r for r in each.drain() if r.query == "new"]
        results.append([(r.ts if r.at is None else r.at, *r.row.values()) for r in found])
    assert sorted(results[0], key=repr) == sorted(results[1], key=repr)
    assert results[0]


def test_many_audiences_are_forgotten_again() -> None:
    """Sets of queries that no waiting row has any more are given up."""
    filters = [f"WHERE x > {at}" for at in range(1500)]
    queries = "".join(
        f"CREATE QUERY q{at} AS SELECT COUNT(*) AS n FROM TUMBLE(s, 1 SEC) {where} GROUP BY window_end;\n"
        for at, where in enumerate(filters)
    )
    engine = cqc.Engine(cqc.compile(STREAM + queries))
    found = 0
    for begin in range(0, 2_000, 100):
        engine.push("s", [{"ts": at, "k": "a", "x": at % 1500} for at in range(begin, begin + 100)])
        found += sum(1 for _ in engine.drain())
    engine.finish()
    found += sum(1 for _ in engine.drain())
    assert found == sum(at % 1500 for at in range(2_000))
