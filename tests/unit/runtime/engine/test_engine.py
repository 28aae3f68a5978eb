"""The engine as its users see it: rows in, results out, queries come and go, and another engine goes on."""

from __future__ import annotations

import pytest

import cqc
from cqc.runtime.errors import RunError

DECLARED = "CREATE STREAM s (ts BIGINT, x BIGINT); CREATE TABLE t (x BIGINT, name STRING);"


def rows(*numbers: int) -> list[dict[str, int]]:
    return [{"ts": number, "x": number} for number in numbers]


def found(engine: cqc.Engine) -> list[tuple[str, int]]:
    return [(result.query, result.row["x"]) for result in engine.drain()]


def test_each_result_is_drained_once_and_a_half_read_drain_goes_on() -> None:
    with cqc.Engine(cqc.compile(DECLARED + "SELECT x FROM s")) as engine:
        engine.push("s", rows(1, 2, 3))
        assert next(engine.drain()).row == {"x": 1}
        assert found(engine) == [("q1", 2), ("q1", 3)]
        assert found(engine) == []


def test_a_closed_engine_takes_nothing_and_still_gives_what_it_has() -> None:
    engine = cqc.Engine(cqc.compile(DECLARED + "SELECT x FROM s"))
    engine.push("s", rows(1))
    engine.close()
    engine.close()
    with pytest.raises(RunError, match="closed"):
        engine.push("s", rows(2))
    assert found(engine) == [("q1", 1)]


def test_rows_are_typed_before_they_are_given() -> None:
    engine = cqc.Engine(cqc.compile(DECLARED + "SELECT x FROM s"))
    typed = engine.typed({"S": rows(1, 2)})
    assert engine.tuples_read == 0
    engine.push_typed(typed)
    assert engine.stream_counts()["s"].read == 2
    with pytest.raises(RunError, match="twice"):
        engine.typed({"s": rows(1), "S": rows(2)})


def test_a_query_that_was_compiled_elsewhere_runs_like_any_other() -> None:
    program = cqc.compile(DECLARED + "CREATE QUERY big AS SELECT x FROM s WHERE x > 1;")
    engine = cqc.Engine(cqc.compile(DECLARED))
    handle = engine.register_compiled(program.normal("big"))
    engine.push("s", rows(1, 2))
    assert found(engine) == [("big", 2)]
    engine.unregister(handle)
    assert engine.queries == ()


def test_a_table_cannot_be_filled_after_the_first_tuple_of_a_stream() -> None:
    program = cqc.compile(DECLARED + "SELECT s.x FROM s, t WHERE s.x = t.x")
    engine = cqc.Engine(program)
    engine.push("t", [{"x": 1, "name": "one"}])
    engine.push("s", rows(1, 2))
    assert found(engine) == [("q1", 1)]
    with pytest.raises(RunError, match="table t cannot be filled"):
        engine.push("t", [{"x": 2, "name": "two"}])


def test_another_engine_goes_on_from_a_snapshot_alone() -> None:
    text = (
        DECLARED + "CREATE QUERY pairs AS SELECT a.x FROM s a, s b WHERE a.x = b.x MAXWINDOW 9 SEC;"
    )
    one = cqc.Engine(cqc.compile(text))
    one.push("s", rows(1, 2))
    late = one.register("SELECT x FROM s", "late")
    one.push("s", rows(3))
    before = found(one)
    other = cqc.Engine(cqc.compile(text))
    other.restore(one.snapshot())
    assert found(other) == []
    assert other.result_counts() == one.result_counts()
    assert before[-1] == (late.name, 3)
    for engine in (one, other):
        engine.push("s", [{"ts": 4, "x": 3}, {"ts": -1, "x": 7}])
    assert sorted(found(other)) == sorted(found(one))
    assert other.stream_counts() == one.stream_counts()
    assert other.snapshot().state == one.snapshot().state


def test_a_restored_engine_has_the_queries_of_the_snapshot_and_no_others() -> None:
    one = cqc.Engine(cqc.compile(DECLARED + "CREATE QUERY a AS SELECT x FROM s;"))
    one.unregister("a")
    other = cqc.Engine(cqc.compile(DECLARED + "CREATE QUERY b AS SELECT x FROM s;"))
    other.restore(one.snapshot())
    assert other.queries == ()
    assert other.result_counts() == {"a": 0}


def test_what_compile_warns_of_is_told_of_a_query_that_is_registered() -> None:
    engine = cqc.Engine(cqc.compile("CREATE STREAM s (ts BIGINT, room STRING, x BIGINT);"))
    silent = engine.register("CREATE ALERT hot AS SELECT room FROM s WHERE x > 26 PER room")
    assert silent.warnings == (
        "a key of alert hot that falls silent fires for ever: Add `NO DATA AFTER 15 MINUTES`.",
    )
    ended = "CREATE ALERT warm AS SELECT room FROM s WHERE x > 26 PER room NO DATA AFTER 1 MINUTE"
    assert engine.register(ended).warnings == ()
