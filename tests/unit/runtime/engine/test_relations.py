"""The streams and tables of an engine, by folded name."""

from __future__ import annotations

import pytest

import cqc
from cqc.runtime.engine.relations import Relations
from cqc.runtime.errors import RunError

TEXT = (
    "CREATE STREAM A (ts BIGINT, x BIGINT); CREATE STREAM b (ts BIGINT, WATERMARK FOR ts AS ts - 2 SECONDS);"
    " CREATE TABLE t (x BIGINT);"
)


def relations(settings: str = "", clock: list[float] | None = None) -> Relations:
    now = clock or [0.0]
    return Relations(cqc.compile(settings + TEXT).catalog, None, lambda: now[0])


def push(those: Relations, name: str, *rows: dict[str, int]) -> None:
    line = those.line(name)
    those.states[name.lower()].insert(line.accept(line.take(list(rows))))


def test_a_name_that_is_not_declared_is_answered_with_those_that_are() -> None:
    with pytest.raises(RunError, match=r"no stream or table c \(there are: A, b, t\)"):
        relations().line("c")


def test_a_watermark_is_the_latest_time_less_the_delay() -> None:
    those = relations()
    push(those, "a", {"ts": 10, "x": 1})
    push(those, "b", {"ts": 10})
    assert those.watermarks() == {"a": 10_000_000, "b": 8_000_000}
    assert those.arrivals() == {"a": 1, "b": 1}


def test_a_stream_past_its_idle_timeout_does_not_hold_the_others_back() -> None:
    now = [0.0]
    those = relations("SET IDLE = 5 SECONDS;", now)
    push(those, "b", {"ts": 3})
    now[0] = 9.0
    push(those, "a", {"ts": 10, "x": 1})
    assert those.watermarks() == {"a": 10_000_000, "b": 10_000_000}


def test_whoever_listens_hears_of_relations_that_come_later_too() -> None:
    those, late = relations(), []
    those.listen(None, lambda relation, packet: late.append((relation.name, len(packet))))
    those.declare(cqc.compile("CREATE STREAM c (ts BIGINT);").catalog.relations["c"])
    push(those, "c", {"ts": 10})
    push(those, "c", {"ts": 4})
    assert late == [("c", 1)]


def test_others_stand_where_these_stood_and_have_the_tuples_since() -> None:
    those, others = relations(), relations()
    push(those, "a", {"ts": 1, "x": 1}, {"ts": 2, "x": 2})
    others.restore({**those.stream_states(settled=False), "gone": those.lines["a"].state(0)})
    assert others.stream_states(settled=False) == those.stream_states(settled=False)
    assert {name: len(each.packet) for name, each in those.tuples({"a": 1}).items()} == {
        "a": 1,
        "b": 0,
    }
    assert those.kept == 2
