"""Queries come and go over rows that come and go: what is kept goes with them."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import cqc
from cqc.runtime.intake.typed_batch import Intake
from cqc.runtime.serve.memory_return import MemoryReturn
from cqc.runtime.serve.service import Service

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
    "SELECT COUNT(*) AS n FROM s a, r b WHERE a.k = b.k AND a.x > {c} MAXWINDOW 2 SEC BEGIN NOW - 9 SEC END NOW EVERY 5 SEC",
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
        states = sum(each.bytes for each in engine.state_sizes().values())
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
@pytest.mark.timeout(900)
def test_churn_does_not_grow_with_time() -> None:
    """Twelve times as many queries and rows as are there at once; the end of it is no larger than its beginning."""
    *full, (states, kept) = churn(queries=120, turns=12, rows=300)
    for early, late in zip(zip(*full[2:5], strict=True), zip(*full[8:], strict=True), strict=True):
        assert max(late) <= 1.5 * max(early)
    assert states < full[-1][0] / 4
    assert kept < full[-1][1] / 4


def test_memory_of_kept_results_goes_back_with_their_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only that of tuples: results of BEGIN-END queries over joins are most of what a service has."""
    monkeypatch.setattr("cqc.runtime.serve.memory_return._WORTH_IT", 100_000)
    service = Service(cqc.compile(PROGRAM))
    given_back: list[int] = []
    service._memory = MemoryReturn(lambda: given_back.append(service.engine.history_bytes()))
    service.register(
        "SELECT a.x AS x, b.y AS y FROM s a, r b WHERE a.k = b.k MAXWINDOW 9 SEC BEGIN 0 END NOW",
        "kept",
    )
    columns = {"ts": [1] * 200, "k": [1] * 200}
    for stream, last in (("s", {"x": [0.5] * 200, "name": ["n"] * 200}), ("r", {"y": [0.5] * 200})):
        rows = service.engine.lines[stream].relation
        service.take(stream, Intake(rows).take(pa.table(columns | last)))
    assert service.engine.history_bytes() > 100_000
    service.invoke("kept")  # what was found becomes the query's own
    assert service.engine.history_bytes("kept") > 100_000
    assert given_back == []
    service.unregister("kept")
    assert given_back == [0]
    service.close()


def test_memory_goes_back_after_many_small_queries_too() -> None:
    service = Service(cqc.compile(PROGRAM))
    given_back: list[str] = []
    service._memory = MemoryReturn(lambda: given_back.append("now"))
    for number in range(600):
        service.register(f"SELECT x FROM s WHERE x > {number}", f"q{number}")
    for number in range(600):
        service.unregister(f"q{number}")
    assert given_back == ["now"]
    service.close()


def test_warnings_of_queries_that_come_and_go_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cqc.runtime.pull.retention._MOST_WARNINGS", 3)
    engine = cqc.Engine(cqc.compile(PROGRAM), collect=False)
    for number in range(9):
        engine.push("r", [{"ts": 100 * number, "k": 1, "y": 1.0}])
        engine.register("SELECT COUNT(*) AS n FROM r BEGIN 0 END NOW", f"q{number}")
        engine.invoke(f"q{number}")
        engine.unregister(f"q{number}")
    assert [warning.split()[1] for warning in engine.warnings] == ["q6", "q7", "q8"]
