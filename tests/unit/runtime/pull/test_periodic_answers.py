"""Answers by EVERY: all that is due, together, without those that take too long."""

from __future__ import annotations

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.pull import periodic_answers

TEXT = "CREATE STREAM s (ts BIGINT, x BIGINT);"
COUNT = "SELECT COUNT(*) AS n FROM s BEGIN AFTER NOW - 2 END NOW EVERY 2 SEC"


def rows(*numbers: int) -> list[dict[str, int]]:
    return [{"ts": number, "x": number} for number in numbers]


def found(engine: cqc.Engine) -> list[tuple[str, int, int]]:
    return [(result.query, result.at, result.row["n"]) for result in engine.drain()]


def engine(**queries: str) -> cqc.Engine:
    running = cqc.Engine(cqc.compile(TEXT))
    for name, query in queries.items():
        running.register(query, name)
    return running


def test_all_instants_that_are_due_are_answered_however_few_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(periodic_answers, "_INSTANTS_AT_ONCE", 2)
    running = engine(a=COUNT)
    running.push("s", rows(*range(12)))
    assert found(running) == [("a", at, 1 if at == 0 else 2) for at in range(0, 11, 2)]
    assert running.result_counts() == {"a": 6}


def test_queries_of_one_clause_have_their_part_of_its_time() -> None:
    running = engine(a=COUNT, b=COUNT.replace("EVERY 2", "EVERY 1"))
    running.push("s", rows(*range(9)))
    seconds = {name: running.seconds_of(name) for name in ("a", "b")}
    assert 0 < seconds["a"] < seconds["b"]
    assert running.credited_seconds == pytest.approx(sum(seconds.values()))


def test_a_query_that_takes_too_long_is_silenced_and_the_others_are_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running = engine(wide=COUNT.replace("NOW - 2", "NOW - 50"), narrow=COUNT)
    running.bound(found=1000, past=1000, seconds=1.0)
    asked = []

    def processor() -> float:
        asked.append(len(running._pulls._periodic._silenced))
        return 0.0 if asked[-1] else 2.0 * len(asked)  # too long, until one is left out

    monkeypatch.setattr(running.watch, "processor", processor)
    running.push("s", rows(*range(9)))
    assert {query for query, _, _ in found(running)} == {"narrow"}
    silenced = running.take_silenced()
    assert list(silenced) == ["wide"]
    assert running.take_silenced() == {}


def test_a_leap_of_time_is_refused_before_it_is_answered() -> None:
    running = engine(a=COUNT)
    running.bound_instants(10)
    running.push("s", rows(1))
    with pytest.raises(RunError, match="query a would answer"):
        running.push("s", rows(1000, 1001))
