"""Files and folders as sources, Parquet among them."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cqc.compiler.types import ColumnType as T
from cqc.runtime.columns import to_python
from cqc.runtime.errors import RunError
from cqc.runtime.sources import open_source, source_files
from tests.unit.runtime.relations import relation

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.runtime.intake import Taken

TIMED = relation({"ts": T.BIGINT, "x": T.STRING})


def xs(chunks: Any) -> list[str | None]:
    return [value for chunk in chunks for value in to_python(chunk.columns[1])]


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_folder_is_read_in_name_order(tmp_path: Path) -> None:
    write(tmp_path / "b.csv", "ts,x\n2,b\n")
    write(tmp_path / "a.jsonl", '{"ts": 1, "x": "a"}\n')
    write(tmp_path / "README.md", "not data")
    write(tmp_path / ".hidden.csv", "nothing")
    pq.write_table(pa.table({"X": ["c"], "TS": [3]}), tmp_path / "c.parquet")
    (tmp_path / "sub").mkdir()
    assert xs(open_source(TIMED, tmp_path)) == ["a", "b", "c"]


def test_the_with_clause_names_a_path_beside_the_program(tmp_path: Path) -> None:
    write(tmp_path / "data.csv", "ts,x\n1,a\n")
    declared = relation(
        {"ts": T.BIGINT, "x": T.STRING}, options={"path": "data.csv"}, folder=str(tmp_path)
    )
    assert xs(open_source(declared)) == ["a"]


def test_the_extension_wins_and_the_format_helps_where_there_is_none(tmp_path: Path) -> None:
    said_json = relation({"ts": T.BIGINT, "x": T.STRING}, options={"format": "JSON"})
    assert xs(open_source(said_json, write(tmp_path / "a.csv", "ts,x\n1,a\n"))) == ["a"]
    assert xs(open_source(said_json, write(tmp_path / "plain", '{"ts": 1, "x": "b"}'))) == ["b"]
    with pytest.raises(RunError, match=r"cannot tell what .*plain is"):
        source_files(TIMED, tmp_path / "plain")


def test_packed_files_are_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"ts,x\n1,a\n"))
    assert xs(open_source(TIMED, tmp_path)) == ["a"]
    (tmp_path / "a.csv.gz").write_bytes(b"not packed")
    with pytest.raises(RunError, match=r"cannot read .*a\.csv\.gz"):
        list(open_source(TIMED, tmp_path))


@pytest.mark.parametrize(
    ("rows", "sizes"), [(1, [1, 1, 1, 1, 1]), (2, [2, 2, 1]), (5, [5]), (9, [5])]
)
def test_chunks_have_the_asked_size_across_files(
    tmp_path: Path, rows: int, sizes: list[int]
) -> None:
    write(tmp_path / "a.csv", "ts,x\n1,a\n2,b\n3,c\n")
    write(tmp_path / "b.csv", "ts,x\n4,d\n5,e\nbad,f\n")
    chunks: list[Taken] = list(open_source(TIMED, tmp_path, rows))
    assert [len(chunk) for chunk in chunks] == sizes
    assert sum(chunk.read for chunk in chunks) == 6
    assert [reject.reason for chunk in chunks for reject in chunk.rejects] == ["ts is not a BIGINT"]


def test_an_empty_folder_has_no_rows(tmp_path: Path) -> None:
    assert list(open_source(TIMED, tmp_path)) == []


def test_what_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"there is no .*gone.csv to read s from"):
        open_source(TIMED, tmp_path / "gone.csv")
    with pytest.raises(RunError, match="s has no data: use --bind s=PATH"):
        open_source(TIMED)
    by_connection = relation({"ts": T.BIGINT}, options={"format": "kafka"})
    with pytest.raises(RunError, match=r"cannot tell what .*s\.dat is"):
        open_source(by_connection, write(tmp_path / "s.dat", "1"))


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
