"""A process that is to die at a moment dies there, and leaves what a crash would have left."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.integration.chaos.moments import MOMENTS
from tests.integration.chaos.processes import ROOT
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path


QUICK = ("torn", "after_rename")  # the others are patched in the same way


@pytest.mark.parametrize(
    "moment",
    [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in MOMENTS],
)
def test_a_run_dies_at_each_moment_of_its_dealings_with_the_disk(
    moment: str, tmp_path: Path
) -> None:
    program = (
        "CREATE STREAM s (ts BIGINT) WITH (path = 's.csv'); CREATE QUERY q AS SELECT ts FROM s;"
    )
    (tmp_path / "p.cq").write_text(program, encoding="utf-8")
    lines = "".join(f"{number}\n" for number in range(40))
    (tmp_path / "s.csv").write_text(f"ts\n{lines}", encoding="utf-8")
    arguments = ["run", tmp_path / "p.cq", "--engine", "local", "--rows-per-batch", "5"]
    arguments += ["--checkpoint", tmp_path / "checkpoint", "--out", tmp_path / "out.jsonl"]
    died = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.integration.chaos.moments",
            tmp_path,
            moment,
            "2",
            *arguments,
        ],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
        start_new_session=True,
    )
    assert died.returncode == -signal.SIGKILL, died.stderr
