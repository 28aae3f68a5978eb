"""Source files that were rewritten, shortened or went away are noticed and said; nothing is lost or read twice in silence."""

from __future__ import annotations

import gzip
import json
import os
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cqc
from cqc.cli.programs import load_again
from cqc.compiler import CompileError
from cqc.runtime.errors import RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.run.batch_run import BatchRun
from cqc.runtime.run.durable.durable_run import DurableRun
from cqc.runtime.serve.source_feed import SourceFeed

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = "CREATE STREAM s (ts BIGINT, x BIGINT); CREATE QUERY all_of_it AS SELECT x FROM s;"
SETTLED_S = 1_700_000_000


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def write(file: Path, *numbers: int) -> None:
    """A file that nobody has touched for long appears at once, in the place of the one before."""
    aside = file.with_name(f".{file.name}")
    text = "ts,x\n" + "".join(f"{number},{number}\n" for number in numbers)
    if file.suffix == ".parquet":
        pq.write_table(pa.table({"ts": numbers, "x": numbers}), aside)
    elif file.suffix == ".gz":
        aside.write_bytes(gzip.compress(text.encode(), mtime=0))
    else:
        aside.write_text(text)
    os.utime(aside, (SETTLED_S, SETTLED_S))
    aside.replace(file)


def opened(data: Path, *, rows: int | None = None, durable: bool = False) -> BatchRun:
    options = RunOptions(
        binds={"s": str(data)},
        out=str(data.parent / "out.jsonl"),
        follow=True,
        rows_per_batch=rows,
        checkpoint=str(data.parent / "state") if durable else None,
    )
    run = (DurableRun if durable else BatchRun)(cqc.compile(PROGRAM), options)
    run.read_tables()
    return run


def step(run: BatchRun) -> bool:
    ranges = run.next_ranges()
    if ranges:
        run.process(ranges)
    return bool(ranges)


def read_all(run: BatchRun) -> None:
    while step(run):
        pass


def found(data: Path) -> list[int]:
    lines = (data.parent / "out.jsonl").read_text().splitlines()
    return sorted(json.loads(line)["row"]["x"] for line in lines)


