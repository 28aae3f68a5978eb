"""Parquet files in: typed columns, and one sentence for files that are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import to_python
from cqc.runtime.errors import RunError
from cqc.runtime.sources import open_source
from tests.support.relations import relation

if TYPE_CHECKING:
    from pathlib import Path


TIMED = relation({"ts": T.BIGINT, "x": T.STRING})


def xs(chunks: Any) -> list[str | None]:
    return [value for chunk in chunks for value in to_python(chunk.columns[1])]


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_parquet_file_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"cannot read .*a\.parquet as Parquet"):
        list(open_source(TIMED, write(tmp_path / "a.parquet", "hello")))


def test_a_parquet_file_without_a_declared_column_is_an_error(tmp_path: Path) -> None:
    pq.write_table(pa.table({"ts": [1]}), tmp_path / "a.parquet")
    with pytest.raises(RunError, match=r"has no column x for s \(it has: ts\)"):
        list(open_source(TIMED, tmp_path))


def test_wrong_types_in_parquet_reject_their_rows(tmp_path: Path) -> None:
    pq.write_table(pa.table({"ts": [1.0, 1.5], "x": ["a", "b"]}), tmp_path / "a.parquet")
    (chunk,) = open_source(TIMED, tmp_path)
    assert xs([chunk]) == ["a"]
    assert [reject.reason for reject in chunk.rejects] == ["ts is not a BIGINT"]
