"""Rejected and late rows as JSON lines, whatever they hold."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from decimal import Decimal

from cqc.runtime.intake.typed_batch import Intake, Reject
from cqc.runtime.sinks.side_lines import late_lines, reject_lines
from tests.support.relations import EVERYTHING


def test_a_reject_shows_stream_reason_and_row() -> None:
    (line,) = (
        reject_lines(EVERYTHING, [Reject("x is not a BIGINT", {"x": "é"})]).decode().splitlines()
    )
    assert json.loads(line) == {"stream": "s", "reason": "x is not a BIGINT", "row": {"x": "é"}}


def test_rows_hold_anything_and_are_still_json() -> None:
    row = {
        "when": datetime(2024, 1, 1, tzinfo=UTC),
        "no zone": datetime(2024, 1, 1, 0, 0, 0, 5),
        "not a number": math.nan,
        "beyond": [math.inf, -math.inf],
        "half": "\ud800",
        "raw": b"\xff",
        "exact": Decimal("1.5"),
        "list": [1, {"a": None}],
        5: object,
    }
    shown = json.loads(reject_lines(EVERYTHING, [Reject("r", row)]))["row"]
    assert shown["when"] == "2024-01-01T00:00:00Z"
    assert shown["no zone"] == "2024-01-01T00:00:00.000005Z"
    assert (shown["not a number"], shown["half"], shown["exact"]) == ("NaN", "?", "1.5")
    assert shown["beyond"] == ["Infinity", "-Infinity"]
    assert shown["list"] == [1, {"a": None}]


def test_late_tuples_are_shown_as_rows() -> None:
    packet = Intake(EVERYTHING).take([{"ts": 1, "name": "a"}]).packet(0)
    assert json.loads(late_lines(EVERYTHING, packet)) == {
        "stream": "s",
        "reason": "late",
        "row": {"ts": "1970-01-01T00:00:01Z", "x": None, "d": None, "name": "a", "ok": None},
    }
    assert late_lines(EVERYTHING, Intake(EVERYTHING).take([]).packet(0)) == b""


def test_a_row_that_is_nested_a_thousand_levels_deep_is_shown_in_part() -> None:
    row = json.loads('{"x": ' + "[" * 900 + "]" * 900 + "}")
    shown = json.loads(reject_lines(EVERYTHING, [Reject("r", row)]))["row"]["x"]
    levels = 0
    while isinstance(shown, list):
        levels, shown = levels + 1, shown[0]
    assert (levels, shown) == (99, "...")
