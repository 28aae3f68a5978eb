"""A pull query knows how far its streams are, and gives rows the instant they are for."""

from __future__ import annotations

import pytest

import cqc
from cqc.runtime.deliver.results import results_of

TEXT = (
    "CREATE STREAM a (ts BIGINT, x BIGINT); CREATE STREAM b (ts BIGINT, x BIGINT);"
    "CREATE QUERY q AS SELECT a.x FROM a, b WHERE a.x = b.x BEGIN 0 END NOW MAXWINDOW 60 SEC;"
)


@pytest.fixture
def engine() -> cqc.Engine:
    return cqc.Engine(cqc.compile(TEXT))


def test_it_is_asked_for_the_latest_time_on_any_of_its_streams(engine: cqc.Engine) -> None:
    assert engine.ask("q").at_us is None
    engine.push("a", [{"ts": 5, "x": 1}])
    engine.push("b", [{"ts": 3, "x": 1}])
    asked = engine.ask("q")
    assert asked.at_us == 5_000_000
    assert asked.warnings == ()
    assert asked.block.times_us.tolist() == [5_000_000]


def test_rows_of_an_answer_have_the_names_and_the_instant(engine: cqc.Engine) -> None:
    for name in "ab":
        engine.push(name, [{"ts": 1, "x": 7}])
    block = engine.answer_at("q", 9_000_000)
    assert (block.query, block.names, block.is_at) == ("q", ("x",), True)
    assert [(result.at, result.row) for result in results_of([block])] == [(9, {"x": 7})]