CHANGES = {
    "rewritten": (11, 12, 13),
    "rewritten with more": (11, 12, 13, 14),
    "shortened": (1, 2),
    "edited": (1, 9, 3),
}


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize("name", ["0.csv", "0.csv.gz", "0.parquet"])
def test_a_file_that_changed_after_it_was_read_is_said_once_and_left_out(
    name: str, how: str, durable: bool, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(data / name, 1, 2, 3)
    run = opened(data, durable=durable)
    read_all(run)
    write(data / name, *CHANGES[how])
    read_all(run)
    if durable:
        run.close()
        assert capsys.readouterr().err.count("after it had been read") == 1
        run = opened(data, durable=True)
        read_all(run)
    write(data / "1.csv", 4)
    read_all(run)
    run.close()
    told = capsys.readouterr().err
    assert told.count(f"warning: {data / name} was ") == 1
    assert told.count("after it had been read; what it holds now is left out") == 1
    assert found(data) == [1, 2, 3, 4]


def test_a_file_that_grew_or_was_touched_or_copied_is_read_on_in_silence(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(data / "0.csv", 1, 2)
    run = opened(data, rows=1)
    read_all(run)
    write(data / "0.csv", 1, 2, 3)  # another file with the same beginning
    read_all(run)
    os.utime(data / "0.csv", (SETTLED_S + 5, SETTLED_S + 5))
    read_all(run)
    run.close()
    assert found(data) == [1, 2, 3]
    assert not capsys.readouterr().err


def test_files_that_went_away_after_they_were_read_are_said_in_one_line(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        write(data / f"{number}.csv", number)
    run = opened(data)
    read_all(run)
    for number in range(3):
        (data / f"{number}.csv").unlink()
    read_all(run)
    write(data / "3.csv", 3)
    read_all(run)
    run.close()
    told = capsys.readouterr().err
    assert told == (
        f"warning: s: {data / '0.csv'} and 2 more went away after all of it had been read; nothing is lost\n"
    )
    assert found(data) == [0, 1, 2, 3]


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("how", [*CHANGES, "gone"])
def test_a_file_that_changed_when_a_part_of_it_was_read_ends_the_run(
    how: str, durable: bool, data: Path
) -> None:
    write(data / "0.csv", 1, 2, 3)
    run = opened(data, rows=1, durable=durable)
    step(run)
    if durable:
        run.close()
    if how == "gone":
        (data / "0.csv").unlink()
    else:
        # The rest is other rows, or lacks some: what was read of it has other bytes around.
        write(data / "0.csv", *[number + 10 for number in CHANGES[how]])
    expected = r"0\.csv (was|went away|: No such)|cannot read .*0\.csv"
    with pytest.raises(RunError, match=expected):  # noqa: PT012  the start or the next step notices
        if durable:
            run = opened(data, rows=1, durable=True)
        read_all(run)
    run.close()
    assert found(data) == [1]


def test_a_file_that_is_rewritten_between_planning_and_reading_ends_the_run(data: Path) -> None:
    write(data / "0.csv", 1, 2, 3)
    run = opened(data)
    ranges = run.next_ranges()
    write(data / "0.csv", 7, 8, 9)
    with pytest.raises(RunError, match=r"0\.csv was changed while it was being read"):
        run.process(ranges)
    run.close()
    assert found(data) == []


def rows_of(source: SourceFeed) -> int:
    batch = source.next_batch()
    assert batch is not None
    return len(batch.rows["s"])


def test_a_service_tells_of_changed_files_and_goes_on(data: Path) -> None:
    write(data / "0.csv", 1, 2)
    source = SourceFeed(cqc.compile(PROGRAM).catalog, {"s": str(data)})
    assert rows_of(source) == 2
    write(data / "0.csv", 5, 6)
    assert source.next_batch() is None
    assert [note.partition(" was ")[2][:9] for note in source.notes] == ["rewritten"]
    write(data / "1.csv", 7)
    assert rows_of(source) == 1
    assert len(source.notes) == 1
    source.close()


def test_a_bad_program_file_at_a_restart_leaves_the_queries_as_they_were(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = data.parent / "queries"
    folder.mkdir()
    stream = "CREATE STREAM s (ts BIGINT, x BIGINT) WITH (format = 'csv', path = '../data/');"
    (folder / "a.cq").write_text(stream + "CREATE QUERY all_of_it AS SELECT x FROM s;")
    state = str(data.parent / "state")

    def start() -> DurableRun:
        program, sources = load_again((str(folder),), state, is_live=True)
        options = RunOptions(
            programs=(str(folder),),
            sources=tuple(sources),
            out=str(data.parent / "out.jsonl"),
            follow=True,
            checkpoint=state,
        )
        run = DurableRun(program, options)
        run.read_tables()
        return run

    write(data / "0.csv", 1)
    run = start()
    read_all(run)
    (folder / "b.cq").write_text("CREATE QUERY more AS SELECT x FROM s WHERE x > 1;")
    write(data / "1.csv", 2)
    read_all(run)
    run.close()
    (folder / "a.cq").write_text(stream + "CREATE QUERY all_of_it AS SELECT wrong FROM s;")
    capsys.readouterr()
    for number in (3, 4):  # more than once: what is bad does not take the place of what is kept
        write(data / f"{number}.csv", number)
        run = start()
        read_all(run)
        told = capsys.readouterr().err
        assert "CQ" in told
        assert "the queries that run stay as they were" in told
        run.close()
    (folder / "a.cq").write_text(stream + "CREATE QUERY all_of_it AS SELECT x FROM s;")
    run = start()
    write(data / "5.csv", 5)
    read_all(run)
    run.close()
    assert found(data) == [1, 2, 2, 3, 3, 4, 4, 5, 5]


def test_a_bad_program_without_a_past_is_an_error(data: Path) -> None:
    (data / "a.cq").write_text("SELECT x FROM nowhere")
    with pytest.raises(CompileError):
        load_again((str(data),), str(data / "state"), is_live=True)
