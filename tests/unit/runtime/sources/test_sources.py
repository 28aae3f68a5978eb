"""Files and folders as sources, Parquet among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import to_python
from cqc.runtime.errors import RunError
from cqc.runtime.sources import open_source, source_files
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


def test_long_rows_make_shorter_chunks_but_where_a_size_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "x" * 2_000
    path = write(tmp_path / "a.jsonl", "".join(f'{{"ts": {at}, "x": "{long}{at}"}}\n' for at in range(8_000)))  # fmt: skip
    monkeypatch.setattr("cqc.runtime.sources.BYTES_PER_CHUNK", 5_000_000)
    chunks = list(open_source(TIMED, path))
    assert len(chunks) > 1
    assert all(chunk.nbytes < 10_000_000 for chunk in chunks)
    assert [value[2_000:] for value in xs(chunks) if value] == [str(at) for at in range(8_000)]
    assert [len(chunk) for chunk in open_source(TIMED, path, 8_000)] == [8_000]


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
    with pytest.raises(RunError, match=r"patterns are not looked up: name the folder .*logs, of"):
        open_source(TIMED, tmp_path / "logs" / "*.csv")
    with pytest.raises(RunError, match="s has no data: use --bind s=PATH"):
        open_source(TIMED)
    by_connection = relation({"ts": T.BIGINT}, options={"format": "kafka"})
    with pytest.raises(RunError, match=r"cannot tell what .*s\.dat is"):
        open_source(by_connection, write(tmp_path / "s.dat", "1"))


def test_thousands_of_columns_are_matched_by_looking_each_up_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folded: list[str] = []

    def counted(name: str) -> str:
        folded.append(name)
        return fold(name)

    monkeypatch.setattr("cqc.runtime.sources.formats.csv.fold", counted)
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
