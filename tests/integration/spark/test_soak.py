"""A run at full speed, for long: its memory and its checkpoint stay as they were.

`CQC_SOAK_MINUTES=20 pytest tests/integration/spark/test_soak.py -m slow` runs for so long; two minutes by default.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from cqc.runtime.files.sealed import DamagedError, read_sealed_json

MINUTES = float(os.environ.get("CQC_SOAK_MINUTES", "2"))
ROWS_PER_FILE = 20_000
FILES = 6  # at a time: the writer waits for the reader
PROGRAM = """
CREATE STREAM s (ts BIGINT, k BIGINT, x DOUBLE) WITH (path = 's/', format = 'csv');
CREATE STREAM r (ts BIGINT, k BIGINT) WITH (path = 'r/', format = 'csv');
CREATE QUERY high AS SELECT k, x FROM s WHERE x > 98;
CREATE QUERY both AS SELECT s.k, s.x FROM s, r WHERE s.k = r.k AND s.x > 90 MAXWINDOW 5 SEC;
CREATE QUERY minute AS SELECT COUNT(*) AS n, AVG(x) AS mean FROM s BEGIN AFTER NOW - 60 END NOW EVERY 60 SEC;
SET RETENTION = 2 MINUTES;
"""


def resident_kb(pid: int) -> int:
    """Memory of a process and of its children."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    resident = [line for line in status.splitlines() if line.startswith("VmRSS")]
    own = int(resident[0].split()[1]) if resident else 0  # a process that has ended has none
    children: list[str] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # threads come and go meanwhile
            children += (task / "children").read_text().split()
    for child in children:
        with suppress(FileNotFoundError, ProcessLookupError):  # and so do processes
            own += resident_kb(int(child))
    return own


def write_file(folder: Path, number: int) -> None:
    """Some seconds of both streams, a thousand rows a second."""
    first = number * ROWS_PER_FILE
    numbers = range(first, first + ROWS_PER_FILE)
    rows = {
        "s": ["ts,k,x", *(f"{at // 1000},{at % 997},{at * 7919 % 1000 / 10}" for at in numbers)],
        "r": ["ts,k", *(f"{at // 1000},{at % 991}" for at in numbers[::100])],
    }
    for name, lines in rows.items():
        aside = folder / "next"
        aside.write_text("\n".join([*lines, ""]), encoding="utf-8")
        aside.replace(folder / name / f"{number:09d}.csv")


def size_of(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*"):
        with suppress(FileNotFoundError):  # the run makes and removes files meanwhile
            total += file.stat().st_size
    return total


@pytest.mark.slow
@pytest.mark.timeout(MINUTES * 60 + 1200)
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="asks /proc for memory")
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_memory_and_checkpoint_stay_flat_at_full_speed(engine: str, tmp_path: Path) -> None:
    for name in "sr":
        (tmp_path / name).mkdir()
    (tmp_path / "p.cq").write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "cqc.cli.main", "run", str(tmp_path / "p.cq"), "--follow"]
    command += ["--engine", engine, "--checkpoint", str(tmp_path / "checkpoint"), "--sink", "none"]
    command += ["--stats", str(tmp_path / "stats.json")]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    samples: list[tuple[int, int, int]] = []
    number, end = 0, time.monotonic() + MINUTES * 60
    try:
        while time.monotonic() < end:
            assert process.poll() is None
            for name in "sr":  # the reader is done with all but the last few
                for old in sorted((tmp_path / name).iterdir())[:-FILES]:
                    old.unlink()
            write_file(tmp_path, number)
            number += 1
            wait_until_read(tmp_path / "checkpoint", number - FILES + 1, process)
            samples.append((number, resident_kb(process.pid), size_of(tmp_path / "checkpoint")))
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=120) == 130
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=60)
    lines = [
        f"{files} files, {memory} KB, checkpoint {size} B\n" for files, memory, size in samples
    ]
    (tmp_path / "samples").write_text("".join(lines), encoding="utf-8")
    third = len(samples) // 3
    assert third, "too short to say anything"
    for which in (1, 2):
        middle = max(sample[which] for sample in samples[third : 2 * third])
        last = max(sample[which] for sample in samples[2 * third :])
        assert last <= 1.25 * middle, samples[:: max(len(samples) // 20, 1)]


def wait_until_read(
    checkpoint: Path, file: int, process: subprocess.Popen[bytes], limit_s: float = 300
) -> None:
    """Wait until a commit has a file of s, or a later one."""
    deadline = time.monotonic() + limit_s
    while latest_file(checkpoint) < file:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)


def latest_file(checkpoint: Path) -> int:
    """The last file of s that was read to its end, by the rows that the newest commit counts; not every commit names files."""
    for commit in sorted((checkpoint / "commits").glob("*.json"), reverse=True):
        with suppress(DamagedError):  # the run has removed it meanwhile
            state = read_sealed_json(commit)
            return int(state["engine"]["lines"]["s"]["read"]) // ROWS_PER_FILE - 1
    return -1
