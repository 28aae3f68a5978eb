"""Nested SQL over the rows of one window: groups of groups, joins of groups, views beside streams and tables."""

from __future__ import annotations

from typing import Any

import pytest

import cqc

STREAMS = """
CREATE STREAM s (ts BIGINT, room STRING, t BIGINT);
CREATE STREAM d (ts BIGINT, room STRING, door BIGINT);
CREATE TABLE w (room STRING, floor BIGINT);
CREATE VIEW counts AS SELECT room, COUNT(*) AS n FROM s GROUP BY room;
CREATE VIEW per AS SELECT room, COUNT(*) AS n FROM s BEGIN AFTER NOW - 10 END NOW EVERY 10 SEC GROUP BY room;
CREATE VIEW pair AS SELECT s.room, d.door FROM s, d WHERE s.room = d.room MAXWINDOW 10 SEC;
"""


@pytest.fixture
def engine() -> cqc.Engine:
    engine = cqc.Engine(cqc.compile(STREAMS))
    engine.push("w", [{"room": "a", "floor": 1}, {"room": "b", "floor": 2}])
    engine.push("s", [{"ts": 1, "room": "a", "t": 5}, {"ts": 2, "room": "b", "t": 6}])
    engine.push("d", [{"ts": 3, "room": "a", "door": 1}])
    engine.push("s", [{"ts": 5, "room": "a", "t": 7}, {"ts": 12, "room": "a", "t": 8}])
    engine.push("d", [{"ts": 13, "room": "a", "door": 2}])
    engine.push("s", [{"ts": 21, "room": "a", "t": 9}])
    return engine


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT AVG(n) AS x FROM counts BEGIN 0 END NOW", [(2.5,)]),
        ("SELECT AVG(n) AS x FROM counts BEGIN 12 END NOW", [(2.0,)]),
        ("SELECT COUNT(*) AS x, MAX(n) AS y FROM counts BEGIN 100 END NOW", [(0, None)]),
        (
            "SELECT floor, n FROM counts c, w WHERE c.room = w.room BEGIN 0 END NOW ORDER BY 1",
            [(1, 4), (2, 1)],
        ),
        (
            "SELECT a.room FROM counts a, (SELECT MAX(n) AS m FROM counts) AS b WHERE a.n = b.m BEGIN 0 END NOW",
            [("a",)],
        ),
        ("SELECT c.n, d.door FROM counts c, d WHERE c.room = d.room BEGIN 10 END NOW", [(2, 2)]),
        ("SELECT ts, n FROM per BEGIN 0 END NOW ORDER BY 1, 2", [(10, 1), (10, 2), (20, 1)]),
        ("SELECT ts, n FROM per BEGIN 15 END NOW", [(20, 1)]),
        (
            "SELECT ts, door FROM pair BEGIN 4 END NOW ORDER BY 1, 2",
            [(5, 1), (12, 1), (13, 2), (13, 2), (21, 2)],
        ),
        ("SELECT COUNT(*) AS x FROM pair BEGIN 0 END NOW", [(6,)]),
        (
            "SELECT p.door, s.t FROM pair p, s WHERE p.ts = s.ts BEGIN 0 END NOW ORDER BY 1, 2",
            [(1, 7), (1, 8), (2, 9)],
        ),
        (
            "SELECT room, n FROM counts UNION ALL SELECT room, door FROM d BEGIN 0 END NOW ORDER BY n DESC LIMIT 2",
            [("a", 4), ("a", 2)],
        ),
        (
            "SELECT n FROM (SELECT COUNT(*) AS n FROM s BEGIN AFTER NOW - 10 END NOW) AS x BEGIN 0 END NOW",
            [(2,)],
        ),
        (
            "SELECT DISTINCT room FROM (SELECT room, n FROM counts WHERE n > 1) AS x BEGIN 0 END NOW",
            [("a",)],
        ),
        ("SELECT SUM(n) AS x FROM (SELECT n FROM per) AS p BEGIN 0 END NOW", [(4,)]),
    ],
)
def test_an_answer_over_views(engine: cqc.Engine, text: str, rows: list[tuple[Any, ...]]) -> None:
    query = engine.register(text)
    for _ in range(2):  # asking changes nothing
        assert [tuple(row.values()) for row in engine.invoke(query).to_pylist()] == rows
    engine.unregister(query)


def test_an_instant_can_be_named(engine: cqc.Engine) -> None:
    query = engine.register(
        "SELECT n FROM (SELECT COUNT(*) AS n FROM s BEGIN AFTER NOW - 10 END NOW) AS x BEGIN 0 END NOW"
    )
    assert engine.invoke(query, at=12).to_pylist() == [{"n": 2}]


def test_every_over_a_view_is_answered_as_time_goes_on() -> None:
    program = cqc.compile(
        STREAMS
        + "CREATE QUERY q AS SELECT MAX(n) AS m FROM counts BEGIN AFTER NOW - 10 END NOW EVERY 10 SEC"
    )
    engine = cqc.Engine(program)
    for ts, room in ((1, "a"), (2, "a"), (3, "b"), (11, "b"), (25, "b")):
        engine.push("s", [{"ts": ts, "room": room, "t": 0}])
    engine.finish()
    assert [(each.at, each.row["m"]) for each in engine.drain()] == [(10, 2), (20, 1)]
