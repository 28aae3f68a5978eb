"""A flipped bit in what a run on Spark has written down gives the right answer or one sentence.

What counts is in our checkpoint. Spark's own files are in a folder of its session and are not looked at by the next run; while a
run goes on, Spark reads some of them again.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cqc
import cqc.spark
from cqc.runtime.errors import RunError
from cqc.runtime.files.sealed import ADVICE
from cqc.runtime.options import RunOptions
from cqc.runtime.sources.range import Range
from cqc.runtime.spark.run import SparkRun
from cqc.runtime.spark.session.feed import Feed
from tests.integration.spark.distributed.test_damage import flip
from tests.integration.spark.distributed.test_run import Patience, Stopped, lines_of
from tests.integration.spark.test_command import children
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from cqc.runtime.spark.session.session import Session

PROGRAM = """
CREATE STREAM a (ts BIGINT, k BIGINT);
CREATE STREAM b (ts BIGINT, k BIGINT);
CREATE QUERY pairs AS SELECT a.ts AS a, b.ts AS b FROM a, b WHERE a.k = b.k MAXWINDOW 20 SEC;
"""
ROWS = 40
PER_BATCH = 5
OURS = {"commits", "tuples", "lock", "positions.log", "program.json"}
KINDS = ("metadata", "offsets/*", "commits/*", "sources/0/*")  # of files that Spark writes


@pytest.fixture
def options(tmp_path: Path) -> RunOptions:
    lines = "".join(f"{ts},{ts % 3}\n" for ts in range(ROWS))
    for stream in "ab":
        (tmp_path / f"{stream}.csv").write_text(f"ts,k\n{lines}")
    return RunOptions(
        binds={stream: str(tmp_path / f"{stream}.csv") for stream in "ab"},
        out=str(tmp_path / "out.jsonl"),
        checkpoint=str(tmp_path / "checkpoint"),
        rows_per_batch=PER_BATCH,
        engine="spark",
    )


@pytest.fixture
def expected() -> list[str]:
    found = [
        (max(a, b), f'{{"query": "pairs", "ts": {max(a, b)}, "row": {{"a": {a}, "b": {b}}}}}')
        for a in range(ROWS)
        for b in range(ROWS)
        if a % 3 == b % 3 and abs(a - b) <= 20
    ]
    return sorted(line for _, line in found)


def outcome(
    options: RunOptions, session: Session, progress: Callable[[int], None] | None = None
) -> str | None:
    """Why a run does not come to its end; None when it does."""
    run = None
    try:
        run = SparkRun(cqc.compile(PROGRAM), options, session)
        run.to_end(progress)
    except RunError as error:
        return str(error)
    finally:
        if run is not None:
            run.close()
    return None


def stop_in_the_middle(options: RunOptions, session: Session) -> None:
    with suppress(Stopped):
        outcome(options, session, Patience(4))


def flips_are_refused_or_harmless(
    files: list[Path],
    options: RunOptions,
    session: Session,
    expected: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> dict[str, int]:
    """Flip a bit of each file of a checkpoint in turn; how often the run went on, and how often it did not."""
    folder, kept = tmp_path / "checkpoint", tmp_path / "kept"
    shutil.copytree(folder, kept)
    results = (tmp_path / "out.jsonl").read_bytes()
    chooser = random.Random(3)
    outcomes = {"went on": 0, "refused": 0}
    the_rest = replace(options, rows_per_batch=2 * ROWS)  # at once
    for file in files:
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)
        (tmp_path / "out.jsonl").write_bytes(results)
        flip(file, chooser)
        said = outcome(the_rest, session)
        if said is None:
            outcomes["went on"] += 1
            assert lines_of(tmp_path / "out.jsonl") == expected, file
        else:
            outcomes["refused"] += 1
            assert str(file) in said
            assert "restore it from a copy" in said
            assert "\n" not in said
        assert "Traceback" not in capsys.readouterr().err
    return outcomes


def last_commit(checkpoint: Path) -> int:
    found = (checkpoint / "commits").glob("*.json")
    return max((int(file.stem) for file in found), default=-1)


def files_of(folder: Path) -> list[Path]:
    return sorted(each for each in folder.rglob("*") if each.is_file() and each.stat().st_size)


def test_nothing_of_sparks_is_in_the_checkpoint_of_a_run(
    options: RunOptions,
    session: Session,
    expected: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stop_in_the_middle(options, session)
    folder = tmp_path / "checkpoint"
    found = {str(file.relative_to(folder)) for file in files_of(folder)}
    assert {name.partition("/")[0] for name in found} <= OURS
    newest = [max(folder.glob("commits/*.json")), max(folder.glob("tuples/*.arrow"))]
    outcomes = flips_are_refused_or_harmless(newest, options, session, expected, tmp_path, capsys)
    assert outcomes["went on"]  # from the commit before


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_flipped_bit_in_any_file_of_the_checkpoint_is_repaired_or_refused(
    options: RunOptions,
    session: Session,
    expected: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stop_in_the_middle(options, session)
    files = files_of(tmp_path / "checkpoint")
    outcomes = flips_are_refused_or_harmless(files, options, session, expected, tmp_path, capsys)
    assert outcomes["went on"]


def one_flip(
    kind: str,
    after: int,
    options: RunOptions,
    session: Session,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> str | None:
    """Run, and flip a bit in the newest of Spark's files of a kind after so many micro-batches."""
    place = tmp_path / "of the session"
    monkeypatch.setattr(session, "new_folder", lambda: place)
    left = [after]
    chooser = random.Random(after)

    def progress(read: int) -> None:
        del read
        left[0] -= 1
        if not left[0]:
            flip(max((place / "spark").glob(kind)), chooser)

    said = outcome(options, session, progress)
    assert left[0] <= 0
    shutil.rmtree(place, ignore_errors=True)
    return said


