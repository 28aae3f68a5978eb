"""Parquet files in: typed columns, and one sentence for files that are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import to_python
from cqc.runtime.columns.repeated_text import RepeatedText
from cqc.runtime.errors import RunError
from cqc.runtime.sources import open_source
from cqc.runtime.sources.formats import parquet
from cqc.runtime.sources.formats.parquet import BYTES_AT_ONCE, read_parquet
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


def test_long_texts_that_repeat_are_read_by_their_codes(tmp_path: Path) -> None:
    count = 4_000
    texts = [f"{at % 40}:" + "call trace " * 50 for at in range(count)]
    single = [f"{at:010}" for at in range(count)]
    declared = relation({"ts": T.BIGINT, "x": T.STRING, "y": T.STRING})
    pq.write_table(pa.table({"ts": range(count), "x": texts, "y": single}), tmp_path / "a.parquet")
    (chunk,) = open_source(declared, tmp_path / "a.parquet")
    assert isinstance(chunk.columns[1], RepeatedText)
    assert not isinstance(chunk.columns[2], RepeatedText)
    assert chunk.nbytes < 1_000_000
    assert to_python(chunk.columns[1]) == texts
    assert to_python(chunk.columns[2]) == single


def test_long_rows_are_read_few_at_a_time(tmp_path: Path) -> None:
    texts = [f"{at:05}" + "z" * 20_000 for at in range(1_000)]
    pq.write_table(pa.table({"ts": range(1_000), "x": texts}), tmp_path / "a.parquet")
    chunks = list(open_source(TIMED, tmp_path / "a.parquet"))
    assert len(chunks) > 1
    assert max(chunk.nbytes for chunk in chunks) < 3 * BYTES_AT_ONCE
    assert xs(chunks) == texts


def test_columns_that_nobody_reads_are_not_said_to_be_missing(tmp_path: Path) -> None:
    pq.write_table(pa.table({"ts": [1], "x": ["a"]}), tmp_path / "a.parquet")
    with (tmp_path / "a.parquet").open("rb") as file:
        (taken,) = read_parquet(TIMED, file, "a.parquet", wanted=frozenset({0}))
    assert to_python(taken.columns[1]) == [None]
    assert taken.absent is None


def test_no_batch_has_rows_of_two_row_groups_that_are_larger_than_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "ROWS_AT_ONCE", 400)
    texts = [f"{at % 7}" for at in range(2_500)]
    table = pa.table({"ts": range(2_500), "x": texts})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1_000)
    with (tmp_path / "a.parquet").open("rb") as file:
        chunks = list(read_parquet(TIMED, file, "a.parquet"))
    assert [len(chunk) for chunk in chunks] == [334, 334, 332, 334, 334, 332, 250, 250]
    assert xs(chunks) == texts
    with (tmp_path / "a.parquet").open("rb") as file:
        some = list(read_parquet(TIMED, file, "a.parquet", 900, 2_100))
    assert xs(some) == texts[900:2_100]
