"""Views that push queries read: made level by level in one micro-batch, for their readers, and gone with them."""

from __future__ import annotations

from typing import Any

import cqc

STREAMS = """
CREATE STREAM s (ts BIGINT, room STRING, t DOUBLE);
CREATE STREAM d (ts BIGINT, room STRING, door BIGINT);
CREATE VIEW pair AS SELECT s.room, s.t, d.door FROM s, d WHERE s.room = d.room MAXWINDOW 10 SEC;
CREATE VIEW per AS SELECT room, COUNT(*) AS n FROM s BEGIN AFTER NOW - 10 END NOW EVERY 10 SEC GROUP BY room;
"""
OVER_PAIR = "SELECT p.ts, p.door, s.t FROM pair p, s WHERE p.room = s.room MAXWINDOW 5 SEC"
OVER_PER = "SELECT p.n, d.door FROM per p, d WHERE p.room = d.room MAXWINDOW 20 SEC"


def heat(ts: int, t: float = 1.0) -> dict[str, Any]:
    return {"ts": ts, "room": "a", "t": t}


def door(ts: int, number: int = 1) -> dict[str, Any]:
    return {"ts": ts, "room": "a", "door": number}


def drained(engine: cqc.Engine) -> list[tuple[Any, ...]]:
    return sorted((each.query, each.ts, *each.row.values()) for each in engine.drain())


def test_levels_run_inside_one_micro_batch() -> None:
    engine = cqc.Engine(cqc.compile(f"{STREAMS} CREATE QUERY q AS {OVER_PAIR}"))
    engine.push_batch({"s": [heat(1, 30.0), heat(4, 31.0)], "d": [door(2)]})
    assert drained(engine) == [
        ("q", 2, 2, 1, 30.0),
        ("q", 4, 2, 1, 31.0),
        ("q", 4, 4, 1, 30.0),
        ("q", 4, 4, 1, 31.0),
    ]


def test_rows_at_instants_are_tuples_of_the_next_level() -> None:
    engine = cqc.Engine(cqc.compile(f"{STREAMS} CREATE QUERY q AS {OVER_PER}"))
    engine.push_batch({"s": [heat(1), heat(2)], "d": [door(5)]})
    assert drained(engine) == []
    engine.push_batch({"s": [heat(12)], "d": [door(13, 2)]})
    assert drained(engine) == [("q", 10, 2, 1), ("q", 13, 2, 2)]
    engine.push_batch({"s": [heat(21)]})
    engine.finish()
    assert drained(engine) == [("q", 20, 1, 1), ("q", 20, 1, 2)]


def test_a_view_is_made_for_its_reader() -> None:
    engine = cqc.Engine(cqc.compile(STREAMS))
    engine.push_batch({"s": [heat(1)], "d": [door(1)]})
    engine.register(OVER_PAIR, "late")
    engine.push_batch({"d": [door(2, 7)]})
    assert drained(engine) == []  # the heat came before the reader
    engine.push_batch({"s": [heat(3, 2.0)]})
    assert drained(engine) == [("late", 3, 3, 7, 2.0)]


def test_counts_of_a_view_begin_with_its_reader() -> None:
    engine = cqc.Engine(cqc.compile(STREAMS))
    engine.push_batch({"s": [heat(1), heat(2)]})
    engine.register(OVER_PER, "late")
    engine.push_batch({"s": [heat(3)], "d": [door(3)]})
    engine.push_batch({"s": [heat(12)], "d": [door(12, 2)]})
    assert drained(engine) == [("late", 10, 1, 1), ("late", 12, 1, 2)]


def test_a_view_goes_with_its_last_reader() -> None:
    engine = cqc.Engine(cqc.compile(f"{STREAMS} CREATE QUERY q AS {OVER_PAIR}"))
    second = engine.register(OVER_PAIR.replace("5 SEC", "6 SEC"))
    assert len(engine.states) == 3  # one pair for both: no tuple came between them
    engine.unregister("q")
    assert len(engine.states) == 3
    engine.unregister(second)
    assert len(engine.states) == 2


def test_an_engine_goes_on_with_rows_whose_tuples_are_gone() -> None:
    long = "SELECT p.door, s.t FROM pair p, s WHERE p.room = s.room WINDOW s.ts BETWEEN p.ts AND p.ts + 1 HOUR"
    program = cqc.compile(f"{STREAMS} CREATE QUERY q AS {long}; CREATE QUERY r AS {OVER_PER}")
    engine = cqc.Engine(program, keep_past=False)
    engine.push_batch({"s": [heat(1, 9.0)], "d": [door(2)]})
    engine.push_batch({"s": [heat(500, 8.0)], "d": [door(600, 5)]})
    other = cqc.Engine(program, keep_past=False)
    other.restore(engine.snapshot())
    list(engine.drain())
    for each in (engine, other):
        each.push("s", [heat(610, 7.0)])
        each.finish()
    results = drained(engine)
    assert ("q", 610, 1, 7.0) in results
    assert drained(other) == results