@pytest.mark.parametrize(
    ("kind", "after"),
    [
        ("sources/0/*", 4),
        *[
            pytest.param(kind, after, marks=pytest.mark.slow)
            for kind in KINDS
            for after in (2, 5, 9, 12)
        ],
    ],
)
def test_a_flipped_bit_in_sparks_own_files_is_one_sentence_and_a_start_goes_on(
    kind: str,
    after: int,
    options: RunOptions,
    session: Session,
    expected: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as context:
        said = one_flip(kind, after, options, session, tmp_path, context)
    if said is not None:
        assert said.startswith("Spark ")
        assert said.endswith("start again to go on from the last micro-batch that counts")
        assert "\n" not in said
        assert outcome(options, session) is None
    elif kind == "sources/0/*" and after < 9:
        pytest.fail("Spark reads these files when it compacts them")
    assert lines_of(tmp_path / "out.jsonl") == expected


def test_a_file_of_ranges_that_is_damaged_on_its_way_through_spark_is_noticed(
    session: Session, tmp_path: Path
) -> None:
    ranges = [Range("s", "a.csv", "csv", 0, 10), Range("s", "b.csv", "csv", 0, 10)]
    feed = Feed(tmp_path / "feed")
    feed.put(ranges)
    (file,) = (tmp_path / "feed").glob("*.jsonl")
    whole = file.read_bytes()
    assert feed.taken(session.spark.read.text(str(file)), session) == ranges
    chooser = random.Random(4)
    for _ in range(8):
        flip(file, chooser)
        with pytest.raises(
            RunError, match=r"something else than was written to .*jsonl: .*damaged$"
        ):
            feed.taken(session.spark.read.text(str(file)), session)
        file.write_bytes(whole)
    batch = session.spark.read.text(str(file))
    file.unlink()
    with pytest.raises(RunError, match=r"^Spark failed: .*jsonl does not exist"):
        feed.taken(batch, session)


def test_a_file_that_spark_cannot_fetch_is_one_sentence_and_a_start_goes_on(
    options: RunOptions,
    session: Session,
    expected: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken = Feed.taken
    left = [3]

    def taken_too_late(self: Feed, batch: DataFrame, session: Session | None) -> list[Range]:
        left[0] -= 1
        if not left[0]:
            self._file(self._number - 1).unlink()
        return taken(self, batch, session)

    with monkeypatch.context() as context:
        context.setattr(Feed, "taken", taken_too_late)
        said = outcome(options, session)
    assert said is not None
    assert said.startswith("Spark failed: ")
    assert said.endswith("; start again to go on from the last micro-batch that counts")
    assert outcome(options, session) is None
    assert lines_of(tmp_path / "out.jsonl") == expected


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="asks /proc for child processes")
def test_a_run_whose_spark_is_killed_says_so_and_goes_on_when_it_is_started_again(
    options: RunOptions, expected: list[str], tmp_path: Path
) -> None:
    (tmp_path / "p.cq").write_text(PROGRAM)
    binds = [word for stream in "ab" for word in ("--bind", f"{stream}={tmp_path / stream}.csv")]
    command = [sys.executable, "-m", "cqc.cli.main", "run", str(tmp_path / "p.cq"), *binds]
    files = ["--out", str(options.out), "--checkpoint", str(options.checkpoint)]
    for commits in (1, 2, 5, 8):
        process = subprocess.Popen(
            [*command, *files, "--engine", "spark", "--rows-per-batch", "2"],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            wait_until(lambda least=2 * commits: last_commit(tmp_path / "checkpoint") >= least)
        finally:  # nor is anything left behind when that takes too long
            for java in children(process.pid):
                os.kill(java, signal.SIGKILL)
            told = process.communicate(timeout=PATIENCE_S)[1]
        assert process.returncode == 3, told
        errors = [line for line in told.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1
        assert errors[0].startswith("error: Spark failed: ")
        assert errors[0].endswith("; start again to go on from the last micro-batch that counts")
        assert "Traceback" not in told
    subprocess.run([*command, *files, "--quiet"], timeout=PATIENCE_S, check=True)
    assert lines_of(tmp_path / "out.jsonl") == expected


ALL_OF_S = "CREATE STREAM s (ts BIGINT, x BIGINT); SELECT x FROM s;"


def rows_through_a_handle(session: Session, tmp_path: Path, checkpoint: Path) -> list[object]:
    """What a finite program over a user's DataFrame finds until its end."""
    frame = session.spark.readStream.schema("ts bigint, x bigint").csv(str(tmp_path / "s"))
    program = cqc.compile(ALL_OF_S)
    with cqc.spark.start(
        program, session.spark, {"s": frame}, finite=True, checkpoint=checkpoint
    ) as handle:
        assert handle.await_end(200)
        return [result.row["x"] for result in handle.results()]


@pytest.mark.parametrize(
    "kinds",
    [("offsets/*", "metadata"), pytest.param(("*", "*/*", "*/*/*"), marks=pytest.mark.slow)],
)
def test_a_flipped_bit_in_sparks_part_of_a_handles_checkpoint_is_one_sentence(
    kinds: tuple[str, ...], session: Session, tmp_path: Path
) -> None:
    place, kept = tmp_path / "checkpoint", tmp_path / "kept"
    (tmp_path / "s").mkdir()
    for number in range(2):
        (tmp_path / "s" / f"{number}.csv").write_text(f"{number},{number}\n")
        assert rows_through_a_handle(session, tmp_path, place) == [number]
    shutil.copytree(place, kept)
    (tmp_path / "s" / "2.csv").write_text("2,2\n")
    files = {file for kind in kinds for file in (place / "spark").glob(kind) if file.is_file()}
    refused = []
    chooser = random.Random(5)
    for file in sorted(files):
        shutil.rmtree(place)
        shutil.copytree(kept, place)
        flip(file, chooser)
        try:
            assert rows_through_a_handle(session, tmp_path, place) == [2], file
        except RunError as error:
            refused.append(str(error))
    assert refused
    for said in refused:
        assert said.endswith(f"{place / 'spark'} is damaged: {ADVICE}")
        assert "\n" not in said
    shutil.rmtree(place)
    shutil.copytree(kept, place)
    assert rows_through_a_handle(session, tmp_path, place) == [2]
