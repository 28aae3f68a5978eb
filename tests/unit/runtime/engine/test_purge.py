"""Tuples are forgotten when nothing can meet them any more, and not after every micro-batch."""

from __future__ import annotations

import cqc

JOIN = (
    "CREATE STREAM a (ts BIGINT, k BIGINT); CREATE STREAM b (ts BIGINT, k BIGINT);"
    "CREATE QUERY j AS SELECT a.k FROM a, b WHERE a.k = b.k MAXWINDOW 10 SEC;"
)


def push(engine: cqc.Engine, *seconds: int) -> None:
    rows = [{"ts": second, "k": 1} for second in seconds]
    engine.push_batch({"a": rows, "b": rows})


def test_what_no_future_tuple_can_meet_goes() -> None:
    engine = cqc.Engine(cqc.compile(JOIN), keep_past=False)
    push(engine, 1, 2)
    push(engine, 100)
    assert {name: len(state) for name, state in engine.states.items()} == {"a": 1, "b": 1}


def test_little_more_than_after_the_last_time_is_not_worth_a_look() -> None:
    engine = cqc.Engine(cqc.compile(JOIN), keep_past=False)
    push(engine, *range(100, 110))
    push(engine, 150)  # 22 are kept, then 2
    push(engine, 200)  # 4 of 2: worth it
    assert len(engine.states["a"]) == 1
    engine = cqc.Engine(cqc.compile(JOIN), keep_past=False)
    push(engine, *[100] * 40)
    push(engine, 200)  # an eighth of 80 is 10: the 80 of before stay for now
    assert len(engine.states["a"]) == 41


def test_a_query_that_leaves_makes_the_next_look_worth_it() -> None:
    engine = cqc.Engine(cqc.compile(JOIN), keep_past=False)
    engine.register("SELECT a.k FROM a, b WHERE a.k = b.k MAXWINDOW 500 SEC", "long")
    push(engine, *[100] * 40)
    engine.unregister("long")
    push(engine, 200)
    assert len(engine.states["a"]) == 1


def test_what_a_pull_query_may_ask_for_stays() -> None:
    pull = "CREATE QUERY p AS SELECT COUNT(*) AS n FROM a BEGIN NOW - 60 END NOW;"
    engine = cqc.Engine(cqc.compile("SET RETENTION = 60 SECONDS;" + JOIN + pull), keep_past=False)
    push(engine, 1, 50)
    push(engine, 100)
    assert engine.states["a"].packet().ts_us.tolist() == [50_000_000, 100_000_000]
    assert len(engine.states["b"]) == 1
