"""Results as Parquet files with typed columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.deliver.results import ResultBlock, in_time_order
from cqc.runtime.errors import RunError
from cqc.runtime.sinks import open_sink
from cqc.runtime.sinks.protocol import shape_of_block
from tests.support.relations import PULLED, PUSHED, block

if TYPE_CHECKING:
    from pathlib import Path


def write(kind: str, out: Path | str, *blocks: ResultBlock, known: bool = True) -> None:
    shapes = {each.query: shape_of_block(each) for each in blocks} if known else None
    sink = open_sink(kind, str(out), shapes)
    sink.write(in_time_order(blocks))
    sink.close()


def test_parquet_files_hold_typed_columns(tmp_path: Path) -> None:
    silent = block("q3", {"x": (T.BIGINT, [])}, [])
    write("parquet", tmp_path / "out", PUSHED, PULLED, silent)
    table = pq.read_table(tmp_path / "out" / "q1.parquet")
    assert table.column_names == ["ts", "x", "s"]
    assert str(table.schema.field("ts").type) == "timestamp[us, tz=UTC]"
    assert table.column("x").to_pylist() == [None, 1]
    assert pq.read_table(tmp_path / "out" / "q2.parquet").to_pylist() == [{"at": 1.5, "n": 0.5}]
    assert pq.read_table(tmp_path / "out" / "q3.parquet").num_rows == 0
    assert len(list((tmp_path / "out").iterdir())) == 3


def test_parquet_parts_when_there_is_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cqc.runtime.sinks.parquet.HELD_BYTES", 0)
    sink = open_sink("parquet", str(tmp_path))
    sink.write([PUSHED])
    sink.write([PUSHED])
    sink.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["q1.2.parquet", "q1.parquet"]


def test_one_parquet_file_for_all(tmp_path: Path) -> None:
    write("parquet", tmp_path / "one.parquet", PUSHED)
    assert pq.read_table(tmp_path / "one.parquet").column_names == ["query", "ts", "x", "s"]
    write("parquet", tmp_path / "all.parquet", PUSHED, PULLED)
    rows = pq.read_table(tmp_path / "all.parquet").to_pylist()
    assert [(row["query"], row["ts"], row["at"]) for row in rows] == [
        ("q1", "1970-01-01T00:00:01Z", None),
        ("q2", None, "1.5"),
        ("q1", "1970-01-01T00:00:02Z", None),
    ]


def test_parquet_needs_a_place() -> None:
    with pytest.raises(RunError, match="needs --out"):
        open_sink("parquet", None)
