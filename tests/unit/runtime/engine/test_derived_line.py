"""A view has come as far as the streams beneath it."""

from __future__ import annotations

import cqc
from cqc.runtime.engine.derived_line import DerivedLine
from cqc.runtime.engine.relations import Relations

PROGRAM = cqc.compile(
    "CREATE STREAM a (ts BIGINT, k BIGINT); CREATE STREAM b (ts BIGINT, k BIGINT);"
    "CREATE VIEW v AS SELECT a.k FROM a, b WHERE a.k = b.k MAXWINDOW 5 SEC;"
    "SELECT v.k FROM v, a WHERE v.k = a.k MAXWINDOW 5 SEC"
)


def test_the_watermark_is_the_smallest_beneath() -> None:
    relations = Relations(PROGRAM.catalog, None, lambda: 0.0)
    view = PROGRAM.normal("q1").items[0].relation
    line = DerivedLine(view, relations.lines)
    assert list(line.bases) == ["a", "b"]
    assert line.watermark_us({"a": 7, "b": 5}) == 5
    assert (line.first_us, line.latest_us) == (None, None)
    relations.lines["a"].accept(relations.lines["a"].take([{"ts": 3, "k": 1}, {"ts": 9, "k": 1}]))
    assert (line.first_us, line.latest_us) == (3_000_000, 9_000_000)


def test_rows_are_numbered_as_they_are_made() -> None:
    relations = Relations(PROGRAM.catalog, None, lambda: 0.0)
    line = DerivedLine(PROGRAM.normal("q1").items[0].relation, relations.lines)
    assert [line.number(3), line.number(2), line.arrivals] == [0, 3, 5]
