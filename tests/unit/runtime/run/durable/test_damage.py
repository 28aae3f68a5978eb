"""A flipped bit in any file of a checkpoint gives the right answer or one sentence, and never another answer."""

from __future__ import annotations

import os
import random
import shutil
import stat
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.run.durable import position_book
from cqc.runtime.run.durable.durable_run import DurableRun

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import RunCqc

PROGRAM = """
CREATE STREAM a (ts BIGINT, k BIGINT, x DOUBLE, name STRING) WITH (path = 'a.csv');
CREATE STREAM b (ts BIGINT, k BIGINT) WITH (path = 'b.csv');
CREATE QUERY joined AS SELECT a.x, a.name, b.k FROM a, b WHERE a.k = b.k MAXWINDOW 30 SEC;
CREATE QUERY counted AS SELECT k, COUNT(*) AS n, SUM(x) AS total FROM a BEGIN NOW - 9 END NOW EVERY 3 SEC GROUP BY k;
"""
ROWS = 24


@pytest.fixture
def options(tmp_path: Path) -> RunOptions:
    a = [f"{ts},{ts % 3},{ts * 0.5},n{ts}" for ts in range(ROWS)]
    b = [f"{ts},{ts % 3}" for ts in range(ROWS)] + [f"x{ts},1" for ts in range(ROWS)]
    (tmp_path / "a.csv").write_text("ts,k,x,name\n" + "\n".join(a) + "\n")
    (tmp_path / "b.csv").write_text("ts,k\n" + "\n".join(b) + "\n")
    return RunOptions(
        binds={name: str(tmp_path / f"{name}.csv") for name in "ab"},
        out=str(tmp_path / "out.jsonl"),
        rejects=str(tmp_path / "rejects.jsonl"),
        rows_per_batch=8,
        checkpoint=str(tmp_path / "checkpoint"),
    )


@pytest.fixture(scope="module")
def program() -> cqc.Program:
    return cqc.compile(PROGRAM)


def some_batches(program: cqc.Program, options: RunOptions, count: int) -> None:
    run = DurableRun(program, options)
    run.read_tables()
    for _ in range(count):
        run.process(run.next_ranges())
    run.close()


def to_the_end(program: cqc.Program, options: RunOptions) -> None:
    run = DurableRun(program, options)
    try:
        run.to_end()
    finally:
        run.close()


def refusal(program: cqc.Program, options: RunOptions) -> str | None:
    """Why a run does not start; None when it came to its end."""
    try:
        to_the_end(program, options)
    except RunError as error:
        return str(error)
    return None


def flips(file: Path, chooser: random.Random, count: int) -> Iterator[tuple[int, int]]:
    """Places and bits: the first bytes, the last one, and some between."""
    size = file.stat().st_size
    for place in {0, size - 1, *(chooser.randrange(size) for _ in range(count))}:
        yield place, 1 << chooser.randrange(8)


def flip(file: Path, place: int, bit: int) -> None:
    data = bytearray(file.read_bytes())
    data[place] ^= bit
    file.write_bytes(data)


def try_every_file(
    program: cqc.Program, options: RunOptions, tmp_path: Path, count: int
) -> tuple[int, int]:
    """Flip bits in every file, start again each time; how often that went on, and how often it was refused."""
    expected = sorted((tmp_path / "expected").read_text().splitlines())
    places = [tmp_path / name for name in ("checkpoint", "out.jsonl", "rejects.jsonl")]
    for each in places:
        copy = shutil.copytree if each.is_dir() else shutil.copyfile
        copy(each, tmp_path / f"kept-{each.name}")
    chooser = random.Random(4)
    went_on = refused = 0
    files = [each for each in (tmp_path / "kept-checkpoint").rglob("*") if each.is_file()]
    for file in sorted(each.relative_to(tmp_path / "kept-checkpoint") for each in files):
        damaged = tmp_path / "checkpoint" / file
        if file.name == "lock":
            continue
        for place, bit in flips(tmp_path / "kept-checkpoint" / file, chooser, count):
            for each in places:
                if each.is_dir():
                    shutil.rmtree(each)
                    shutil.copytree(tmp_path / f"kept-{each.name}", each)
                else:  # in place: a file is known by its inode
                    each.write_bytes((tmp_path / f"kept-{each.name}").read_bytes())
            flip(damaged, place, bit)
            sentence = refusal(program, options)
            if sentence is not None:
                refused += 1
                assert str(damaged) in sentence, (file, place)
                assert "\n" not in sentence
                assert "restore it from a copy" in sentence
                continue
            went_on += 1
            found = sorted((tmp_path / "out.jsonl").read_text().splitlines())
            assert found == expected, (file, place)
            assert len((tmp_path / "rejects.jsonl").read_text().splitlines()) == ROWS
    return went_on, refused


def prepare(program: cqc.Program, options: RunOptions, tmp_path: Path, batches: int) -> None:
    whole = replace(
        options, checkpoint=str(tmp_path / "c"), out=str(tmp_path / "expected"), rejects=None
    )
    to_the_end(program, whole)
    some_batches(program, options, batches)


