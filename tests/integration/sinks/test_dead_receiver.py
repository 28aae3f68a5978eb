"""A receiver that is dead for an hour: nothing is lost, nobody else waits. One that refuses everything is told aloud.

An hour of attempts is sixty, one a minute; here the pauses between them are milliseconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, ClassVar

import pytest

import cqc
from cqc.cli.running import open_run
from cqc.runtime.options import RunOptions
from cqc.runtime.receivers import sender
from cqc.runtime.receivers.receiver import UnreachableError
from tests.integration.sinks.receivers import Hook
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cqc.runtime.receivers.receiver import Sent, Setting

ROWS, ATTEMPTS = 3_600, 60


class Dead:
    """A receiver that nobody can connect to until it is opened."""

    at_once = 500
    opened = threading.Event()
    attempts = 0
    taken: ClassVar[list[Sent]] = []

    def __init__(self, setting: Setting) -> None:
        del setting
        Dead.attempts += 1
        if not Dead.opened.is_set():
            raise UnreachableError("nobody is there")

    def send(self, results: Sequence[Sent]) -> None:
        Dead.taken += results

    def stored(self) -> int | None:
        return None

    def close(self) -> None:
        pass


@pytest.mark.parametrize("durable", [False, True])
def test_an_hour_without_a_receiver(
    durable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "_PAUSES_S", (0.001, 0.005))
    cqc.sink("dead", Dead)
    Dead.opened.clear()
    Dead.attempts, Dead.taken = 0, []
    lines = "".join(f"{at},{at}\n" for at in range(ROWS))
    (tmp_path / "s.csv").write_text(f"ts,x\n{lines}")
    (tmp_path / "p.cq").write_text(
        "CREATE SINK gone WITH (type = 'dead'); CREATE SINK lines WITH (type = 'file', path = 'there.jsonl');"
        "CREATE STREAM s (ts BIGINT, x BIGINT) WITH (path = 's.csv');"
        "CREATE QUERY q INTO gone, lines AS SELECT x FROM s;"
    )
    checkpoint = str(tmp_path / "kept") if durable else None
    options = RunOptions(rows_per_batch=60, checkpoint=checkpoint, drain_s=PATIENCE_S)
    run = open_run(cqc.compile_files(tmp_path / "p.cq"), options)
    working = threading.Thread(target=run.to_end)  # type: ignore[attr-defined]  # of both
    working.start()
    there, until = tmp_path / "there.jsonl", time.monotonic() + PATIENCE_S

    def others_have_all() -> bool:
        return there.exists() and there.read_text().count("\n") == ROWS

    while not (others_have_all() and Dead.attempts >= ATTEMPTS) and time.monotonic() < until:
        time.sleep(0.02)
    assert others_have_all()
    assert Dead.attempts >= ATTEMPTS
    assert Dead.taken == []
    assert working.is_alive()  # it waits for the receiver, with everything else done
    Dead.opened.set()
    working.join(PATIENCE_S)
    gone, lines_ = sorted(run.close().sinks, key=lambda each: each.name)
    assert (gone.sent, gone.waiting, gone.dropped, gone.lost) == (ROWS, 0, 0, 0)
    assert lines_.sent == ROWS
    assert [each.value()["row"]["x"] for each in Dead.taken] == list(range(ROWS))
    ids = [json.loads(line)["id"] for line in there.read_text().splitlines()]
    assert [each.id for each in Dead.taken] == ids
    assert len(set(ids)) == ROWS


@pytest.mark.parametrize("letters", ["", ", dead_letters = 'dead.jsonl'"])
def test_a_webhook_that_refuses_everything_is_told(letters: str, tmp_path: Path) -> None:
    hook = Hook()
    hook.answers = [404, 410, 301]
    try:
        (tmp_path / "s.csv").write_text("ts,x\n1,1\n2,2\n3,3\n")
        (tmp_path / "p.cq").write_text(
            f"CREATE SINK hook WITH (type = 'webhook', url = '{hook.url}'{letters});"
            "CREATE STREAM s (ts BIGINT, x BIGINT) WITH (path = 's.csv');"
            "CREATE QUERY q INTO hook AS SELECT x FROM s;"
        )
        done = subprocess.run(
            [sys.executable, "-m", "cqc.cli.main", "run", "p.cq"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    finally:
        hook.close()
    if letters:
        assert done.returncode == 0, done.stderr
        assert "sink hook: 0 sent, 3 refused\n" in done.stderr
        assert (tmp_path / "dead.jsonl").read_text().count("\n") == 3
    else:
        assert done.returncode == 3, done.stderr
        assert "sink hook: 0 sent, 3 refused, 3 of them lost\n" in done.stderr
        assert "error: results were refused and are lost: 3 results for sink hook" in done.stderr
        assert "answered 301" in done.stderr
