"""Views with outer joins are asked about as if the input ended now, and go on as if nobody had asked."""

from __future__ import annotations

import cqc

PROGRAM = """
CREATE STREAM o (ts BIGINT, id BIGINT);
CREATE STREAM p (ts BIGINT, id BIGINT);
CREATE VIEW unpaid AS SELECT o.id FROM o LEFT JOIN p ON o.id = p.id WHERE p.id IS NULL WINDOW p.ts BETWEEN o.ts AND o.ts + 10;
CREATE QUERY told AS SELECT ts, id FROM unpaid;
CREATE QUERY asked AS SELECT ts, id FROM unpaid BEGIN 0 END NOW;
CREATE QUERY to_come AS SELECT ts, id FROM unpaid BEGIN 0 END NOW + 100;
"""


def test_undecided_rows_count_for_who_asks_and_not_for_who_is_told() -> None:
    engine = cqc.Engine(cqc.compile(PROGRAM))
    engine.push("o", [{"ts": 1, "id": 1}, {"ts": 2, "id": 2}])
    engine.push("p", [{"ts": 3, "id": 1}])
    assert engine.invoke("asked").to_pylist() == []
    assert engine.invoke("to_come").to_pylist() == [{"ts": 12, "id": 2}]
    assert list(engine.drain()) == []
    engine.push("p", [{"ts": 11, "id": 2}])
    assert engine.invoke("to_come").to_pylist() == []
    engine.push("o", [{"ts": 20, "id": 3}])
    engine.push("p", [{"ts": 31, "id": 9}])
    assert engine.invoke("asked").to_pylist() == [{"ts": 30, "id": 3}]
    assert [(each.ts, each.row["id"]) for each in engine.drain()] == [(30, 3)]


def test_a_restart_forgets_nothing_that_is_asked_for() -> None:
    program = cqc.compile(PROGRAM)
    engine = cqc.Engine(program)
    engine.push("o", [{"ts": 1, "id": 1}])
    other = cqc.Engine(program)
    other.restore(engine.snapshot())
    other.push("p", [{"ts": 40, "id": 2}])
    assert other.invoke("asked").to_pylist() == [{"ts": 11, "id": 1}]
    other.unregister("asked")
    assert other.invoke("to_come").to_pylist() == [{"ts": 11, "id": 1}]
