"""Typed rows of several streams as bytes, and back: the same rows, with those that were rejected counted."""

from __future__ import annotations

import cqc
from cqc.runtime.columns.columns import to_python
from cqc.runtime.intake.typed_batch import Intake
from cqc.runtime.serve.records.stored_rows import read_rows, write_rows

PROGRAM = """
CREATE STREAM S (ts BIGINT, x DOUBLE, name STRING, ok BOOLEAN);
CREATE STREAM r (at TIMESTAMP, k BIGINT);
SELECT x FROM S;
"""


def test_rows_are_read_back_as_they_were() -> None:
    lines = cqc.Engine(cqc.compile(PROGRAM)).lines
    rows = {
        "S": Intake(lines["s"].relation).take([
            {"ts": 1, "x": float("inf"), "name": "ü", "ok": None}, {"ts": 2}, {"ts": "x"}, {"ts": None},
        ]),
        "r": Intake(lines["r"].relation).take([{"at": "2024-01-01T00:00:00.000001Z", "k": -(2**63)}]),
    }  # fmt: skip
    head, data = write_rows(lines, rows)
    assert (head["s"]["read"], head["s"]["rejected"]) == (4, 2)
    assert sum(head["s"]["reasons"].values()) == 2
    again = read_rows(lines, head, data)
    assert list(again) == ["s", "r"]
    for name, taken in rows.items():
        back = again[name.lower()]
        assert [to_python(column) for column in back.columns] == [
            to_python(column) for column in taken.columns
        ]
        assert back.ts_us.tolist() == taken.ts_us.tolist()
        assert (back.read, back.rejects) == (taken.read, [])


def test_no_rows_are_no_bytes() -> None:
    lines = cqc.Engine(cqc.compile(PROGRAM)).lines
    assert write_rows(lines, {}) == ({}, b"")
    assert read_rows(lines, {}, b"") == {}
