"""A flipped bit in the checkpoint of a distributed run gives the right answer or one sentence."""

from __future__ import annotations

import random
import shutil
import stat
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.files.sealed import ADVICE
from cqc.runtime.options import RunOptions
from cqc.runtime.run.finite_run import LocalRun
from cqc.runtime.spark.distributed.run import DistributedRun
from tests.integration.spark.distributed.test_run import Patience, Stopped, lines_of

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.runtime.spark.session.session import Session

PROGRAM = """
CREATE STREAM A (ts BIGINT, k BIGINT, x BIGINT) WITH (path = 'a.csv');
CREATE STREAM B (ts BIGINT, k BIGINT, y DOUBLE) WITH (path = 'b.csv');
CREATE QUERY keyed AS SELECT A.x, B.y FROM A, B WHERE A.k = B.k MAXWINDOW 50 SEC;
"""
OURS = ("commits/*.json", "distributed/*.json", "distributed/queries")


@pytest.fixture
def stopped(session: Session, tmp_path: Path) -> tuple[cqc.Program, RunOptions]:
    """A run that was stopped after some micro-batches."""
    for stream, column in (("a", "x"), ("b", "y")):
        rows = [f"{at},{at % 3},{at}" for at in range(40)]
        (tmp_path / f"{stream}.csv").write_text("\n".join([f"ts,k,{column}", *rows]) + "\n")
    (tmp_path / "program.cq").write_text(PROGRAM)
    program = cqc.compile_files([str(tmp_path / "program.cq")])
    options = RunOptions(
        out=str(tmp_path / "out.jsonl"),
        checkpoint=str(tmp_path / "checkpoint"),
        rows_per_batch=16,
        partitions=2,
    )
    local = LocalRun(program, replace(options, out=str(tmp_path / "local"), checkpoint=None))
    local.to_end()
    local.close()
    run = DistributedRun(program, options, session)
    with suppress(Stopped):
        run.to_end(Patience(3))
    run.close()
    return program, options


def outcome(program: cqc.Program, options: RunOptions, session: Session) -> str | None:
    """Why the run does not go on; None when it came to its end."""
    run = None
    try:
        run = DistributedRun(program, options, session)
        run.to_end()
    except RunError as error:
        return str(error)
    finally:
        if run is not None:
            run.close()
    return None


def flip(path: Path, chooser: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[chooser.randrange(len(data))] ^= 1 << chooser.randrange(8)
    path.write_bytes(data)


@pytest.mark.spark
def test_a_flipped_bit_in_a_file_of_the_drivers_is_refused(
    stopped: tuple[cqc.Program, RunOptions], session: Session, tmp_path: Path
) -> None:
    program, options = stopped
    folder = tmp_path / "checkpoint"
    chooser = random.Random(1)
    for pattern in OURS:
        newest = max(folder.glob(pattern))
        kept = newest.read_bytes()
        for _ in range(4):
            flip(newest, chooser)
            said = outcome(program, options, session)
            assert said is not None
            assert said.startswith(f"{newest} is damaged (its checksum is wrong): restore it ")
            newest.write_bytes(kept)
    for each in (folder, folder / "distributed", folder / "commits"):
        assert stat.S_IMODE(each.stat().st_mode) == 0o700
    assert outcome(program, options, session) is None
    assert lines_of(tmp_path / "out.jsonl") == lines_of(tmp_path / "local")


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(1800)
def test_a_flipped_bit_in_any_file_is_repaired_or_refused(
    stopped: tuple[cqc.Program, RunOptions], session: Session, tmp_path: Path
) -> None:
    program, options = stopped
    folder, kept = tmp_path / "checkpoint", tmp_path / "kept"
    shutil.copytree(folder, kept)
    results = (tmp_path / "out.jsonl").read_bytes()
    chooser = random.Random(2)
    files = [each.relative_to(kept) for each in kept.rglob("*") if each.is_file()]
    outcomes = {"went on": 0, "refused": 0}
    for file in sorted(each for each in files if (kept / each).stat().st_size):
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)
        (tmp_path / "out.jsonl").write_bytes(results)
        flip(folder / file, chooser)
        said = outcome(program, options, session)
        if said is not None:
            outcomes["refused"] += 1
            assert "\n" not in said, file
            assert said.endswith(ADVICE), file
            assert str(folder) in said or "distributed/" in said, file
            continue
        outcomes["went on"] += 1
        assert lines_of(tmp_path / "out.jsonl") == lines_of(tmp_path / "local"), file
    assert min(outcomes.values()) > 3, outcomes
