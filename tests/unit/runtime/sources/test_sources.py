"""Files and folders as sources, Parquet among them."""

from __future__ import annotations

import gzip
import os
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import to_python
from cqc.runtime.errors import RunError
from cqc.runtime.sources import open_source, source_files
from cqc.runtime.sources.file_feed import FileFeed
from cqc.runtime.sources.read_range import read_range
from tests.support.relations import relation

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.runtime.intake.typed_batch import TypedBatch

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
    chunks: list[TypedBatch] = list(open_source(TIMED, tmp_path, rows))
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


def test_thousands_of_columns_are_matched_by_looking_each_up_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folded: list[str] = []

    def counted(name: str) -> str:
        folded.append(name)
        return fold(name)

    monkeypatch.setattr("cqc.runtime.sources.csv.fold", counted)
    names = [f"c{number}" for number in range(5000)]
    wide = relation({"ts": T.BIGINT, **dict.fromkeys(names, T.DOUBLE)})
    values = ",".join(map(str, range(5001)))
    file = write(tmp_path / "a.csv", f"ts,{','.join(names)}\n{values}\n{values}\n")
    (taken,) = open_source(wide, file)
    assert [len(taken), taken.columns[-1].values.tolist()] == [2, [5000.0, 5000.0]]
    assert len(folded) <= 3 * 5001
    write(file, f"ts,{','.join(names[:-1])}\n")
    with pytest.raises(
        RunError, match=r"has no column c4999 for s \(its header: ts, c0, .* and 4,950 more\)"
    ):
        list(open_source(wide, file))
