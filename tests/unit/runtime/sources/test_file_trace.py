"""Whether a file is still the one of which something was read: it may grow, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cqc.runtime.errors import RunError
from cqc.runtime.sources.file_trace import Begun, check_unchanged, checksum
from cqc.runtime.sources.range import Range

if TYPE_CHECKING:
    from pathlib import Path


def begun(path: Path, stop: int | None) -> Begun:
    with path.open("rb") as file:
        size = path.stat().st_size
        return Begun(stop, checksum(file, size if stop is None else stop), size, has_more=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    path.write_bytes(b"ts\n" + b"1\n" * 5_000)
    return path


def test_a_file_as_it_was_and_one_that_grew_have_not_changed(path: Path) -> None:
    trace = begun(path, 5_000)
    assert trace.change(path, "csv") == ""
    with path.open("ab") as file:
        file.write(b"2\n")
    assert trace.change(path, "csv") == ""


@pytest.mark.parametrize(
    ("content", "change"),
    [
        (b"ts\n" + b"1\n" * 100, "shortened"),
        (b"TS\n" + b"1\n" * 5_000, "rewritten"),
        (b"ts\n" + b"1\n" * 2_400 + b"2\n" * 2_600, "rewritten"),
    ],
)
def test_a_file_that_became_another_is_told(path: Path, content: bytes, change: str) -> None:
    trace = begun(path, 5_000)
    path.write_bytes(content)
    assert trace.change(path, "csv") == change


@pytest.mark.parametrize(("stop", "format_"), [(None, "csv"), (7, "parquet")])
def test_what_cannot_be_read_on_in_the_middle_may_not_grow(
    stop: int | None, format_: str, path: Path
) -> None:
    trace = replace(begun(path, None), stop=stop)
    assert trace.change(path, format_) == ""
    with path.open("ab") as file:
        file.write(b"2\n")
    assert trace.change(path, format_) == "rewritten"


def test_of_a_place_without_a_trace_nobody_knows(path: Path) -> None:
    assert Begun.at(7) == Begun(7)
    path.write_bytes(b"")
    assert Begun.at(7).change(path, "csv") == ""


def test_a_trace_is_remembered_with_its_place() -> None:
    part = Range("s", "a.csv", "csv", 0, 7, 3, checksum=5, size=9, has_more=True)
    assert Begun.at(part.place) == Begun(7, 5, 9, has_more=True)
    assert Range("s", "topic/0", "kafka", 0, 7).place == 7


def test_a_range_is_read_from_the_file_it_was_cut_from(path: Path) -> None:
    with path.open("rb") as file:
        part = Range("s", str(path), "csv", 3, 5_000, 3, checksum(file, 5_000), path.stat().st_size)
        check_unchanged(file, part)
        check_unchanged(file, replace(part, checksum=None))
        with pytest.raises(RunError, match="was changed while it was being read"):
            check_unchanged(file, replace(part, checksum=(part.checksum or 0) ^ 1))
        assert file.tell() == 0
