"""Ctrl-C and SIGTERM in the middle of a join that would take minutes: it gives up by itself, and nothing half done counts."""

from __future__ import annotations

import json
import os
import signal
import threading
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.cli.running import run_to_end
from cqc.runtime.adapt.work_watch import WorkWatch
from cqc.runtime.errors import Halted
from cqc.runtime.options import RunOptions
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DECLARED = (
    "CREATE STREAM s (ts BIGINT, v BIGINT) WITH (path = '{}'); SELECT v FROM s WHERE v < 250;"
)
FIVE = (
    "SELECT a.v AS v FROM s a, s b, s c, s d, s e WHERE a.v < b.v AND b.v < c.v AND c.v < d.v"
    " AND d.v + a.v * e.v < 0 MAXWINDOW 1 HOUR;"
)


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def stop(request: pytest.FixtureRequest) -> Iterator[signal.Signals]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    number: signal.Signals = request.param
    yield number
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def ask_in_the_join(stop: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """When it is set, the next join that works for a while is asked to stop; nobody interrupts it soon where it stands."""
    monkeypatch.setattr("cqc.cli.interrupts.PATIENCE_S", PATIENCE_S / 2)
    known, wanted = WorkWatch.taken, threading.Event()

    def taken(watch: WorkWatch) -> float:
        if wanted.is_set():
            wanted.clear()
            os.kill(os.getpid(), stop)
        return known(watch)

    monkeypatch.setattr(WorkWatch, "taken", taken)
    return wanted


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What joins were told when they gave up by themselves."""
    known, told = WorkWatch.check_halted, []

    def check_halted(watch: WorkWatch) -> None:
        try:
            known(watch)
        except Halted as halted:
            told.append(str(halted))
            raise

    monkeypatch.setattr(WorkWatch, "check_halted", check_halted)
    return told


def rows_in(file: Path) -> list[int]:
    return [json.loads(line)["row"]["v"] for line in file.read_text().splitlines()]


@pytest.mark.parametrize("follow", [False, True], ids=["finite", "follow"])
def test_a_join_without_end_gives_up(
    follow: bool,
    tmp_path: Path,
    ask_in_the_join: threading.Event,
    heard: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = tmp_path / "s.csv"
    source.write_text("ts,v\n" + "".join(f"{at // 10},{at}\n" for at in range(200)))
    program = cqc.compile(DECLARED.format(source) + FIVE)
    options = RunOptions(engine="local", follow=follow)
    ask_in_the_join.set()
    assert run_to_end(program, options, quiet=False, progress=False) == 130
    assert heard == ["the run is stopping"]
    told = capsys.readouterr().err
    assert told.startswith("interrupted\ns: 200 read, 0 late, 0 rejected\nq1: 0 results\n")


def test_a_micro_batch_that_was_given_up_is_repeated_by_the_next_run(
    tmp_path: Path, ask_in_the_join: threading.Event, heard: list[str]
) -> None:
    folder, out = tmp_path / "data", tmp_path / "out.jsonl"
    folder.mkdir()
    (folder / "0.csv").write_text("ts,v\n0,0\n0,1\n")  # a micro-batch that counts
    options = RunOptions(engine="local", checkpoint=str(tmp_path / "state"), out=str(out))
    declared = DECLARED.format(folder).replace("path", "format = 'csv', path")
    program = cqc.compile(declared + FIVE)
    assert run_to_end(program, options, quiet=True, progress=False) == 0
    assert rows_in(out) == [0, 1]
    (folder / "1.csv").write_text("ts,v\n" + "".join(f"1,{at}\n" for at in range(2, 300)))
    ask_in_the_join.set()
    assert run_to_end(program, options, quiet=True, progress=False) == 130
    assert heard == ["the run is stopping"]
    assert rows_in(out) == [0, 1]
    without_the_join = cqc.compile(declared)
    assert run_to_end(without_the_join, options, quiet=True, progress=False) == 0
    assert rows_in(out) == list(range(250))
