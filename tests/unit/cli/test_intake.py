"""Rows as real data has them: what a run takes, makes NULL, and says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunCqc

PROGRAM = """
CREATE STREAM s (ts TIMESTAMP, id STRING FROM 'Event.System.EventID', x BIGINT, t STRING, "userIdentity.type" STRING)
  WITH (path = 's.jsonl', timestamp = 'millis', on_bad = 'null');
CREATE STREAM c (ts TIMESTAMP, a BIGINT, b STRING)
  WITH (path = 'c.csv', delimiter = ';', header = false, nulls = 'NA', timestamp = 'dd.MM.yyyy HH:mm:ss', zone = 'Europe/Berlin');
CREATE STREAM r (ts BIGINT, a BIGINT) WITH (path = 'r.jsonl', mode = 'strict');
SELECT id, x, t FROM s;
SELECT a, b FROM c;
SELECT a FROM r;
"""
EVENTS = """\
{"ts": 1700000000000, "Event": {"System": {"EventID": 4688}}, "x": "12", "t": {"a": 1.50}, "userIdentity": {"type": "Root"}}
{"ts": 1700000000001, "Event": {"System": {"EventID": "x"}}, "x": "twelve", "t": false}
"""
STRICT = [{"ts": 1700000000000, "a": 1}, {"ts": 1700000000001, "a": "1"}, {"ts": 5, "a": "2"}]
EXPECTED = {
    "q1": [{"id": "4688", "x": 12, "t": '{"a": 1.50}'}, {"id": "x", "x": None, "t": "false"}],
    "q2": [{"a": 5, "b": None}, {"a": 6, "b": "b"}],
    "q3": [{"a": 1}],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.cq").write_text(PROGRAM)
    (tmp_path / "s.jsonl").write_text(EVENTS)
    (tmp_path / "c.csv").write_text("01.07.2024 12:00:00;5;NA\n01.07.2024 12:00:01;6;b\n")
    (tmp_path / "r.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in STRICT))
    return tmp_path


def check(folder: Path, run_cqc: RunCqc, *options: str) -> None:
    ended = run_cqc("run", folder / "p.cq", "--stats", folder / "stats.json", *options)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, list[object]] = {}
    for line in map(json.loads, ended.stdout.splitlines()):
        found.setdefault(line["query"], []).append(line["row"])
    assert found == EXPECTED
    assert "userIdentity.type is inside userIdentity" in ended.stderr
    assert "MOST ROWS of r WERE REJECTED (2 of 3)" in ended.stderr
    assert "ts of r counts seconds" in ended.stderr
    streams = json.loads((folder / "stats.json").read_text())["streams"]
    assert streams["s"]["nulled"] == {"x is not a BIGINT": 1}
    assert streams["r"]["rejected"] == 2


def test_a_local_run(folder: Path, run_cqc: RunCqc) -> None:
    check(folder, run_cqc, "--engine", "local")


def test_a_durable_run(folder: Path, run_cqc: RunCqc) -> None:
    check(folder, run_cqc, "--engine", "local", "--checkpoint", str(folder / "checkpoint"))


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("options", [(), ("--distribute",)])
def test_a_run_on_spark(folder: Path, run_cqc: RunCqc, options: tuple[str, ...]) -> None:
    check(folder, run_cqc, "--engine", "spark", *options)
