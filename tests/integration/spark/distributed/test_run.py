"""`cqc run --distribute` on Spark gives the answers of a local run."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.options import RunOptions
from cqc.runtime.run.durable.durable_run import DurableRun
from cqc.runtime.run.finite_run import LocalRun
from cqc.runtime.spark.distributed.run import DistributedRun

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.runtime.spark.session.session import Session

PROGRAM = """
CREATE STREAM A (ts BIGINT, k BIGINT, x BIGINT) WITH (path = 'a.csv');
CREATE STREAM B (ts BIGINT, k BIGINT, y DOUBLE) WITH (path = 'b.csv');
CREATE TABLE T (k BIGINT, name STRING) WITH (path = 't.csv');
CREATE QUERY filter AS SELECT x FROM A WHERE x > 90;
CREATE QUERY table_join AS SELECT A.x, T.name FROM A, T WHERE A.k = T.k AND A.x < 5;
CREATE QUERY keyed AS SELECT A.x, B.y FROM A, B WHERE A.k = B.k AND A.x > 50 MAXWINDOW 5 SEC;
CREATE QUERY theta AS SELECT A.x, B.y FROM A, B WHERE A.x + 95 < B.y MAXWINDOW 2 SEC;
CREATE QUERY counted AS SELECT A.x, B.y FROM A [ROWS 2], B [ROWS 3] WHERE A.k = B.k;
CREATE QUERY periodic AS SELECT k, COUNT(*) AS n, AVG(x) AS mean FROM A
  BEGIN AFTER NOW - 10 END NOW EVERY 10 SEC GROUP BY k HAVING COUNT(*) > 1;
