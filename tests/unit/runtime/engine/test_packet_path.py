"""The way of packets: stream by stream in the order of declaration, found once, kept until drained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cqc
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.engine import packet_path

if TYPE_CHECKING:
    import pytest

JOIN = (
    "CREATE STREAM a (ts BIGINT, x BIGINT); CREATE STREAM b (ts BIGINT, x BIGINT);"
    "CREATE QUERY j AS SELECT a.x, b.x AS y FROM a, b WHERE a.x = b.x MAXWINDOW 60 SEC;"
)


def rows(*numbers: int) -> list[dict[str, int]]:
    return [{"ts": number, "x": number} for number in numbers]


def test_a_combination_of_one_micro_batch_appears_once() -> None:
    engine = cqc.Engine(cqc.compile(JOIN))
    engine.push_batch({"b": rows(1, 2), "a": rows(2, 3)})
    assert [result.row for result in engine.drain()] == [{"x": 2, "y": 2}]


def test_findings_that_are_many_are_delivered_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packet_path, "_MOST_FOUND", 2)
    engine = cqc.Engine(cqc.compile(JOIN), strategy=Strategy(packet=3))
    engine.push_batch({"a": rows(*range(10)), "b": rows(*range(10))})
    assert sorted(result.row["x"] for result in engine.drain()) == list(range(10))


def test_results_are_only_counted_where_nobody_collects_them() -> None:
    engine = cqc.Engine(cqc.compile(JOIN), collect=False)
    engine.push_batch({"a": rows(1), "b": rows(1)})
    assert list(engine.drain()) == []
    assert engine.result_counts() == {"j": 1}


def test_packets_that_were_numbered_elsewhere_go_the_same_way() -> None:
    one, other = (cqc.Engine(cqc.compile(JOIN)) for _ in range(2))
    for name in ("a", "b"):
        line = one.lines[name]
        other.push_packets({name: line.accept(line.take(rows(1, 2)))})
    assert [result.row["x"] for result in other.drain()] == [1, 2]
    assert other.tuples_read == 0


def test_what_is_replayed_finds_nothing_again() -> None:
    one, other = (cqc.Engine(cqc.compile(JOIN)) for _ in range(2))
    one.push_batch({"a": rows(1, 2), "b": rows(1)})
    other.restore(one.snapshot())
    other.push("b", rows(2))
    assert [result.row["x"] for result in other.drain()] == [2]
