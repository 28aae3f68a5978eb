"""`make demo`: what it prints is measured, and what it proposes can be typed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from cqc.cli.main import COMMANDS
from tests.support.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]


def test_the_demo_tells_alarms_and_savings_in_two_screens(tmp_path: Path) -> None:
    finished = subprocess.run(
        [sys.executable, "examples/demo/demo.py", "--engine", "local", "--folder", str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE_S,
        check=True,
    )
    shown = finished.stdout
    assert len(shown.splitlines()) <= 48
    assert "1,005 queries, compiled into one graph" in shown
    assert "328 alarms of 18 queries" in shown
    saved = re.search(r"one graph does it in 1/(\d+) of that", shown)
    assert saved is not None
    assert (tmp_path / "graph.svg").read_text(encoding="utf-8").startswith("<svg")
    for command in re.findall(r"\bcqc (\w+)", shown.split("What to try next")[1]):
        assert command in COMMANDS
