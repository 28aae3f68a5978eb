"""Views over tables alone: made once, for whoever reads them, and forgotten with the last reader."""

from __future__ import annotations

import cqc

DECLARED = """
CREATE STREAM s (ts BIGINT, room STRING);
CREATE TABLE old (room STRING, floor BIGINT);
CREATE TABLE new (room STRING, floor BIGINT);
CREATE VIEW rooms AS SELECT room, floor FROM old UNION ALL SELECT room, floor FROM new;
CREATE VIEW floors AS SELECT floor, COUNT(*) AS n FROM rooms GROUP BY floor;
"""
JOINED = "SELECT s.room, r.floor FROM s, rooms r WHERE r.room = s.room"


def found(engine: cqc.Engine) -> list[tuple[str, dict[str, object]]]:
    return [(each.query, dict(each.row)) for each in engine.drain()]


def filled(text: str = "") -> cqc.Engine:
    engine = cqc.Engine(cqc.compile(DECLARED + text))
    engine.push("new", [{"room": "b", "floor": 1}])
    engine.push("old", [{"room": "a", "floor": 1}])
    return engine


def test_rows_of_tables_count_until_the_first_tuple_of_a_stream() -> None:
    engine = filled(f"CREATE QUERY q AS {JOINED};")
    engine.push("new", [{"room": "c", "floor": 2}])
    engine.push("s", [{"ts": 1, "room": "c"}, {"ts": 1, "room": "a"}, {"ts": 1, "room": "x"}])
    assert found(engine) == [("q", {"room": "c", "floor": 2}), ("q", {"room": "a", "floor": 1})]


def test_a_reader_that_comes_later_has_all_rows_and_the_last_one_takes_the_table_along() -> None:
    engine = filled()
    engine.push("s", [{"ts": 1, "room": "a"}])
    first, second = engine.register(JOINED), engine.register(JOINED)
    engine.push("s", [{"ts": 2, "room": "b"}])
    assert [row for _, row in found(engine)] == [{"room": "b", "floor": 1}] * 2
    engine.unregister(first)
    engine.push("s", [{"ts": 3, "room": "a"}])
    assert [row for _, row in found(engine)] == [{"room": "a", "floor": 1}]
    engine.unregister(second)
    assert not [name for name in engine.states if "table" in name]
    assert "old" not in engine.relations_used()


def test_a_view_of_such_a_view_is_a_table_too() -> None:
    engine = filled(
        "CREATE QUERY q AS SELECT s.room, f.n FROM s LEFT JOIN floors f ON f.floor = 1;"
    )
    engine.push("s", [{"ts": 1, "room": "a"}])
    assert found(engine) == [("q", {"room": "a", "n": 2})]


def test_another_engine_goes_on_with_tables_of_its_own() -> None:
    engine = filled(f"CREATE QUERY q AS {JOINED};")
    engine.push("s", [{"ts": 1, "room": "a"}])
    late = engine.register(
        "CREATE QUERY r AS SELECT s.ts FROM s WHERE s.room NOT IN (SELECT room FROM rooms)"
    )
    other = filled(f"CREATE QUERY q AS {JOINED};")
    other.restore(engine.snapshot())
    other.push("s", [{"ts": 2, "room": "b"}, {"ts": 3, "room": "c"}])
    assert found(other) == [("q", {"room": "b", "floor": 1}), (late.name, {"ts": 3})]
