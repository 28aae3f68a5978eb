"""Packed files: unpacked as they are read, whole, and refused in one sentence where that cannot be."""

from __future__ import annotations

import gzip
import os
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import to_python
from cqc.runtime.errors import RunError
from cqc.runtime.sources import open_source
from cqc.runtime.sources.file_feed import FileFeed
from cqc.runtime.sources.read_range import read_range
from tests.support.relations import relation

if TYPE_CHECKING:
    from pathlib import Path


TIMED = relation({"ts": T.BIGINT, "x": T.STRING})


def xs(chunks: Any) -> list[str | None]:
    return [value for chunk in chunks for value in to_python(chunk.columns[1])]


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_packed_files_are_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"ts,x\n1,a\n"))
    assert xs(open_source(TIMED, tmp_path)) == ["a"]
    (tmp_path / "a.csv.gz").write_bytes(b"not packed")
    with pytest.raises(RunError, match=r"cannot read .*a\.csv\.gz"):
        list(open_source(TIMED, tmp_path))


def packed(path: Path, data: bytes) -> Path:
    data = gzip.compress(data) if path.suffix == ".gz" else pa.compress(data, "zstd", asbytes=True)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("packing", ["gz", "zst", "GZ"])
@pytest.mark.parametrize(
    ("ending", "rows"), [("csv", b"ts,x\n1,a\n2,b\n"), ("jsonl", b'{"ts":1,"x":"a"}\n{"ts":2}\n')]
)
@pytest.mark.parametrize("follow", [False, True])
def test_packed_text_is_read_whole(
    packing: str, ending: str, rows: bytes, follow: bool, tmp_path: Path
) -> None:
    file = tmp_path / f"a.{ending}.{packing.lower()}"
    file = packed(file, rows).rename(tmp_path / f"a.{ending}.{packing}")
    assert [len(taken) for taken in open_source(TIMED, file)] == [2]
    os.utime(file, (0, 0))  # nobody has touched it for a while
    feed = FileFeed("s", TIMED, tmp_path, follow=follow, done={})
    part, _ = feed.take(None) or (None, 0)
    assert part is not None
    assert sum(len(taken) for taken in read_range(TIMED, part)) == 2
    assert feed.take(None) is None


def test_packed_text_that_is_still_being_written_is_left_alone(tmp_path: Path) -> None:
    file = packed(tmp_path / "a.csv.zst", b"ts,x\n1,a\n")
    whole = file.read_bytes()
    file.write_bytes(whole[:-3])
    feed = FileFeed("s", TIMED, tmp_path, follow=True, done={})
    assert feed.take(None) is None
    file.write_bytes(whole)
    os.utime(file, (0, 0))
    feed.look()
    part, _ = feed.take(None) or (None, 0)
    assert part is not None
    assert sum(len(taken) for taken in read_range(TIMED, part)) == 1


@pytest.mark.parametrize("packing", ["gz", "zst"])
@pytest.mark.parametrize("damage", ["cut", "other"])
def test_packed_text_that_is_damaged_is_one_sentence(
    packing: str, damage: str, tmp_path: Path
) -> None:
    file = packed(tmp_path / f"a.csv.{packing}", b"ts,x\n1,a\n")
    file.write_bytes(file.read_bytes()[:-3] if damage == "cut" else b"nothing that was packed")
    with pytest.raises(RunError, match=r"cannot read .*a\.csv\.(gz|zst): \S+"):
        list(open_source(TIMED, file))


@pytest.mark.parametrize("name", ["a.csv.bz2", "a.jsonl.zip", "a.parquet.gz", "a.parquet.zst"])
@pytest.mark.parametrize("in_folder", [False, True])
def test_what_is_packed_otherwise_is_not_passed_over_in_silence(
    name: str, in_folder: bool, tmp_path: Path
) -> None:
    write(tmp_path / "b.csv", "ts,x\n1,a\n")
    file = write(tmp_path / name, "?")
    with pytest.raises(RunError, match=rf"cannot read .*{re.escape(name)}: .*unpack"):
        list(open_source(TIMED, tmp_path if in_folder else file))
