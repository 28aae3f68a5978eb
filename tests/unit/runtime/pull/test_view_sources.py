"""What is kept for the rows of views: once for all readers, and no longer than they stay."""

from __future__ import annotations

import pytest

import cqc

PROGRAM = cqc.compile(
    "CREATE STREAM s (ts BIGINT, k BIGINT); CREATE STREAM d (ts BIGINT, k BIGINT);"
    "CREATE VIEW pair AS SELECT s.k, d.ts AS at FROM s, d WHERE s.k = d.k MAXWINDOW 10 SEC;"
    "CREATE VIEW last AS SELECT s.k FROM s [RANGE 5 SEC], d [ROWS 1] WHERE s.k = d.k;"
)


def test_two_readers_share_what_is_kept() -> None:
    engine = cqc.Engine(PROGRAM)
    first = engine.register("SELECT COUNT(*) AS n FROM pair BEGIN 0 END NOW")
    second = engine.register("SELECT k FROM pair BEGIN 5 END NOW")
    kept = [each for each in engine.metrics().operators if each.name.startswith("history")]
    assert len(kept) == 1
    engine.push_batch({"s": [{"ts": 1, "k": 1}], "d": [{"ts": 6, "k": 1}]})
    engine.unregister(first)
    assert engine.invoke(second).to_pylist() == [{"k": 1}]
    engine.unregister(second)
    kept = [each for each in engine.metrics().operators if each.name.startswith("history")]
    assert kept == []


def test_rows_in_a_view_are_for_push_queries() -> None:
    engine = cqc.Engine(PROGRAM)
    with pytest.raises(cqc.CompileError, match="ROWS"):
        engine.register("SELECT COUNT(*) AS n FROM last BEGIN 0 END NOW")
    assert not engine.queries
