"""`cqc run` as a person uses it: Spark by default, new files as they come, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

LIMIT_S = 200.0


def children(pid: int) -> set[int]:
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        found |= set(map(int, (task / "children").read_text(encoding="utf-8").split()))
    return found


def wait_for_lines(file: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while file.read_bytes().count(b"\n") < count:
        assert process.poll() is None, "it ended"
        assert time.monotonic() < deadline, "nothing came"
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="asks /proc for child processes")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_a_run_follows_its_folder_until_it_is_stopped_and_leaves_nothing_behind(
    stop: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "1.csv").write_text("ts,x\n1,1\n", encoding="utf-8")
    declared = "CREATE STREAM s (ts BIGINT, x BIGINT) WITH (format = 'csv', path = 'data/');"
    (tmp_path / "p.cq").write_text(f"{declared} SELECT x FROM s;", encoding="utf-8")
    out, messages = tmp_path / "out", tmp_path / "messages"
    command = [sys.executable, "-m", "cqc.cli.main", "run", str(tmp_path / "p.cq"), "--follow"]
    with out.open("wb") as results, messages.open("wb") as said:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=results, stderr=said, start_new_session=True
        )
    try:
        wait_for_lines(out, 1, process)
        (tmp_path / "next").write_text("ts,x\n2,2\n", encoding="utf-8")
        (tmp_path / "next").replace(tmp_path / "data" / "2.csv")
        wait_for_lines(out, 2, process)
        java = children(process.pid)
        os.killpg(process.pid, stop)  # as a terminal and a service manager do: the JVM gets it too
        assert process.wait(timeout=60) == 130
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=30)
    assert java
    assert not any(Path(f"/proc/{pid}").exists() for pid in java)
    told = messages.read_text(encoding="utf-8")
    assert told.startswith("interrupted\ns: 2 read, 0 late, 0 rejected\n")
    assert "WARN" not in told
    assert "Traceback" not in told


def test_explain_analyze_measures_a_run_on_spark(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("ts,x\n1,1\n2,2\n", encoding="utf-8")
    (tmp_path / "p.cq").write_text(
        "CREATE STREAM s (ts BIGINT, x BIGINT) WITH (path = 's.csv'); SELECT x FROM s WHERE x > 1;",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "cqc.cli.main", "explain", str(tmp_path / "p.cq")]
    finished = subprocess.run(
        [*command, "--analyze", "--engine", "spark", "--master", "local[1]"],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert "[2 read, 0 late, 0 rejected]" in finished.stdout
    assert "q1 (push)  [1 result]" in finished.stdout


def test_a_master_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("ts\n1\n", encoding="utf-8")
    (tmp_path / "p.cq").write_text(
        "CREATE STREAM s (ts BIGINT) WITH (path = 's.csv'); SELECT ts FROM s;", encoding="utf-8"
    )
    command = [sys.executable, "-m", "cqc.cli.main", "run", str(tmp_path / "p.cq")]
    finished = subprocess.run(
        [*command, "--master", "local[none]"],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert finished.returncode == 3
    assert finished.stdout == ""
    (sentence,) = finished.stderr.splitlines()
    assert "Spark does not start with --master local[none]: Could not parse Master URL" in sentence
    assert Path(sentence.rpartition("its log is ")[2]).exists()
