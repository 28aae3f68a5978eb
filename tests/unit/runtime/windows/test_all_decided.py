"""Queries with BEGIN-END over views of windows and OVER: the rows are those that there would be if the input ended now."""

from __future__ import annotations

import cqc

PROGRAM = """
CREATE STREAM s (ts BIGINT, k STRING);
CREATE VIEW counted AS SELECT k, COUNT(*) AS n, window_end FROM TUMBLE(s, 10 SEC) GROUP BY window_end, k;
CREATE QUERY asked AS SELECT k, n FROM counted BEGIN 0 END 100;
"""


def answer(engine: cqc.Engine) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in engine.invoke("asked").to_pylist())


def test_undecided_windows_count_as_if_the_input_ended_now() -> None:
    engine = cqc.Engine(cqc.compile(PROGRAM))
    assert answer(engine) == []
    engine.push("s", [{"ts": 1, "k": "a"}, {"ts": 2, "k": "b"}])
    assert answer(engine) == [("a", 1), ("b", 1)]
    engine.push("s", [{"ts": 3, "k": "a"}, {"ts": 14, "k": "a"}])
    assert answer(engine) == [("a", 1), ("a", 2), ("b", 1)]


def test_asking_changes_nothing_for_the_next_question() -> None:
    engine = cqc.Engine(cqc.compile(PROGRAM))
    engine.push("s", [{"ts": 1, "k": "a"}])
    assert answer(engine) == answer(engine) == [("a", 1)]
