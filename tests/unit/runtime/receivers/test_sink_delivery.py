"""From results to sinks: queries with INTO go there alone, a full spool blocks or drops, and says so."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, ClassVar

import pytest

import cqc
from cqc.runtime.options import RunOptions
from cqc.runtime.receivers.receiver import UnreachableError
from cqc.runtime.run.finite_run import LocalRun
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cqc.runtime.receivers.receiver import Sent, Setting


class Gate:
    """A receiver that takes nothing until it is opened."""

    at_once = 10
    opened = threading.Event()
    taken: ClassVar[list[int]] = []

    def __init__(self, setting: Setting) -> None:
        del setting

    def send(self, results: Sequence[Sent]) -> None:
        if not Gate.opened.is_set():
            raise UnreachableError("closed")
        Gate.taken += [each.value()["row"]["x"] for each in results]

    def stored(self) -> int | None:
        return None

    def close(self) -> None:
        pass


@pytest.fixture
def run(tmp_path: Path, request: pytest.FixtureRequest) -> LocalRun:
    cqc.sink("gate", Gate)
    Gate.opened.clear()
    Gate.taken = []
    (tmp_path / "s.csv").write_text("ts,x\n" + "".join(f"{at},{at}\n" for at in range(400)))
    (tmp_path / "p.cq").write_text(
        f"CREATE SINK slow WITH (type = 'gate', spool = '2 kB', when_full = '{request.param}');"
        "CREATE STREAM s (ts BIGINT, x BIGINT) WITH (path = 's.csv');"
        "CREATE QUERY sent INTO slow AS SELECT x FROM s;"
        "CREATE QUERY shown AS SELECT x FROM s WHERE x < 3;"
    )
    options = RunOptions(rows_per_batch=20, out=str(tmp_path / "out.jsonl"))
    return LocalRun(cqc.compile_files(tmp_path / "p.cq"), options)


@pytest.mark.parametrize("run", ["block"], indirect=True)
def test_a_full_spool_holds_the_run_back_until_there_is_room(
    run: LocalRun, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    working = threading.Thread(target=run.to_end)
    working.start()
    told, until = "", time.monotonic() + PATIENCE_S
    while "is full" not in told and time.monotonic() < until:
        told += capfd.readouterr().err
        time.sleep(0.02)
    assert "the spool of sink slow is full: the run waits for its receiver" in told
    assert working.is_alive()
    Gate.opened.set()
    working.join(PATIENCE_S)
    (status,) = run.close().sinks
    assert Gate.taken == list(range(400))
    assert (status.sent, status.dropped) == (400, 0)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["query"] for line in lines] == ["shown"] * 3


@pytest.mark.parametrize("run", ["drop_oldest"], indirect=True)
def test_the_oldest_are_dropped_where_the_sink_says_so(run: LocalRun) -> None:
    threading.Timer(1.0, Gate.opened.set).start()
    run.to_end()
    (status,) = run.close().sinks
    assert Gate.taken == sorted(Gate.taken)
    assert Gate.taken[-1] == 399
    assert status.dropped > 0
    assert status.sent + status.dropped == 400
