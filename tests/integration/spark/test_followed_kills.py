"""Files that come while a followed run is killed and started again: every row is read once, and none late."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = "".join(
    f"CREATE STREAM {name} (ts BIGINT, x BIGINT) WITH (format = 'csv', path = '{name}/');"
    f"CREATE QUERY all_of_{name} AS SELECT x FROM {name};"
    for name in "ab"
)
NEVER = 1_000_000


def put(folder: Path, name: str, first: int, rows: int) -> None:
    """A file that nobody has touched for long appears at once."""
    folder.mkdir(exist_ok=True)
    aside = folder / f".{name}"
    lines = "".join(f"{number},{number}\n" for number in range(first, first + rows))
    aside.write_text(f"ts,x\n{lines}", encoding="utf-8")
    os.utime(aside, (1_700_000_000, 1_700_000_000))
    aside.replace(folder / name)


def started(place: Path, engine: str, passes: int) -> subprocess.Popen[bytes]:
    """A run that kills itself when it has committed so often."""
    options = ["--engine", engine, "--follow", "--rows-per-batch", "10", "--quiet"]
    files = ["--checkpoint", str(place / "state"), "--out", str(place / "out.jsonl")]
    return subprocess.Popen(
        [
            *(
                sys.executable,
                "-m",
                "tests.integration.spark.killed",
                "after_the_commit",
                str(passes),
            ),
            *("run", str(place / "p.cq"), *options, *files),
        ],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


def found(place: Path) -> Counter[tuple[str, int]]:
    file = place / "out.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    rows = [json.loads(line) for line in lines if line.endswith("}}")]
    return Counter((row["query"][-1], row["row"]["x"]) for row in rows)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.slow)])
def test_every_row_is_read_once_through_kills(engine: str, tmp_path: Path) -> None:
    (tmp_path / "p.cq").write_text(PROGRAM, encoding="utf-8")
    put(tmp_path / "a", "0.csv", 60, 1)
    put(tmp_path / "b", "0.csv", 1, 1)
    process = started(tmp_path, engine, 4)
    try:
        wait_until(lambda: len(found(tmp_path)) == 2, "the first rows did not come")
        put(tmp_path / "b", "1.csv", 2, 50)
        put(tmp_path / "a", "1.csv", 61, 30)
        assert process.wait(timeout=PATIENCE_S) == -signal.SIGKILL
        put(tmp_path / "a", "2.csv", 91, 5)
        process = started(tmp_path, engine, 2)
        assert process.wait(timeout=PATIENCE_S) == -signal.SIGKILL
        put(tmp_path / "b", "2.csv", 52, 20)
        process = started(tmp_path, engine, NEVER)
        expected = Counter({("a", x): 1 for x in range(60, 96)})
        expected += Counter({("b", x): 1 for x in range(1, 72)})
        wait_until(lambda: len(found(tmp_path)) == len(expected), "some rows were skipped")
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=PATIENCE_S) == 130
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=PATIENCE_S)
    assert found(tmp_path) == expected
