"""Ctrl-C in the middle of a join that would take minutes: the engine behind Spark gives up, and nothing half done counts."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.cli.running import run_to_end
from cqc.runtime.adapt.work_watch import WorkWatch
from cqc.runtime.options import RunOptions
from cqc.runtime.spark.run import SparkRun
from tests.unit.cli.test_stop_in_a_join import DECLARED, FIVE, rows_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cqc.runtime.spark.session.session import Session


@pytest.fixture
def python_hears_ctrl_c() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("python_hears_ctrl_c")
def test_the_engine_gives_up_and_the_next_run_repeats_the_micro_batch(
    session: Session,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source, out = tmp_path / "s.csv", tmp_path / "out.jsonl"
    source.write_text("ts,v\n" + "".join(f"{at // 10},{at}\n" for at in range(300)))
    options = RunOptions(engine="spark", checkpoint=str(tmp_path / "state"), out=str(out))
    monkeypatch.setattr(
        "cqc.cli.running.open_run", lambda program, options: SparkRun(program, options, session)
    )
    known, joined = WorkWatch.taken, []

    def taken(watch: WorkWatch) -> float:
        if not joined:
            joined.append(threading.current_thread())
            os.kill(os.getpid(), signal.SIGINT)
        return known(watch)

    monkeypatch.setattr(WorkWatch, "taken", taken)
    program = cqc.compile(DECLARED.format(source) + FIVE)
    assert run_to_end(program, options, quiet=False, progress=False) == 130
    assert joined[0] is threading.main_thread()
    told = capsys.readouterr().err
    assert told.startswith("interrupted\n")
    assert "Traceback" not in told
    assert rows_in(out) == []
    without_the_join = cqc.compile(DECLARED.format(source))
    assert run_to_end(without_the_join, options, quiet=True, progress=False) == 0
    assert rows_in(out) == list(range(250))
