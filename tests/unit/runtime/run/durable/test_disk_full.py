"""A disk without room ends a run with one sentence wherever that happens, and nothing is lost or repeated afterwards.

The limit is the operating system's own, on the size of files: writes fail at any byte, also in the middle of a record.
"""

from __future__ import annotations

import resource
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.run.durable.durable_run import DurableRun

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = """
CREATE STREAM s (ts BIGINT, k BIGINT, name STRING);
CREATE QUERY joined AS SELECT x.ts AS t, y.name FROM s x, s y WHERE x.k = y.k AND x.ts = y.ts MAXWINDOW 99 SEC;
"""
ROWS = 40


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file may grow beyond a size meanwhile."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def options(tmp_path: Path) -> RunOptions:
    rows = [f"{ts},{ts % 5},name{ts}" for ts in range(ROWS)]
    bad = [f"x{ts},1,n" for ts in range(ROWS)]
    (tmp_path / "s.csv").write_text("ts,k,name\n" + "\n".join([*rows, *bad]) + "\n")
    return RunOptions(
        binds={"s": str(tmp_path / "s.csv")},
        out=str(tmp_path / "out.jsonl"),
        rejects=str(tmp_path / "rejects.jsonl"),
        rows_per_batch=11,
        checkpoint=str(tmp_path / "checkpoint"),
    )


def go_on(program: cqc.Program, options: RunOptions) -> str | None:
    """Run to the end, or as far as there is room; what is said then."""
    run = None
    try:
        run = DurableRun(program, options)
        run.to_end()
    except RunError as error:
        return str(error)
    finally:
        if run is not None:
            run.close()
    return None


def whole(program: cqc.Program, options: RunOptions, tmp_path: Path) -> list[str]:
    expected = replace(
        options, checkpoint=str(tmp_path / "c"), out=str(tmp_path / "expected"), rejects=None
    )
    assert go_on(program, expected) is None
    return (tmp_path / "expected").read_text().splitlines()


def test_a_run_that_finds_no_room_at_any_place_goes_on_when_there_is_some(
    options: RunOptions, tmp_path: Path
) -> None:
    program = cqc.compile(PROGRAM)
    expected = whole(program, options, tmp_path)
    where = set()
    for size in (0, 100, 900, 1200, 1500, 1700, 2000, 2600, 3200, 3600):
        with room_for(size):
            sentence = go_on(program, options)
        assert sentence is not None
        assert sentence.startswith("cannot write ")
        assert sentence.endswith("File too large")
        assert "\n" not in sentence
        where.add("checkpoint" if "the checkpoint" in sentence else sentence.split()[2])
    assert len(where) > 1, "results and the checkpoint have both found no room"
    assert go_on(program, options) is None
    assert (tmp_path / "out.jsonl").read_text().splitlines() == expected
    assert len((tmp_path / "rejects.jsonl").read_text().splitlines()) == ROWS


@pytest.mark.parametrize("sink", ["csv", "parquet", "table"])
def test_other_formats_go_on_too(sink: str, options: RunOptions, tmp_path: Path) -> None:
    program = cqc.compile(PROGRAM)
    options = replace(options, sink=sink, out=str(tmp_path / f"out.{sink}"))
    for size in (0, 400, 1200, 2500):
        with room_for(size):
            sentence = go_on(program, options)
        assert sentence is not None
        assert sentence.startswith("cannot write ")
        assert sentence.endswith("File too large")
    assert go_on(program, options) is None
    out = tmp_path / f"out.{sink}"
    if sink == "parquet":
        import pyarrow.parquet as pq

        assert pq.read_table(out).num_rows == ROWS
    elif sink == "csv":
        assert len(set(out.read_text().splitlines())) == ROWS + 1
        assert len(out.read_text().splitlines()) == ROWS + 1
    else:
        lines = out.read_text().splitlines()
        assert sum("name" in line and line[:1] in " 0123456789" for line in lines) >= ROWS
