"""The first milliseconds of the command: a Ctrl-C ends it with 130 and without a traceback, also while Python starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import PATIENCE_S

COMMAND = Path(sys.executable).with_name("cqc")
# What is loaded before the command can hear: a Ctrl-C until then waits.
BEFORE = {"cqc", "cqc.cli", "cqc.cli.entry", "cqc.cli.stop_at_once"}


def test_nothing_is_loaded_before_ctrl_c_is_heard_that_python_has_not_loaded() -> None:
    text = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "import cqc.cli.entry\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    finished = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert set(finished.stdout.split()) == BEFORE


def answer(program: Path, after_ms: float) -> str:
    """How the command, as it is installed, answers a Ctrl-C so long after its start."""
    process = subprocess.Popen(
        [COMMAND, "run", program, "--engine", "local"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        process.wait(after_ms / 1000)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGINT)
    _, messages = process.communicate(timeout=PATIENCE_S)
    if (process.returncode, messages) == (-signal.SIGINT, ""):
        return "by the signal"  # the launcher was there, but not Python; a shell says 130
    if process.returncode == 130 and messages.startswith("interrupted\n"):
        return "clean" if "Traceback" not in messages else messages
    return f"exit code {process.returncode}: {messages}"


@pytest.mark.parametrize(
    "kills", [12, pytest.param(200, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
def test_ctrl_c_at_any_moment_of_the_start_shows_no_traceback(kills: int, tmp_path: Path) -> None:
    program = tmp_path / "p.cq"
    program.write_text("CREATE STREAM s (ts BIGINT) WITH (path = 's.csv'); SELECT ts FROM s;")
    (tmp_path / "s.csv").write_text("ts\n" + "1\n" * 50_000)
    answers = [answer(program, 150 * (kill + 0.5) / kills) for kill in range(kills)]
    assert set(answers) <= {"by the signal", "clean"}


def test_the_command_works_by_a_link_and_where_no_signal_can_be_held_back(tmp_path: Path) -> None:
    link = tmp_path / "linked"
    link.symlink_to(COMMAND)
    old = tmp_path / "env"
    old.write_text("#!/bin/sh\necho no such option >&2\nexit 125\n")
    old.chmod(0o700)
    for command, path in (link, os.environ["PATH"]), (COMMAND, f"{tmp_path}:{os.environ['PATH']}"):
        finished = subprocess.run(
            [command, "--version"],
            env={**os.environ, "PATH": path},
            capture_output=True, text=True, timeout=PATIENCE_S, check=True,
        )  # fmt: skip
        assert (finished.stdout.split()[0], finished.stderr) == ("cqc", "")
