"""Reading the rows of a range: only its own, with the header of its file, and never from a file that became another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import to_python
from cqc.runtime.errors import RunError
from cqc.runtime.sources import read_range as module
from cqc.runtime.sources.range import Range
from cqc.runtime.sources.read_range import read_range
from tests.support.relations import relation

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = relation({"ts": T.BIGINT, "x": T.BIGINT})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    path.write_bytes(b"x,ts\n10,1\n20,2\n30,3\n")
    return path


def rows(part: Range) -> list[tuple[int, int]]:
    return [
        pair
        for batch in read_range(NUMBERS, part)
        for pair in zip(*(to_python(column) for column in batch.columns), strict=True)
    ]


def test_a_range_has_its_own_rows_under_the_header_of_the_file(path: Path) -> None:
    part = Range("s", str(path), "csv", 10, 15, header=5)
    assert rows(part) == [(2, 20)]
    assert rows(replace(part, stop=None)) == [(2, 20), (3, 30)]
    assert rows(Range("s", str(path), "csv", 0, None)) == [(1, 10), (2, 20), (3, 30)]


def test_a_long_range_is_read_a_piece_at_a_time(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST_LINE", 2)
    assert rows(Range("s", str(path), "csv", 5, 20, header=5)) == [(1, 10), (2, 20), (3, 30)]


def test_a_file_that_has_gone_or_became_shorter_is_one_sentence(path: Path) -> None:
    with pytest.raises(RunError, match="became shorter while it was being read"):
        rows(Range("s", str(path), "csv", 10, 100, header=5))
    path.unlink()
    for part in (
        Range("s", str(path), "csv", 10, 15, 5),
        Range("s", str(path), "csv", 0, None, checksum=1),
    ):
        with pytest.raises(RunError, match=r"cannot read .*No such file"):
            rows(part)


def test_a_file_that_became_another_is_not_read(path: Path) -> None:
    for part in (Range("s", str(path), "csv", 10, 15, 5), Range("s", str(path), "csv", 0, None)):
        with pytest.raises(RunError, match="was changed while it was being read"):
            rows(replace(part, checksum=1, size=20))


def test_made_up_rows_are_read_by_their_numbers() -> None:
    part = Range("s", "rate@0", "rate", 3, 5)
    assert rows(part) == [(3, 3), (4, 4)]
