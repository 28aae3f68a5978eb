"""What a service says of rows is said once, and again only after it was no longer so."""

from __future__ import annotations

import cqc
from cqc.runtime.intake.typed_batch import Intake
from cqc.runtime.serve.told import Told


def test_rows_far_ahead_are_told_once_while_they_wait() -> None:
    said: list[str] = []
    engine = cqc.Engine(
        cqc.compile("CREATE STREAM s (ts BIGINT); SET MAX_AHEAD = 10 SECONDS; SELECT ts FROM s;")
    )
    told, line = Told(said.append), engine.lines["s"]
    engine.push("s", [{"ts": 1}, *({"ts": 10_000 * (each + 2)} for each in range(17))])
    told.tell_waiting([line])
    told.tell_waiting([line])
    assert said == [
        "17 rows of s are far ahead of it and wait; if they are right, MAX_AHEAD is too short for this stream"
    ]


def test_columns_that_no_row_has_are_told_to_each_client_and_to_the_keeper_after_a_hundred_rows() -> (
    None
):
    said: list[str] = []
    engine = cqc.Engine(cqc.compile("CREATE STREAM s (ts BIGINT, room STRING); SELECT ts FROM s;"))
    told, line = Told(said.append), engine.lines["s"]
    for ts in range(2):
        rows = Intake(line.relation).take(
            [{"ts": ts * 60 + each, "rom": "x"} for each in range(60)]
        )
        engine.push_typed({"s": rows})
        assert "`rom`" in told.absent_from([line])[0]
        told.tell_intake([line])
        told.tell_intake([line])
        assert len(said) == ts
