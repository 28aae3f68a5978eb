"""Results that were rotated, cut, replaced or deleted between two starts: the run goes on rightly, or does not start."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.run.durable.checkpoint import Checkpoint
from cqc.runtime.run.durable.durable_run import DurableRun

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAM = "CREATE STREAM s (ts BIGINT, k BIGINT); CREATE QUERY every_row AS SELECT ts, k FROM s;"
ROWS = 40
LATE = 3


class KilledError(Exception):
    pass


@pytest.fixture(scope="module")
def program() -> cqc.Program:
    return cqc.compile(PROGRAM)


@pytest.fixture
def options(tmp_path: Path) -> RunOptions:
    rows = [f"{ts},{ts % 3}" if ts % 10 else f"{ts}x,1" for ts in range(ROWS)]
    (tmp_path / "s.csv").write_text("ts,k\n" + "\n".join([*rows, *["1,1"] * LATE]) + "\n")
    return RunOptions(
        binds={"s": str(tmp_path / "s.csv")},
        out=str(tmp_path / "out.jsonl"),
        rejects=str(tmp_path / "rejects.jsonl"),
        late=str(tmp_path / "late.jsonl"),
        rows_per_batch=9,
        checkpoint=str(tmp_path / "checkpoint"),
    )


def killed_after(
    program: cqc.Program, options: RunOptions, batches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leave what a process leaves that is killed as it is about to commit: rows that do not count."""
    commit = Checkpoint.commit
    left = [batches]

    def commit_or_die(self: Checkpoint, *given: object) -> None:
        if not left[0]:
            raise KilledError
        left[0] -= 1
        commit(self, *given)  # type: ignore[arg-type]  # as they came

    with monkeypatch.context() as context:
        context.setattr(Checkpoint, "commit", commit_or_die)
        run = DurableRun(program, options)
        with pytest.raises(KilledError):
            run.to_end()
        run.close()


def go_on(program: cqc.Program, options: RunOptions) -> None:
    run = DurableRun(program, options)
    run.to_end()
    run.close()


def times(*files: Path) -> list[int]:
    lines = [line for file in files for line in file.read_text().splitlines()]
    return sorted(json.loads(line)["ts"] for line in lines)


EVERY = [ts for ts in range(ROWS) if ts % 10]


def rotate(path: Path) -> None:
    path.rename(path.with_name(f"{path.name}.1"))


def rotate_and_make(path: Path) -> None:
    rotate(path)
    path.touch()


def copy_and_restore(path: Path) -> None:
    data = path.read_bytes()
    rotate(path)
    path.with_name(f"{path.name}.1").unlink()
    path.write_bytes(data)


