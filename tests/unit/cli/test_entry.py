"""The first milliseconds of the command: from cqc's first line on a Ctrl-C ends it with 130 and without a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import cqc
from tests.support.waiting import PATIENCE_S

COMMAND = Path(sys.executable).with_name("cqc")
# What is loaded before the command can hear: a Ctrl-C until then is Python's to answer.
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
        return "by the signal"  # Python had no answer to it yet; a shell says 130
    if process.returncode == 130 and messages.startswith("interrupted\n"):
        return "clean" if "Traceback" not in messages else messages
    if "KeyboardInterrupt" in messages and is_pythons_own(messages):
        return "by Python"
    return f"exit code {process.returncode}: {messages}"


def is_pythons_own(messages: str) -> bool:
    """Whether a traceback shows Python starting: no module of cqc is in it but those without which nothing can be heard."""
    folder = Path(cqc.__file__).parent
    files = [line.split('"')[1] for line in messages.splitlines() if line.startswith('  File "')]
    own = [Path(file) for file in files if Path(file).is_relative_to(folder)]
    modules = {path.relative_to(folder).as_posix() for path in own}
    heard_by = {"__init__.py", "cli/__init__.py", "cli/entry.py", "cli/stop_at_once.py"}
    return modules <= heard_by


@pytest.mark.parametrize(
    "kills", [12, pytest.param(200, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
def test_ctrl_c_at_any_moment_of_the_start_is_heard_or_pythons_own(
    kills: int, tmp_path: Path
) -> None:
    program = tmp_path / "p.cq"
    program.write_text("CREATE STREAM s (ts BIGINT) WITH (path = 's.csv'); SELECT ts FROM s;")
    (tmp_path / "s.csv").write_text("ts\n" + "1\n" * 50_000)
    answers = [answer(program, 150 * (kill + 0.5) / kills) for kill in range(kills)]
    assert set(answers) <= {"by the signal", "by Python", "clean"}
