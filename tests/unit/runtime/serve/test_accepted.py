"""What became of pushed rows is what changed in the counts of their streams."""

from __future__ import annotations

import cqc
from cqc.runtime.serve.accepted import Accepted, accepted


def test_every_row_is_taken_late_rejected_or_waiting() -> None:
    engine = cqc.Engine(
        cqc.compile(
            "CREATE STREAM s (ts BIGINT, x BIGINT); SET MAX_AHEAD = 10 SECONDS; SELECT x FROM s;"
        )
    )
    count = engine.lines["s"].count
    engine.push("s", [{"ts": 100, "x": 1}])
    before = [count.copy()]
    engine.push("s", [{"ts": 101, "x": 2}, {"ts": 5, "x": 3}, {"ts": 102, "x": "x"}, {"ts": 9_000}])
    assert accepted(before, [count]) == Accepted(
        read=4, accepted=1, late=1, rejected=1, reasons={"x is not a BIGINT": 1}, waiting=1
    )


def test_nothing_pushed_is_nothing() -> None:
    assert accepted([], []) == Accepted(0, 0, 0, 0, {})