@pytest.mark.parametrize("how", [rotate, rotate_and_make])
def test_results_that_were_rotated_go_on_in_a_new_file(
    how: Callable[[Path], None],
    program: cqc.Program,
    options: RunOptions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    killed_after(program, options, 2, monkeypatch)
    for name in ("out", "rejects"):
        how(tmp_path / f"{name}.jsonl")
    go_on(program, options)
    assert times(tmp_path / "out.jsonl.1", tmp_path / "out.jsonl") == EVERY
    rejected = [
        line
        for file in ("rejects.jsonl.1", "rejects.jsonl")
        for line in (tmp_path / file).read_text().splitlines()
    ]
    assert len(rejected) == len(set(rejected)) == ROWS // 10
    assert "out.jsonl was moved to" in capsys.readouterr().err


def test_a_csv_that_was_rotated_goes_on_with_a_header_of_its_own(
    program: cqc.Program, options: RunOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = replace(options, sink="csv", out=str(tmp_path / "out.csv"))
    killed_after(program, options, 2, monkeypatch)
    rotate(tmp_path / "out.csv")
    go_on(program, options)
    first, second = (
        (tmp_path / name).read_text().splitlines() for name in ("out.csv.1", "out.csv")
    )
    assert (
        first[0]
        == second[0]
        == "query,ts,result_ts,k".replace(
            "ts,result_ts", first[0].split(",")[1] + "," + first[0].split(",")[2]
        )
    )
    assert len(first) + len(second) == len(EVERY) + 2


def test_results_that_were_copied_back_are_what_they_were(
    program: cqc.Program, options: RunOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_after(program, options, 2, monkeypatch)
    copy_and_restore(tmp_path / "out.jsonl")
    go_on(program, options)
    assert times(tmp_path / "out.jsonl") == EVERY


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 3)


def write_over(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(b"?" * len(data))


def rotate_and_begin(path: Path) -> None:
    rotate(path)
    path.write_text("something else\n" * 100)


@pytest.mark.parametrize("sink", ["jsonl", "csv", "table", "csv in a folder"])
@pytest.mark.parametrize("how", [Path.unlink, cut, write_over, rotate_and_begin])
def test_results_that_cannot_agree_are_refused_and_left_alone(
    how: Callable[[Path], None],
    sink: str,
    program: cqc.Program,
    options: RunOptions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kind = sink.partition(" ")[0]
    out = tmp_path / "results" if "folder" in sink else tmp_path / f"out.{kind}"
    options = replace(options, sink=kind, out=str(out))
    killed_after(program, options, 2, monkeypatch)
    file = out / "every_row.csv" if "folder" in sink else out
    how(file)
    before = file.read_bytes() if file.exists() else None
    with pytest.raises(RunError, match=rf"{file.name} .*results that count.*another --out$"):
        DurableRun(program, options)
    assert (file.read_bytes() if file.exists() else None) == before
    elsewhere = replace(options, out=f"{out}-2" if "folder" in sink else f"{out}.{kind}")
    go_on(program, elsewhere)  # as the sentence says


@pytest.mark.parametrize("name", ["rejects", "late"])
@pytest.mark.parametrize("how", [Path.unlink, cut, write_over])
def test_files_beside_the_results_are_watched_too(
    how: Callable[[Path], None],
    name: str,
    program: cqc.Program,
    options: RunOptions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    killed_after(program, options, 5, monkeypatch)
    before = (tmp_path / "out.jsonl").read_bytes()
    how(tmp_path / f"{name}.jsonl")
    with pytest.raises(RunError, match=rf"{name}.jsonl .*that count.*another --{name}$"):
        DurableRun(program, options)
    assert (tmp_path / "out.jsonl").read_bytes() == before


def test_results_named_elsewhere_go_on_there_and_are_cut_where_they_were(
    program: cqc.Program, options: RunOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_after(program, options, 2, monkeypatch)
    go_on(program, replace(options, out=str(tmp_path / "second.jsonl")))
    assert times(tmp_path / "out.jsonl", tmp_path / "second.jsonl") == EVERY


def test_results_that_are_rotated_while_a_run_writes_them_end_it_and_nothing_is_lost(
    program: cqc.Program, options: RunOptions, tmp_path: Path
) -> None:
    run = DurableRun(program, options)
    run.read_tables()
    run.process(run.next_ranges())
    rotate(tmp_path / "out.jsonl")
    with pytest.raises(RunError, match=r"out.jsonl was moved .*start again to go on"):
        run.process(run.next_ranges())
    run.close()
    go_on(program, options)
    assert times(tmp_path / "out.jsonl.1", tmp_path / "out.jsonl") == EVERY


def test_results_that_are_cut_while_a_run_writes_them_end_it(
    program: cqc.Program, options: RunOptions, tmp_path: Path
) -> None:
    run = DurableRun(program, options)
    run.read_tables()
    run.process(run.next_ranges())
    os.truncate(tmp_path / "out.jsonl", 0)
    with pytest.raises(RunError, match=r"out.jsonl was written or cut by somebody else"):
        run.process(run.next_ranges())
    run.close()


def taken_away(folder: Path) -> int:
    """Take away the files that can be seen, as a loader does; how many rows they have."""
    files = [file for file in folder.glob("*.parquet") if not file.name.startswith(".")]
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    for file in files:
        file.unlink()
    return rows


def test_parquet_files_may_be_taken_away_and_no_row_comes_twice(
    program: cqc.Program,
    options: RunOptions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = replace(options, sink="parquet", out=str(tmp_path / "out"))
    killed_after(program, options, 2, monkeypatch)
    loaded = taken_away(tmp_path / "out")
    go_on(program, options)
    assert "was taken away; going on after it" in capsys.readouterr().err
    assert loaded + taken_away(tmp_path / "out") == len(EVERY)


def test_a_parquet_file_that_was_cut_is_refused(
    program: cqc.Program, options: RunOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = replace(options, sink="parquet", out=str(tmp_path / "out"))
    killed_after(program, options, 2, monkeypatch)
    cut(max((tmp_path / "out").glob("*.parquet")))
    with pytest.raises(RunError, match=r"000001.parquet does not have the .* bytes .* that count"):
        DurableRun(program, options)


def test_a_parquet_file_that_counts_but_was_not_shown_is_shown_at_the_next_start(
    program: cqc.Program, options: RunOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cqc.runtime.sinks.parquet_batches import ParquetBatches

    options = replace(options, sink="parquet", out=str(tmp_path / "out"))

    def die(self: ParquetBatches, number: int) -> None:
        raise KilledError

    with monkeypatch.context() as context:
        context.setattr(ParquetBatches, "show", die)
        run = DurableRun(program, options)
        with pytest.raises(KilledError):
            run.to_end()
        run.close()
    assert taken_away(tmp_path / "out") == 0
    go_on(program, options)
    assert taken_away(tmp_path / "out") == len(EVERY)


def test_a_run_does_not_go_back_behind_parquet_files_that_were_taken_away(
    program: cqc.Program, options: RunOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = replace(options, sink="parquet", out=str(tmp_path / "out"))
    killed_after(program, options, 2, monkeypatch)
    taken_away(tmp_path / "out")
    newest = max((tmp_path / "checkpoint" / "commits").glob("*.json"))
    newest.write_bytes(newest.read_bytes()[:-1])
    with pytest.raises(RunError, match=r"damaged .*cannot go back .*000001.parquet does not have"):
        DurableRun(program, options)