CREATE QUERY whole AS SELECT COUNT(*) AS n, SUM(y) AS total FROM B BEGIN 0 END NOW;
"""


def write_input(folder: Path, rows: int) -> None:
    rng = random.Random(1)
    for stream, column in (("a", "x"), ("b", "y")):
        lines = [f"{at // 10},{rng.randrange(9)},{rng.randrange(100)}" for at in range(rows)]
        lines[rows // 2] = "nonsense,1,2"
        (folder / f"{stream}.csv").write_text(
            "\n".join([f"ts,k,{column}", *lines]) + "\n", encoding="utf-8"
        )
    (folder / "t.csv").write_text("k,name\n1,one\nnone,\n2,two\n", encoding="utf-8")
    (folder / "program.cq").write_text(PROGRAM, encoding="utf-8")


def lines_of(path: Path) -> list[str]:
    return sorted(path.read_text(encoding="utf-8").splitlines())


def test_a_distributed_run_gives_what_a_local_run_gives(session: Session, tmp_path: Path) -> None:
    write_input(tmp_path, 300)
    far_ahead = (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()
    far_ahead.insert(100, "900000,1,95")
    (tmp_path / "a.csv").write_text("\n".join(far_ahead) + "\n", encoding="utf-8")
    (tmp_path / "program.cq").write_text(f"SET MAX_AHEAD = 1 HOUR;{PROGRAM}", encoding="utf-8")
    program = cqc.compile_files([str(tmp_path / "program.cq")])
    found, counts = [], []
    for name, rejects in (("local", "lr.jsonl"), ("distributed", "dr.jsonl")):
        options = RunOptions(
            out=str(tmp_path / name),
            rejects=str(tmp_path / rejects),
            rows_per_batch=320,
            partitions=3,
        )
        run = (
            LocalRun(program, options)
            if name == "local"
            else DistributedRun(program, options, session)
        )
        run.to_end()
        summary = run.close()
        found.append([lines_of(tmp_path / name), lines_of(tmp_path / rejects)])
        streams = {
            stream: (count.read, count.rejected, count.late)
            for stream, count in summary.streams.items()
        }
        counts.append((streams, {query: n for query, n in summary.queries.items() if n}))
    assert found[0] == found[1]
    assert counts[0] == counts[1]
    assert counts[0][0]["A"] == (301, 2, 0)  # the row that is no row, and the one far ahead
    queries = {json.loads(line)["query"] for line in found[0][0]}
    assert queries == {"filter", "table_join", "keyed", "theta", "counted", "periodic", "whole"}


@pytest.mark.slow
def test_filters_alone_need_no_cells(session: Session, tmp_path: Path) -> None:
    write_input(tmp_path, 100)
    program = cqc.compile_files([str(tmp_path / "program.cq")])
    found = []
    for name in ("local", "distributed"):
        options = RunOptions(out=str(tmp_path / name), only=("filter", "table_join"))
        run = (
            LocalRun(program, options)
            if name == "local"
            else DistributedRun(program, options, session)
        )
        run.to_end()
        run.close()
        found.append(lines_of(tmp_path / name))
    assert found[0] == found[1]


class Stopped(Exception):  # noqa: N818  # it is no error
    """Somebody stops a run."""


class Patience:
    """Stops a run after some micro-batches."""

    def __init__(self, batches: int) -> None:
        self.left = batches

    def __call__(self, tuples: int) -> None:
        del tuples
        self.left -= 1
        if not self.left:
            raise Stopped


@pytest.mark.slow
def test_a_run_goes_on_with_another_number_of_partitions(session: Session, tmp_path: Path) -> None:
    write_input(tmp_path, 240)
    program = cqc.compile_files([str(tmp_path / "program.cq")])
    local = LocalRun(program, RunOptions(out=str(tmp_path / "local")))
    local.to_end()
    local.close()
    for partitions, batches in ((2, 3), (5, 2), (1, 100)):
        options = RunOptions(
            out=str(tmp_path / "distributed"),
            checkpoint=str(tmp_path / "checkpoint"),
            rows_per_batch=60,
            partitions=partitions,
        )
        run = DistributedRun(program, options, session)
        with suppress(Stopped):
            run.to_end(Patience(batches))
        run.close()
    assert lines_of(tmp_path / "distributed") == lines_of(tmp_path / "local")
    eras = {path.name for path in (tmp_path / "checkpoint" / "distributed").glob("*-*")}
    assert eras == {"feed-1", "spark-1", "moved-1", "feed-2", "spark-2", "moved-2"}


GOES_ON = """
CREATE STREAM A (ts BIGINT, k BIGINT, WATERMARK FOR ts AS ts - 3) WITH (format = 'csv', path = 'a/');
CREATE STREAM B (ts BIGINT, k BIGINT) WITH (format = 'csv', path = 'b/');
CREATE QUERY keyed AS SELECT A.ts AS a, B.ts AS b FROM A, B WHERE A.k = B.k MAXWINDOW 2 SEC;
CREATE QUERY pairs AS SELECT COUNT(*) AS n FROM A, B WHERE A.k = B.k BEGIN AFTER NOW - 6 END NOW EVERY 3 SEC;
"""
LAST = (
    "CREATE QUERY last AS SELECT A.ts AS a, B.ts AS b FROM A [ROWS 2], B [ROWS 1] WHERE A.k = B.k;"
)


@pytest.mark.slow
@pytest.mark.parametrize("text", [GOES_ON, GOES_ON + LAST], ids=["plain", "rows"])
def test_a_run_that_ended_goes_on_as_a_local_one(
    text: str, session: Session, tmp_path: Path
) -> None:
    (tmp_path / "program.cq").write_text(text, encoding="utf-8")
    program = cqc.compile_files([str(tmp_path / "program.cq")])
    rng = random.Random(1)
    for part in range(3):
        for stream, disorder in (("a", 3), ("b", 0)):
            times = [part * 10 + at // 4 - rng.randint(0, disorder) for at in range(40)]
            folder = tmp_path / stream
            folder.mkdir(exist_ok=True)
            rows = [f"{max(ts, 0)},{rng.randrange(3)}" for ts in times]
            (folder / f"{part}.csv").write_text("\n".join(["ts,k", *rows]), encoding="utf-8")
        found = []
        for name in ("local", "distributed"):
            options = RunOptions(
                out=str(tmp_path / name),
                checkpoint=str(tmp_path / f"{name}-checkpoint"),
                rows_per_batch=50,
                partitions=2,
            )
            run = (
                DurableRun(program, options)
                if name == "local"
                else DistributedRun(program, options, session)
            )
            run.to_end()
            summary = run.close()
            late = {stream: count.late for stream, count in summary.streams.items()}
            found.append((lines_of(tmp_path / name), late, summary.read_before))
        assert found[0] == found[1]
        assert found[0][2] == part * 80
