"""Runs whose process tree is killed at random moments, and started again until they end."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "examples" / "queries" / "icu.cq"
LIMIT_S = 240.0


def start(engine: str, folder: Path, log: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "cqc.cli.main", "run", str(PROGRAM), "--engine", engine]
    command += ["--checkpoint", str(folder / "checkpoint"), "--out", str(folder / "out.jsonl")]
    command += ["--rows-per-batch", "15", "--rejects", str(folder / "rejects.jsonl")]
    with log.open("ab") as messages:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=messages,
            stderr=messages,
            start_new_session=True,
        )


def last_commit(folder: Path) -> int:
    commits = folder / "checkpoint" / "commits"
    return max((int(file.stem) for file in commits.glob("*.json")), default=-1)


def kill_after(process: subprocess.Popen[bytes], folder: Path, commits: int, delay: float) -> bool:
    """Kill the process tree when it has made some commits; False when it ended before."""
    wanted = last_commit(folder) + commits
    deadline = time.monotonic() + LIMIT_S
    while process.poll() is None and time.monotonic() < deadline:
        if last_commit(folder) >= wanted:
            time.sleep(delay)
            break
        time.sleep(0.002)
    running = process.poll() is None
    if running:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=30)
    return running


def expected_lines(folder: Path) -> list[str]:
    whole = folder / "whole"
    whole.mkdir()
    process = start("local", whole, folder / "log")
    assert process.wait(timeout=LIMIT_S) == 0
    return sorted((whole / "out.jsonl").read_text(encoding="utf-8").splitlines())


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("engine", "kills"),
    [
        ("local", 3),
        pytest.param("spark", 3, marks=pytest.mark.slow),
        pytest.param("local", 50, marks=pytest.mark.slow),
    ],
)
def test_killed_runs_lose_and_repeat_nothing(engine: str, kills: int, tmp_path: Path) -> None:
    rng = random.Random(kills)
    expected = expected_lines(tmp_path)
    killed = 0
    for _ in range(kills):
        process = start(engine, tmp_path, tmp_path / "log")
        killed += kill_after(process, tmp_path, rng.randint(1, 2), rng.uniform(0, 0.03))
    process = start(engine, tmp_path, tmp_path / "log")
    assert process.wait(timeout=LIMIT_S) == 0, (tmp_path / "log").read_text(encoding="utf-8")
    assert killed
    found = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert sorted(found) == expected
