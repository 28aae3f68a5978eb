"""Distributed runs whose driver or executors are killed lose nothing, repeat nothing and count right."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cqc
from cqc.runtime.options import RunOptions
from cqc.runtime.run.finite_run import LocalRun
from tests.integration.spark.distributed.test_run import lines_of, write_input

ROOT = Path(__file__).parents[4]
LIMIT_S = 900.0
ROWS = 120
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


class Killed:
    """A folder with a program, and runs of it that share a checkpoint."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        write_input(folder, ROWS)
        program = cqc.compile_files([str(folder / "program.cq")])
        run = LocalRun(program, RunOptions(out=str(folder / "expected")))
        run.to_end()
        run.close()

    def start(
        self, *before: str, master: str = "local[2]", partitions: int = 2
    ) -> subprocess.Popen[bytes]:
        module = "tests.integration.spark.killed" if before else "cqc.cli.main"
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [
                    *[sys.executable, "-m", module, *before],
                    *["run", str(self.folder / "program.cq"), "--distribute", "--master", master],
                    *["--checkpoint", str(self.folder / "checkpoint"), "--partitions"],
                    str(partitions),
                    *["--out", str(self.folder / "out"), "--stats", str(self.folder / "stats")],
                    *["--rejects", str(self.folder / "rejects"), "--rows-per-batch", "80"],
                ],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def commits(self) -> int:
        files = (self.folder / "checkpoint" / "commits").glob("*.json")
        return max((int(file.stem) + 1 for file in files), default=0)

    def check(self) -> None:
        assert lines_of(self.folder / "out") == lines_of(self.folder / "expected")
        streams = json.loads((self.folder / "stats").read_text(encoding="utf-8"))["streams"]
        assert (streams["A"]["read"], streams["A"]["rejected"]) == (ROWS, 1)
        told = [json.loads(line)["stream"] for line in lines_of(self.folder / "rejects")]
        assert [stream for stream in told if stream != "T"] == ["A", "B"]  # tables are read again

    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8")


def test_a_worker_that_fails_to_connect_is_tried_again(tmp_path: Path) -> None:
    place = Killed(tmp_path)
    module = ["-m", "tests.integration.spark.distributed.refused", str(tmp_path), "run"]
    finished = subprocess.run(
        [
            *[sys.executable, *module, str(tmp_path / "program.cq"), "--distribute"],
            *["--partitions", "2", "--master", "local[2]", "--out", str(tmp_path / "out")],
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert len(list(tmp_path.glob("refused-*"))) == 2
    assert lines_of(tmp_path / "out") == lines_of(place.folder / "expected")


@pytest.mark.parametrize("point", ["before_the_commit", "after_the_commit", "inside_the_output"])
def test_a_run_whose_driver_is_killed_goes_on(point: str, tmp_path: Path) -> None:
    place = Killed(tmp_path)
    process = place.start(point, "2")
    process.wait(LIMIT_S)
    assert process.returncode == -signal.SIGKILL, place.log()
    process = place.start()
    assert process.wait(LIMIT_S) == 0, place.log()
    place.check()


@pytest.mark.parametrize("point", ["before_the_commit", "after_the_commit"])
def test_a_killed_run_goes_on_with_another_number_of_partitions(point: str, tmp_path: Path) -> None:
    place = Killed(tmp_path)
    place.start(point, "2").wait(LIMIT_S)
    process = place.start(partitions=3)
    assert process.wait(LIMIT_S) == 0, place.log()
    place.check()


def test_a_run_goes_on_when_an_executor_is_killed(tmp_path: Path) -> None:
    place = Killed(tmp_path)
    process = place.start(master="local-cluster[2,1,1024]")
    give_up = time.monotonic() + LIMIT_S
    while not place.commits() and process.poll() is None:
        assert time.monotonic() < give_up, place.log()
        time.sleep(0.05)
    executors = executors_of(process.pid)
    assert executors, place.log()
    os.kill(executors[0], signal.SIGKILL)
    assert process.wait(LIMIT_S) == 0, place.log()
    place.check()


def executors_of(session: int) -> list[int]:
    """The processes of executors in a session of processes."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
                if os.getsid(int(entry.name)) == session and b"ExecutorBackend" in command:
                    found.append(int(entry.name))
            except OSError:
                continue
    return found
