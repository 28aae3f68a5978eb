from __future__ import annotations

import cqc

DECLARED = "CREATE STREAM s (ts BIGINT, k STRING, x BIGINT);"
COUNTS = "SELECT COUNT(*) AS n FROM TUMBLE(s, 10 SEC) GROUP BY window_end"


def push(engine: cqc.Engine, *times: int) -> list[tuple[str, object, object]]:
    engine.push("s", [{"ts": ts, "k": "a", "x": 1} for ts in times])
    return [(each.query, each.at, each.row["n"]) for each in engine.drain()]


def test_a_query_sees_the_tuples_after_its_registration() -> None:
    engine = cqc.Engine(cqc.compile(DECLARED + COUNTS))
    push(engine, 1, 2)
    engine.register(COUNTS, name="later")
    push(engine, 3)
    assert push(engine, 10) == [("q1", 10, 3), ("later", 10, 1)]


def test_queries_that_came_at_different_times_stay_apart_after_a_restart() -> None:
    program = cqc.compile(DECLARED + COUNTS)
    engine = cqc.Engine(program)
    push(engine, 1, 2)
    engine.register(COUNTS, name="later")
    push(engine, 3)
    snapshot = engine.snapshot()
    engine = cqc.Engine(program)
    engine.restore(snapshot)
    assert engine.result_counts() == {"q1": 0, "later": 0}
    assert sorted(push(engine, 10)) == [("later", 10, 1), ("q1", 10, 3)]
    engine.unregister("q1")
    assert push(engine, 20) == [("later", 20, 1)]


def test_results_are_counted_without_being_collected() -> None:
    text = "SELECT w.k, COUNT(*) AS n FROM TUMBLE(s, 10 SEC) w, t WHERE w.k = t.k GROUP BY w.window_end, w.k"
    program = cqc.compile(f"{DECLARED} CREATE TABLE t (k STRING); {text}")
    engine = cqc.Engine(program, collect=False)
    engine.push("t", [{"k": "a"}, {"k": "a"}])
    push(engine, 1, 2)
    engine.finish()
    assert engine.result_counts() == {"q1": 1}