def test_a_flipped_bit_is_repaired_or_refused_and_never_another_answer(
    program: cqc.Program, options: RunOptions, tmp_path: Path
) -> None:
    prepare(program, options, tmp_path, 5)
    went_on, refused = try_every_file(program, options, tmp_path, 1)
    assert went_on > 20  # older commits, ranges, and the last commit, from which the run goes back
    assert refused > 10  # tuples that both commits name


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("batches", [1, 2, 9])
def test_a_flipped_bit_anywhere_is_repaired_or_refused(
    batches: int,
    program: cqc.Program,
    options: RunOptions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(position_book, "MOST", 0)  # so that there is a file of positions
    prepare(program, options, tmp_path, batches)
    try_every_file(program, options, tmp_path, 24)


def test_a_damaged_commit_is_said_aloud_and_done_again(
    program: cqc.Program, options: RunOptions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(program, options, tmp_path, 5)
    newest = max((tmp_path / "checkpoint" / "commits").glob("*.json"))
    flip(newest, 200, 4)
    capsys.readouterr()
    to_the_end(program, options)
    said = capsys.readouterr().err
    assert f"note: {newest} is damaged" in said
    assert "going on from the commit before it, micro-batch 4 is done again" in said
    assert sorted((tmp_path / "out.jsonl").read_text().splitlines()) == sorted(
        (tmp_path / "expected").read_text().splitlines()
    )


def test_a_run_does_not_go_back_when_what_it_had_read_has_gone(
    program: cqc.Program, options: RunOptions, tmp_path: Path
) -> None:
    prepare(program, options, tmp_path, 5)
    before = (tmp_path / "out.jsonl").read_bytes()
    newest = max((tmp_path / "checkpoint" / "commits").glob("*.json"))
    flip(newest, 200, 4)
    (tmp_path / "a.csv").write_text("ts,k,x,name\n1,1,1,n\n")
    with pytest.raises(RunError, match=r"damaged .*cannot go back .*had read of .*a.csv is not"):
        to_the_end(program, options)
    assert (tmp_path / "out.jsonl").read_bytes() == before


def test_a_run_does_not_go_back_behind_what_was_printed(
    program: cqc.Program, options: RunOptions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printing = replace(options, out=None)
    some_batches(program, printing, 5)
    before = capsys.readouterr().out
    newest = max((tmp_path / "checkpoint" / "commits").glob("*.json"))
    kept = newest.read_bytes()
    flip(newest, 200, 4)
    with pytest.raises(RunError, match=r"damaged .*cannot go back .*older than what was printed"):
        to_the_end(program, printing)
    assert capsys.readouterr().out == ""
    newest.write_bytes(kept)
    to_the_end(program, printing)
    whole = replace(options, checkpoint=str(tmp_path / "c"), rejects=None)
    to_the_end(program, whole)
    printed = (before + capsys.readouterr().out).splitlines()
    assert sorted(printed) == sorted((tmp_path / "out.jsonl").read_text().splitlines())


def test_a_checkpoint_of_an_earlier_version_is_refused_in_one_sentence(
    program: cqc.Program, options: RunOptions, tmp_path: Path
) -> None:
    some_batches(program, options, 2)
    for file in (tmp_path / "checkpoint" / "commits").glob("*.json"):
        file.write_bytes(file.read_bytes().partition(b"\n")[2])  # as it was before
    with pytest.raises(RunError, match="earlier version of cqc, without checksums: let that"):
        to_the_end(program, options)


def test_a_checkpoint_whose_commits_have_gone_is_not_a_new_one(
    program: cqc.Program, options: RunOptions, tmp_path: Path
) -> None:
    some_batches(program, options, 3)
    before = (tmp_path / "out.jsonl").read_bytes()
    shutil.rmtree(tmp_path / "checkpoint" / "commits")
    with pytest.raises(RunError, match="commits is empty, although tuples of later commits exist"):
        to_the_end(program, options)
    assert (tmp_path / "out.jsonl").read_bytes() == before


def test_a_damaged_checkpoint_ends_the_command_with_code_3(
    tmp_path: Path, options: RunOptions, run_cqc: RunCqc
) -> None:
    (tmp_path / "p.cq").write_text(PROGRAM)
    command = ("run", tmp_path / "p.cq", "--engine", "local", "--checkpoint", tmp_path / "c")
    assert run_cqc(*command, "--out", tmp_path / "out.jsonl").returncode == 0
    for file in (tmp_path / "c" / "commits").glob("*.json"):
        flip(file, 300, 1)
    finished = run_cqc(*command, "--out", tmp_path / "out.jsonl")
    assert finished.returncode == 3
    assert finished.stderr.startswith("error: ")
    assert "is damaged (its checksum is wrong)): restore it from a copy" in finished.stderr
    assert len(finished.stderr.splitlines()) == 1


def test_a_checkpoint_is_private_whatever_the_umask_says(
    program: cqc.Program, options: RunOptions, tmp_path: Path
) -> None:
    before = os.umask(0)
    try:
        some_batches(program, options, 3)
    finally:
        os.umask(before)
    for each in [tmp_path / "checkpoint", *(tmp_path / "checkpoint").rglob("*")]:
        mode = stat.S_IMODE(each.stat().st_mode)
        assert mode == (0o700 if each.is_dir() else 0o600), each
