"""Cutting a file into ranges: together they hold each record once, a piece at a time and from any place on."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import to_python
from cqc.runtime.errors import RunError
from cqc.runtime.sources import SourceFile, file_cursors
from cqc.runtime.sources.file_cursors import open_cursor
from cqc.runtime.sources.read_range import read_range
from tests.support.relations import relation

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.runtime.sources.range import Range

NUMBERS = relation({"ts": T.BIGINT})
CONTENTS = {
    "csv": b"\xef\xbb\xbf\n ts \n" + b"".join(b"%d\n" % number for number in range(50)),
    "quoted.csv": b"ts\n" + b"".join(b'"%d"\r\n' % number for number in range(50)),
    "jsonl": b"".join(b'{"ts": %d}\n' % number for number in range(50)),
}


def written(tmp_path: Path, kind: str) -> SourceFile:
    path = tmp_path / f"a.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table({"ts": range(50)}), path, row_group_size=8)
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(CONTENTS["csv"]))
    else:
        path.write_bytes(CONTENTS[kind])
    return SourceFile(path, kind.split(".")[0] if kind != "quoted.csv" else "csv")


def ranges(file: SourceFile, rows: int | None, start: int | None = None) -> list[Range]:
    cursor = open_cursor("s", file, start, whole_lines=False)
    found = []
    while (taken := cursor.take(rows)) is not None:
        found.append(taken[0])
    cursor.close()
    return found


def numbers(parts: list[Range]) -> list[int]:
    return [
        number
        for part in parts
        for batch in read_range(NUMBERS, part)
        for number in to_python(batch.columns[0])
    ]


@pytest.mark.parametrize("rows", [None, 1, 7, 50, 1_000])
@pytest.mark.parametrize("kind", ["csv", "quoted.csv", "jsonl", "parquet", "csv.gz"])
def test_the_ranges_hold_each_record_once(
    kind: str, rows: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_cursors, "BLOCK_BYTES", 40)
    parts = ranges(written(tmp_path, kind), rows)
    assert numbers(parts) == list(range(50))
    if rows is not None and kind != "csv.gz":
        assert len(parts) >= 50 // rows


@pytest.mark.parametrize("kind", ["csv", "quoted.csv", "jsonl", "parquet"])
def test_another_cursor_goes_on_where_one_stopped(kind: str, tmp_path: Path) -> None:
    file = written(tmp_path, kind)
    first = ranges(file, 20)[0]
    rest = ranges(file, 20, first.stop)
    assert numbers([first, *rest]) == list(range(50))
    assert ranges(file, 20, rest[-1].stop) == []


def test_a_line_that_may_still_grow_is_left_for_later(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for content, expected in ((b"t", []), (b"ts", []), (b"ts\n1\n2", [1]), (b"ts\n1\n2\n", [1, 2])):
        path.write_bytes(content)
        cursor = open_cursor("s", SourceFile(path, "csv"), None, whole_lines=True)
        taken = cursor.take(None)
        cursor.close()
        assert ([] if taken is None else numbers([taken[0]])) == expected


def test_a_file_without_records_is_read_once_so_that_its_header_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"other\n")
    (part,) = ranges(SourceFile(path, "csv"), None)
    with pytest.raises(RunError, match="ts"):
        numbers([part])


def test_what_cannot_be_opened_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"none")
    with pytest.raises(RunError, match=r"cannot read .* as Parquet"):
        open_cursor("s", SourceFile(tmp_path / "a.parquet", "parquet"), None, whole_lines=False)
    with pytest.raises(RunError, match="is still being written"):
        open_cursor("s", written(tmp_path, "csv.gz"), None, whole_lines=True)
