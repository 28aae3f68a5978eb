"""Sources of a user's own, registered by name."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest

import cqc
from cqc.cli.main import run_command
from cqc.runtime.errors import RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.run.batch_run import BatchRun
from cqc.runtime.run.durable.durable_run import DurableRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PROGRAM = """
CREATE STREAM s (ts BIGINT, x BIGINT) WITH (format = 'numbers', count = '{}');
CREATE QUERY odd AS SELECT x FROM s WHERE x % 2 = 1;
"""


def numbers(options: dict[str, str], before: int) -> Iterator[dict[str, int]]:
    for number in range(before, int(options["count"])):
        yield {"ts": number, "x": number}


def results(path: Path) -> list[int]:
    return [json.loads(line)["row"]["x"] for line in path.read_text().splitlines()]


def test_a_stream_reads_from_a_source_by_its_name(tmp_path: Path) -> None:
    cqc.source("Numbers", numbers)
    run = BatchRun(cqc.compile(PROGRAM.format(10)), RunOptions(out=str(tmp_path / "out.jsonl")))
    run.to_end()
    run.close()
    assert results(tmp_path / "out.jsonl") == [1, 3, 5, 7, 9]


def test_with_a_checkpoint_a_source_goes_on_after_what_it_gave(tmp_path: Path) -> None:
    asked: list[int] = []

    def noted(options: dict[str, str], before: int) -> Iterator[dict[str, int]]:
        asked.append(before)
        yield from numbers(options, before)

    cqc.source("numbers", noted)
    for count in (6, 10):
        options = RunOptions(
            out=str(tmp_path / "out.jsonl"), checkpoint=str(tmp_path / "point"), binds={}
        )
        run = DurableRun(cqc.compile(PROGRAM.format(10)), options)
        if count == 6:  # the first start is stopped before it has all
            cqc.source("numbers", lambda options, before: numbers({"count": "6"}, before))
        run.to_end()
        run.close()
        cqc.source("numbers", noted)
    assert results(tmp_path / "out.jsonl") == [1, 3, 5, 7, 9]


@pytest.mark.parametrize(
    "given",
    [
        [{"ts": 1, "x": 1}, {"ts": 2, "x": 3}],
        pa.table({"ts": [1, 2], "x": [1, 3]}),
        pd.DataFrame({"ts": [1, 2], "x": [1, 3]}),
    ],
    ids=["list", "arrow", "pandas"],
)
def test_rows_may_come_many_together(given: Any, tmp_path: Path) -> None:
    cqc.source("numbers", lambda options, before: [given])
    run = BatchRun(cqc.compile(PROGRAM.format(0)), RunOptions(out=str(tmp_path / "out.jsonl")))
    run.to_end()
    run.close()
    assert results(tmp_path / "out.jsonl") == [1, 3]


def failing(options: dict[str, str], before: int) -> Iterator[dict[str, int]]:
    yield {"ts": 1, "x": 1}
    raise ValueError("the wire is cut")


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (failing, "source numbers of s failed: ValueError: the wire is cut"),
        (lambda options, before: [3], "a source gives dicts"),
        (lambda options, before: [[3]], "a row of a source is a dict"),
    ],
)
def test_a_source_that_fails_ends_the_run_with_a_sentence(
    read: Callable[..., Any], said: str, tmp_path: Path
) -> None:
    cqc.source("numbers", read)
    run = BatchRun(cqc.compile(PROGRAM.format(1)), RunOptions(out=str(tmp_path / "out.jsonl")))
    with pytest.raises(RunError, match=said):
        run.to_end()
    run.abandon()


def test_times_may_be_datetimes(tmp_path: Path) -> None:
    cqc.source("clock", lambda options, before: [{"ts": datetime(2024, 1, 1, tzinfo=UTC), "x": 1}])
    text = "CREATE STREAM s (ts TIMESTAMP, x BIGINT) WITH (format = 'clock'); SELECT x FROM s;"
    run = BatchRun(cqc.compile(text), RunOptions(out=str(tmp_path / "out.jsonl")))
    run.to_end()
    run.close()
    assert results(tmp_path / "out.jsonl") == [1]


def test_names_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="a format of cqc's own"):
        cqc.source("Kafka", numbers)
    with pytest.raises(ValueError, match="needs a name"):
        cqc.source(" ", numbers)
    with pytest.raises(TypeError, match="what can be called"):
        cqc.source("numbers", 3)  # type: ignore[arg-type]


def test_a_source_is_no_table() -> None:
    cqc.source("numbers", numbers)
    with pytest.raises(cqc.CompileError):
        cqc.compile("CREATE TABLE t (x BIGINT) WITH (format = 'numbers');")


def test_a_file_that_is_loaded_registers_sources_for_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(
        "import cqc\ncqc.source('loaded', lambda options, before: [{'ts': 1, 'x': 5}])\n"
    )
    (tmp_path / "p.cq").write_text(
        "CREATE STREAM s (ts BIGINT, x BIGINT) WITH (format = 'loaded'); SELECT x FROM s;"
    )
    program, mine = str(tmp_path / "p.cq"), str(tmp_path / "mine.py")
    assert run_command(["run", program, "--engine", "local", "--load", mine]) == 0
    assert '"x": 5' in capsys.readouterr().out
    (tmp_path / "bad.py").write_text("1 / 0")
    assert run_command(["check", program, "--load", str(tmp_path / "bad.py")]) == 2
    assert "ZeroDivisionError" in capsys.readouterr().err
