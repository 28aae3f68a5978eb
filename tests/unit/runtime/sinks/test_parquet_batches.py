"""Parquet files of micro-batches: seen when their micro-batch counts, once, whatever a crash or a reader did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cqc.runtime.errors import RunError
from cqc.runtime.sinks.parquet_batches import ParquetBatches, check_shown

if TYPE_CHECKING:
    from pathlib import Path

NAME = "readings.000000000007.parquet"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    (tmp_path / "state").mkdir()
    return tmp_path / "out"


def begun(out: Path, number: int = -1) -> ParquetBatches:
    return ParquetBatches(out, out.parent / "state", number)


def put(batches: ParquetBatches, out: Path, number: int, content: bytes = b"rows") -> None:
    made = out.parent / "readings.parquet"
    made.write_bytes(content)
    batches.put(number, made)
    batches.keep(number)


def seen(out: Path) -> list[str]:
    return sorted(file.name for file in out.iterdir() if not file.name.startswith("."))


def test_a_file_is_seen_when_its_micro_batch_counts(out: Path) -> None:
    batches = begun(out)
    put(batches, out, 7)
    assert seen(out) == []
    batches.show(7)
    assert seen(out) == [NAME]


def test_what_counts_and_was_not_shown_is_shown_by_the_next_run(out: Path) -> None:
    put(begun(out), out, 7)
    begun(out, 7)
    assert seen(out) == [NAME]
    assert (out / NAME).read_bytes() == b"rows"


def test_what_does_not_count_is_removed_and_nothing_else(out: Path) -> None:
    batches = begun(out)
    put(batches, out, 7)
    batches.show(7)
    put(batches, out, 8)
    (out / "mine.parquet").write_bytes(b"")
    begun(out, 7)
    assert seen(out) == ["mine.parquet", NAME]
    assert sorted(out.iterdir()) == sorted([out / "mine.parquet", out / NAME])


def test_a_file_that_its_reader_took_away_is_not_made_again(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    batches = begun(out)
    put(batches, out, 7)
    batches.show(7)
    (out / NAME).unlink()
    begun(out, 7)
    assert seen(out) == []
    assert "was taken away; going on after it" in capsys.readouterr().err


def test_a_file_that_is_not_whole_any_more_is_refused(out: Path) -> None:
    put(begun(out), out, 7)
    (out / f".{NAME}.part").write_bytes(b"ro")
    with pytest.raises(RunError, match="does not have the 4 bytes of results that count"):
        begun(out, 7)


def test_results_that_were_taken_away_cannot_be_taken_back(out: Path) -> None:
    batches = begun(out)
    put(batches, out, 7)
    batches.show(7)
    check_shown(out.parent / "state", 7)
    check_shown(out.parent / "state", 3)  # it has shown nothing
    (out / NAME).unlink()
    with pytest.raises(RunError, match="put it back as it was"):
        check_shown(out.parent / "state", 7)


def test_few_lists_are_kept(out: Path) -> None:
    batches = begun(out)
    for number in range(9):
        put(batches, out, number)
        batches.show(number)
    assert len(list((out.parent / "state" / "shown").iterdir())) == 3
