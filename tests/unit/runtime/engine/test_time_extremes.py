"""Event times of year 1 and year 9999, and the largest and smallest numbers: nothing overflows, everything is written."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import cqc
from cqc.runtime.options import RunOptions
from cqc.runtime.run.finite_run import LocalRun

if TYPE_CHECKING:
    from pathlib import Path

FIRST, SECOND = "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000001Z"
LAST = "9999-12-31T23:59:59.999999Z"
DECLARED = "CREATE STREAM s (ts TIMESTAMP, x BIGINT, WATERMARK FOR ts AS ts - 106751990 DAYS);"
QUERIES = {
    "plain": "SELECT ts AS t FROM s",
    "shifted": "SELECT ts - 1 DAY AS before, ts + 1 DAY AS after FROM s",
    "text": "SELECT CAST(ts AS STRING) AS t FROM s",
    "pairs": "SELECT a.x AS p, b.x AS q FROM s a, s b WHERE a.x < b.x MAXWINDOW 106751990 DAYS",
    "near": "SELECT a.x AS p, b.x AS q FROM s a, s b WHERE a.x < b.x WINDOW b.ts - a.ts <= 1 US AND b.ts >= a.ts",
    "inside": f"SELECT x FROM s WHERE ts > TIMESTAMP '{FIRST}' AND ts < TIMESTAMP '{LAST}'",
    "all": "SELECT COUNT(*) AS n, MIN(ts) AS lo, MAX(ts) AS hi FROM s BEGIN NOW - 106751990 DAYS END NOW",
    "periodic": "SELECT COUNT(*) AS n FROM s BEGIN AFTER NOW - 1000000 DAYS END NOW EVERY 1000000 DAYS",
}


def run(tmp_path: Path, sink: str) -> None:
    (tmp_path / "s.csv").write_text(f"ts,x\n{LAST},3\n{FIRST},1\n{SECOND},2\n")
    text = "".join(f"CREATE QUERY {name} AS {query};" for name, query in QUERIES.items())
    out = tmp_path / "out"
    options = RunOptions(binds={"s": str(tmp_path / "s.csv")}, sink=sink, out=f"{out}/")
    whole = LocalRun(cqc.compile(DECLARED + text), options)
    whole.to_end()
    assert whole.close().failed_evaluations == 0


def test_year_1_and_year_9999_go_through_windows_every_and_json(tmp_path: Path) -> None:
    run(tmp_path, "jsonl")

    def rows(name: str) -> list[dict[str, object]]:
        lines = (tmp_path / "out" / f"{name}.jsonl").read_text().splitlines()
        return [json.loads(line)["row"] for line in lines]

    assert [row["t"] for row in rows("plain")] == [FIRST, SECOND, LAST]
    assert rows("shifted")[0] == {"before": "0000-12-31T00:00:00Z", "after": "0001-01-02T00:00:00Z"}
    assert rows("shifted")[2]["after"] == "+10000-01-01T23:59:59.999999Z"
    assert rows("text")[2] == {"t": "9999-12-31 23:59:59.999999"}
    assert rows("pairs") == [{"p": 1, "q": 2}, {"p": 1, "q": 3}, {"p": 2, "q": 3}]
    assert rows("near") == [{"p": 1, "q": 2}]
    assert rows("inside") == [{"x": 2}]
    assert rows("all") == [{"n": 3, "lo": FIRST, "hi": LAST}]
    assert [row["n"] for row in rows("periodic")] == [2, 0, 0]


@pytest.mark.parametrize("sink", ["csv", "parquet", "table"])
def test_year_1_and_year_9999_are_written_in_every_format(sink: str, tmp_path: Path) -> None:
    run(tmp_path, sink)
    out = tmp_path / "out"
    if sink == "csv":
        with (out / "plain.csv").open(newline="") as file:
            assert [row["t"] for row in csv.DictReader(file)] == [FIRST, SECOND, LAST]
    elif sink == "parquet":
        (low, high) = (
            pq.read_table(out / "all.parquet").select(["lo", "hi"]).to_pylist()[0].values()
        )
        assert (low.year, high.year, high.microsecond) == (1, 9999, 999_999)
    else:
        assert f" {LAST}\n" in (out / "plain.txt").read_text()


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [
        ("DOUBLE", ["-4611686018427.25", "-0.0", "4611686018427.25"], ["NaN", "Infinity", "-Infinity", "1e308"]),
        ("BIGINT", ["-4611686018427", "0", "4611686018427"], ["9223372036854775807", "-9223372036854775808"]),
    ],
)  # fmt: skip
def test_numbers_that_are_no_instant_are_rejected_and_the_largest_others_are_not(
    type_: str, good: list[str], bad: list[str], tmp_path: Path
) -> None:
    rows = "".join(f"{ts},1\n" for ts in [*good, *bad])
    (tmp_path / "s.csv").write_text(f"ts,x\n{rows}")
    program = cqc.compile(
        f"CREATE STREAM s (ts {type_}, x BIGINT);"
        "CREATE QUERY plain AS SELECT ts AS t FROM s;"
        "CREATE QUERY pairs AS SELECT a.ts AS p, b.ts AS q FROM s a, s b MAXWINDOW 106751990 DAYS;"
        "CREATE QUERY asked AS SELECT COUNT(*) AS n FROM s BEGIN NOW - 106751990 DAYS END NOW + 106751990 DAYS"
    )
    out = tmp_path / "out"
    options = RunOptions(binds={"s": str(tmp_path / "s.csv")}, out=f"{out}/")
    whole = LocalRun(program, options)
    whole.to_end()
    counts = whole.close().streams["s"]
    assert counts.reasons == {"ts is not an instant": len(bad)}
    shown = [
        json.loads(line)["row"]["t"] for line in (out / "plain.jsonl").read_text().splitlines()
    ]
    assert shown == [float(ts) if type_ == "DOUBLE" else int(ts) for ts in good]
    window = 106_751_990 * 86_400
    times = [float(ts) for ts in good]
    near = sum(abs(a - b) <= window for a in times for b in times)
    assert len((out / "pairs.jsonl").read_text().splitlines()) == near
    inside = sum(times[-1] - window <= ts for ts in times)
    assert json.loads((out / "asked.jsonl").read_text())["row"] == {"n": inside}
