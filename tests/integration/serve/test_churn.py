"""Queries come and go over rows that come and go: what is kept goes with them."""

from __future__ import annotations

import random

import pytest

import cqc

PROGRAM = """
CREATE STREAM s (ts BIGINT, k BIGINT, x DOUBLE, name STRING);
CREATE STREAM r (ts BIGINT, k BIGINT, y DOUBLE);
SET RETENTION = 20 SEC;
"""
TEXTS = (
    "SELECT x FROM s WHERE x > {c}",
    "SELECT a.x AS x FROM s a, r b WHERE a.k = b.k AND a.x > {c} MAXWINDOW 10 SEC",
    "SELECT a.x AS x FROM s a, r b WHERE a.k = b.k AND a.x < {c} * b.y MAXWINDOW 5 SEC",
    "SELECT k, COUNT(*) AS n FROM s WHERE x > {c} BEGIN NOW - 10 SEC END NOW GROUP BY k",
    "SELECT COUNT(*) AS n FROM s a, r b WHERE a.k = b.k AND a.x > {c} BEGIN NOW - 10 SEC END NOW EVERY 5 SEC",
    "SELECT a.name AS x FROM s [ROWS 5] a, r b WHERE a.k = b.k AND b.y > {c} MAXWINDOW 3 SEC",
)


def churn(queries: int, turns: int, rows: int) -> list[tuple[int, int]]:
    """So many queries come and go in each turn, with so many rows; the bytes of state and of the rest, full and at the end."""
    chance = random.Random(1)
    engine = cqc.Engine(cqc.compile(PROGRAM), collect=False)
    alive: list[str] = []
    number = now = 0

    def push(count: int) -> None:
        engine.push_batch({
            "s": [{"ts": now, "k": chance.randrange(99), "x": chance.random(), "name": "n" * 40} for _ in range(count)],
            "r": [{"ts": now, "k": chance.randrange(99), "y": chance.random()} for _ in range(count)],
        })  # fmt: skip

    def sizes() -> tuple[int, int]:
        states = sum(size for _, size in engine.state_sizes().values())
        return states, sum(engine.kept_bytes().values())

    found = []
    for _ in range(turns):
        while len(alive) < queries:
            number += 1
            alive.append(f"q{number}")
            engine.register(chance.choice(TEXTS).format(c=round(chance.random(), 3)), alive[-1])
        for _ in range(5):
            now += 2
            push(rows)
        found.append(sizes())
        chance.shuffle(alive)
        while len(alive) > queries // 8:
            engine.unregister(alive.pop())
    for _ in range(3):
        now += 100
        push(5)
        for name in engine.queries:
            if engine.node(name).pull is not None:
                engine.invoke(name)
    found.append(sizes())
    return found


def test_what_churn_leaves_is_small() -> None:
    *full, (states, kept) = churn(queries=24, turns=2, rows=600)
    assert states < max(each for each, _ in full) / 4
    assert kept < max(each for _, each in full)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_churn_does_not_grow_with_time() -> None:
    *full, (states, _) = churn(queries=300, turns=12, rows=1_500)
    assert max(each for each, _ in full[8:]) <= 1.5 * max(each for each, _ in full[2:5])
    assert states < full[-1][0] / 4


def test_warnings_of_queries_that_come_and_go_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cqc.runtime.pull.retention._MOST_WARNINGS", 3)
    engine = cqc.Engine(cqc.compile(PROGRAM), collect=False)
    for number in range(9):
        engine.push("r", [{"ts": 100 * number, "k": 1, "y": 1.0}])
        engine.register("SELECT COUNT(*) AS n FROM r BEGIN 0 END NOW", f"q{number}")
        engine.invoke(f"q{number}")
        engine.unregister(f"q{number}")
    assert [warning.split()[1] for warning in engine.warnings] == ["q6", "q7", "q8"]
