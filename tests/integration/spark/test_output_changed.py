"""Results that were rotated, cut or deleted between a kill and the next start on Spark: it goes on rightly, or does not start."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.run.durable.checkpoint import Checkpoint
from cqc.runtime.spark.distributed.run import DistributedRun
from cqc.runtime.spark.run import SparkRun

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.runtime.spark.session.session import Session

PROGRAM = "CREATE STREAM s (ts BIGINT, k BIGINT); CREATE QUERY every_row AS SELECT k FROM s;"
ROWS = 40


class KilledError(Exception):
    pass


def run_of(options: RunOptions, session: Session) -> SparkRun | DistributedRun:
    make = DistributedRun if options.distribute else SparkRun
    return make(cqc.compile(PROGRAM), options, session)


def killed(
    folder: Path, out: str, session: Session, monkeypatch: pytest.MonkeyPatch, **more: object
) -> RunOptions:
    """Leave what a process leaves that is killed as it is about to commit its third micro-batch."""
    (folder / "s.csv").write_text("ts,k\n" + "".join(f"{ts},{ts}\n" for ts in range(ROWS)))
    options = RunOptions(
        binds={"s": str(folder / "s.csv")},
        out=f"{folder}/{out}",  # a slash at its end means a folder
        checkpoint=str(folder / "checkpoint"),
        rows_per_batch=9,
        engine="spark",
        **more,  # type: ignore[arg-type]  # of several types
    )
    commit = Checkpoint.commit
    left = [2]

    def commit_or_die(self: Checkpoint, *given: object) -> None:
        if not left[0]:
            raise KilledError
        left[0] -= 1
        commit(self, *given)  # type: ignore[arg-type]  # as they came

    with monkeypatch.context() as context:
        context.setattr(Checkpoint, "commit", commit_or_die)
        run = run_of(options, session)
        with pytest.raises(KilledError):
            run.to_end()
        run.close()
    return options


def go_on(options: RunOptions, session: Session) -> None:
    run = run_of(options, session)
    run.to_end()
    run.close()


def refuses(options: RunOptions, session: Session, file: Path) -> None:
    """A start says what is wrong and leaves the file as it is."""
    before = file.read_bytes() if file.exists() else None
    with pytest.raises(RunError, match=rf"{file.name} .*results that count.*another --out$"):
        run_of(options, session)
    assert (file.read_bytes() if file.exists() else None) == before


def check_changes(options: RunOptions, session: Session, file: Path, aside: Path) -> list[Path]:
    """Cut, delete and rotate a file of results, and go on; the files that have all the results then."""
    whole = file.read_bytes()
    os.truncate(file, len(whole) // 3)
    refuses(options, session, file)
    with file.open("r+b") as again:  # the same file of the disk
        again.write(whole)
    file.rename(aside)
    refuses(options, session, file)
    aside.rename(file)
    rotated = file.with_name(f"{file.name}.1")
    file.rename(rotated)
    go_on(options, session)
    return [rotated, file]


@pytest.mark.parametrize(
    "distribute",
    [False, pytest.param(True, marks=pytest.mark.slow)],
    ids=["in one process", "distributed"],
)
def test_lines_that_were_cut_deleted_or_rotated_are_refused_or_gone_on_from(
    distribute: bool, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "aside").mkdir()
    options = killed(tmp_path, "out.jsonl", session, monkeypatch, distribute=distribute)
    files = check_changes(options, session, tmp_path / "out.jsonl", tmp_path / "aside" / "out")
    lines = [line for file in files for line in file.read_text().splitlines()]
    assert sorted(json.loads(line)["row"]["k"] for line in lines) == list(range(ROWS))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sink", "out", "name"),
    [
        ("csv", "out.csv", ""),
        ("table", "out.txt", ""),
        ("csv", "out/", "every_row.csv"),
        ("jsonl", "out/", "every_row.jsonl"),
    ],
)
def test_other_forms_that_were_changed_are_refused_or_gone_on_from(
    sink: str,
    out: str,
    name: str,
    session: Session,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "aside").mkdir()
    options = killed(tmp_path, out, session, monkeypatch, sink=sink)
    file = tmp_path / out / name if name else tmp_path / out
    files = check_changes(options, session, file, tmp_path / "aside" / "out")
    text = "".join(file.read_text() for file in files)
    if sink == "jsonl":
        found = [json.loads(line)["row"]["k"] for line in text.splitlines()]
    else:
        words = [line.replace(",", " ").split() for line in text.splitlines()]
        found = [int(line[-1]) for line in words if line and line[-1].isdigit()]
    assert Counter(found) == Counter(range(ROWS))


@pytest.mark.slow
def test_parquet_files_that_were_cut_are_refused_and_those_taken_away_do_not_come_again(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = killed(tmp_path, "out", session, monkeypatch, sink="parquet")
    newest = max((tmp_path / "out").glob("*.parquet"))
    whole = newest.read_bytes()
    os.truncate(newest, len(whole) // 3)
    with pytest.raises(RunError, match=rf"{newest.name} does not have the .* that count"):
        run_of(options, session)
    newest.write_bytes(whole)
    found = []
    for last in (False, True):
        for file in (tmp_path / "out").glob("*.parquet"):
            found += pq.read_table(file)["k"].to_pylist()
            file.unlink()
        if not last:
            go_on(options, session)
    assert sorted(found) == list(range(ROWS))
