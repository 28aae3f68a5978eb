"""Rows that are left out: written for those who want them, and with --strict the first rejected one ends the run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.sinks.left_out_rows import LeftOut
from cqc.runtime.sinks.output import Output

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = "CREATE STREAM s (ts BIGINT, x BIGINT); SELECT x FROM s;"


def listening(tmp_path: Path, **options: Any) -> tuple[cqc.Engine, LeftOut]:
    engine = cqc.Engine(cqc.compile(PROGRAM))
    places = {name: str(tmp_path / name) for name in options.pop("files", ())}
    left_out = LeftOut(engine, RunOptions(**places, **options), lambda _, path: Output(path))
    return engine, left_out


def written(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_rejected_and_late_rows_are_written_when_they_come(tmp_path: Path) -> None:
    engine, left_out = listening(tmp_path, files=("rejects", "late"))
    engine.push("s", [{"ts": 9, "x": 1}, {"ts": 9, "x": "one"}])
    engine.push("s", [{"ts": 1, "x": 2}])
    (reject,), (late,) = written(tmp_path / "rejects"), written(tmp_path / "late")
    assert reject["stream"] == "s"
    assert reject["row"] == {"ts": 9, "x": "one"}
    assert late["row"] == {"ts": 1, "x": 2}
    left_out.close()


def test_nothing_is_made_for_those_who_do_not_ask(tmp_path: Path) -> None:
    engine, left_out = listening(tmp_path)
    engine.push("s", [{"ts": 1, "x": "one"}])
    left_out.close()
    assert list(tmp_path.iterdir()) == []


def test_the_first_rejected_row_ends_a_strict_run_with_its_reason(tmp_path: Path) -> None:
    engine, left_out = listening(tmp_path, strict=True, files=("rejects",))
    with pytest.raises(
        RunError, match=r"a row of s was rejected \(--strict\): .*\.\.\.$"
    ) as failed:
        engine.push("s", [{"ts": 1, "x": "long" * 1_000}])
    assert len(str(failed.value)) < 400
    assert len(written(tmp_path / "rejects")) == 1
    left_out.close()
