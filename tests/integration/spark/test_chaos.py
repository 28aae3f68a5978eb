"""Runs whose process tree is killed again and again lose nothing, repeat nothing and count right.

Kills come at chosen points (`tests.integration.spark.killed`) and at random moments. Where a random one strikes depends on the machine;
what must come out does not.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import cqc
from cqc.runtime.options import RunOptions
from cqc.runtime.run.durable.durable_run import DurableRun
from cqc.runtime.spark.run import SparkRun
from tests.integration.spark.killed import POINTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cqc.runtime.spark.session.session import Session

ROOT = Path(__file__).parents[3]
LIMIT_S = 800.0
RANDOM = "at a random moment"
DECLARED = """
CREATE STREAM a (ts BIGINT, k BIGINT, x DOUBLE, name STRING, WATERMARK FOR ts AS ts - 3) WITH (path = 'a.csv');
CREATE STREAM b (ts BIGINT, k BIGINT, y DOUBLE, WATERMARK FOR ts AS ts - 3) WITH (path = 'b');
CREATE TABLE t (k BIGINT, label STRING) WITH (path = 't.csv');
"""
PROGRAM = f"""{DECLARED}
CREATE QUERY plain AS SELECT x, name FROM a WHERE x > 2;
CREATE QUERY joined AS SELECT a.x, b.y, a.name FROM a, b WHERE a.k = b.k MAXWINDOW 3 SEC;
CREATE QUERY labelled AS SELECT t.label, b.y FROM b, t WHERE b.k = t.k;
CREATE QUERY rows AS SELECT a.x, b.y FROM a [ROWS 2], b [ROWS 1] WHERE a.k <> b.k;
CREATE QUERY counted AS SELECT k, COUNT(*) AS n, SUM(x) AS total FROM a BEGIN NOW - 5 END NOW EVERY 2 SEC GROUP BY k;
CREATE VIEW lonely AS SELECT a.k, a.name FROM a LEFT JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + 3 WHERE b.k IS NULL;
CREATE VIEW labels AS SELECT k, label FROM t UNION ALL SELECT k + 2, label FROM t;
CREATE QUERY missing AS SELECT a.k AS ak, b.k AS bk, a.name FROM a FULL JOIN b ON a.k = b.k AND b.y > 0.5 MAXWINDOW 4 SEC;
CREATE QUERY twice AS SELECT x.name, y.name AS other, l.label FROM lonely x, lonely y, labels l WHERE x.k = y.k AND l.k <> x.k WINDOW y.ts > x.ts MAXWINDOW 6 SEC;
CREATE QUERY new AS SELECT n.name FROM a n WHERE NOT EXISTS (SELECT 1 FROM a o WHERE o.k = n.k AND o.x = n.x WINDOW o.ts < n.ts);
CREATE QUERY sought AS SELECT a.name FROM a WHERE a.k NOT IN (SELECT b.k FROM b WINDOW b.ts BETWEEN a.ts - 2 AND a.ts + 5);
CREATE QUERY closing AS SELECT COUNT(*) AS n, MAX(y) AS most FROM b BEGIN NOW - 40 END NOW;
"""


@dataclass
class Place:
    """A folder with the program, its input and what runs of it leave."""

    folder: Path
    engine: str
    out: str  # "-" is standard output
    rows_per_batch: int = 20
    printed: bytes = b""
    kills: dict[str, int] = field(default_factory=dict)

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def arguments(self) -> list[str]:
        return [
            *["run", str(self.folder / "p.cq"), "--engine", self.engine, "--out", self.out],
            *["--sink", "parquet" if self.out.endswith("parquet") else "jsonl"],
            *["--checkpoint", str(self.checkpoint), "--rows-per-batch", str(self.rows_per_batch)],
            *["--rejects", str(self.folder / "rejects"), "--stats", str(self.folder / "stats")],
        ]

    def start(self, *before: str) -> subprocess.Popen[bytes]:
        module = "tests.integration.spark.killed" if before else "cqc.cli.main"
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", module, *before, *self.arguments()],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )

    def killed(self, point: str, rng: random.Random) -> None:
        """Start a run that is killed; one that comes to its end before that is right too."""
        process = self.start(*(() if point == RANDOM else (point, str(rng.randint(1, 4)))))
        if point == RANDOM:
            self.kill_soon(process, rng.randint(0, 3), rng.uniform(0, 0.05))
        self.printed += process.communicate(timeout=LIMIT_S)[0]
        assert process.returncode in (0, -signal.SIGKILL), self.log()
        if process.returncode:
            self.kills[point] = self.kills.get(point, 0) + 1

    def kill_soon(self, process: subprocess.Popen[bytes], commits: int, delay: float) -> None:
        """Kill a process tree when it has made some commits, and a moment has passed."""
        wanted = self.last_commit() + commits
        deadline = time.monotonic() + LIMIT_S
        while process.poll() is None and self.last_commit() < wanted:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        time.sleep(delay)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)

    def last_commit(self) -> int:
        commits = (self.checkpoint / "commits").glob("*.json")
        return max((int(file.stem) for file in commits), default=-1)

    def finish(self) -> None:
        process = self.start()
        self.printed += process.communicate(timeout=LIMIT_S)[0]
        assert process.returncode == 0, self.log()

    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8")

    def results(self) -> list[str]:
        if self.out == "-":
            return sorted(self.printed.decode().splitlines())
        if not self.out.endswith("parquet"):
            return sorted(Path(self.out).read_text(encoding="utf-8").splitlines())
        tables = [(file.name, pq.read_table(file)) for file in Path(self.out).iterdir()]
        return sorted(
            f"{name.partition('.')[0]} {row}" for name, table in tables for row in table.to_pylist()
        )

    def counts(self) -> Any:
        stats = json.loads((self.folder / "stats").read_text(encoding="utf-8"))
        return stats["streams"], stats["queries"], (self.folder / "rejects").read_text()


def make_place(folder: Path, engine: str, out: str, rows: int) -> Place:
    """Two streams out of order within their delay, of which some rows are bad."""
    rng = random.Random(rows)
    (folder / "b").mkdir(parents=True)
    (folder / "p.cq").write_text(PROGRAM, encoding="utf-8")
    (folder / "t.csv").write_text("k,label\n0,zero\n1,one\n", encoding="utf-8")
    times = [max(at // 3 - rng.randint(0, 2), 0) for at in range(rows)]
    bad = {rng.randrange(rows) for _ in range(rows // 40)}
    lines = [
        f"{ts},{ts % 5},{'bad' if at in bad else rng.randint(0, 9) / 2},n{at}"
        for at, ts in enumerate(times)
    ]
    (folder / "a.csv").write_text("\n".join(["ts,k,x,name", *lines, ""]), encoding="utf-8")
    cut = rows // 3
    for number in range(3):
        some = times[number * cut : (number + 1) * cut]
        text = "".join(f'{{"ts": {ts}, "k": {ts % 4}, "y": {rng.random()}}}\n' for ts in some)
        (folder / "b" / f"{number}.jsonl").write_text(text, encoding="utf-8")
    return Place(folder, engine, out if out == "-" else str(folder / out))


def check_kills(
    folder: Path, engine: str, out: str, points: Iterable[str], rows: int
) -> dict[str, int]:
    """Kill a run at each of the points in turn; how many kills there were of each kind."""
    rng = random.Random(rows)
    whole = make_place(folder / "whole", "local", out, rows)
    whole.finish()
    place = make_place(folder / "killed", engine, out, rows)
    for point in points:
        place.killed(point, rng)
    place.rows_per_batch = 1_000  # what is left is not to be killed any more
    place.finish()
    assert place.results() == whole.results()
    assert place.counts() == whole.counts()
    return place.kills


@pytest.mark.timeout(900)
def test_kills_at_chosen_points_lose_and_repeat_nothing(tmp_path: Path) -> None:
    points = ["inside_the_output", "inside_the_state", "before_the_commit", "inside_the_checkpoint"]
    kills = check_kills(tmp_path, "local", "out.jsonl", points, 300)
    assert set(kills) == set(points)


@pytest.mark.timeout(900)
def test_a_pipe_gets_each_line_once_however_often_the_run_is_killed(tmp_path: Path) -> None:
    points = ["while_printing", "after_the_commit"]
    kills = check_kills(tmp_path, "local", "-", points, 300)
    assert set(kills) == set(points)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("out", ["out.jsonl", "out.parquet", "-"])
@pytest.mark.parametrize(("engine", "kills"), [("local", 50), ("spark", 50)])
def test_fifty_kills_lose_and_repeat_nothing(
    engine: str, kills: int, out: str, tmp_path: Path
) -> None:
    points = [*POINTS, RANDOM, RANDOM]
    if out != "-":
        points.remove("while_printing")
    found = check_kills(
        tmp_path, engine, out, itertools.islice(itertools.cycle(points), kills), 4_500
    )
    assert sum(found.values()) >= kills - 2, found


class CrashError(Exception):
    pass


def test_crashes_in_the_middle_of_a_run_on_spark_lose_and_repeat_nothing(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = make_place(tmp_path / "whole", "local", "out.jsonl", 90)
    program = cqc.compile_files([str(whole.folder / "p.cq")])
    options = RunOptions(
        out=whole.out, checkpoint=str(whole.checkpoint), rows_per_batch=20, engine="spark"
    )
    run: DurableRun | SparkRun = DurableRun(program, options)
    run.to_end()
    expected = run.close().queries

    place = make_place(tmp_path / "crashed", "spark", "out.jsonl", 90)
    options = RunOptions(
        out=place.out, checkpoint=str(place.checkpoint), rows_per_batch=20, engine="spark"
    )
    program = cqc.compile_files([str(place.folder / "p.cq")])
    commit = DurableRun._commit
    left = [2]

    def crash(self: DurableRun, *, ended: bool) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise CrashError
        commit(self, ended=ended)

    monkeypatch.setattr(DurableRun, "_commit", crash)
    for _ in range(2):
        left[0] = 2
        run = SparkRun(program, options, session)
        with pytest.raises(CrashError):
            run.to_end()
        run.close()
    left[0] = 0
    run = SparkRun(program, options, session)
    run.to_end()
    assert run.close().queries == expected
    assert place.results() == whole.results()
