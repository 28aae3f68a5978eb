"""Results as CSV: columns where they are alike, JSON where not, read back by the source."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.deliver.results import ResultBlock, in_time_order
from cqc.runtime.sinks import open_sink
from cqc.runtime.sinks.protocol import shape_of_block
from cqc.runtime.sinks.query_files import file_of_query
from cqc.runtime.sources.formats.csv import read_csv
from tests.support.relations import PULLED, PUSHED, block, relation


def write(kind: str, out: Path | str, *blocks: ResultBlock, known: bool = True) -> None:
    shapes = {each.query: shape_of_block(each) for each in blocks} if known else None
    sink = open_sink(kind, str(out), shapes)
    sink.write(in_time_order(blocks))
    sink.close()


def test_csv_of_queries_alike_has_real_columns(tmp_path: Path) -> None:
    write("csv", tmp_path / "out.csv", PUSHED)
    assert (tmp_path / "out.csv").read_text() == (
        'query,ts,x,s\nq1,1970-01-01T00:00:01Z,,""\nq1,1970-01-01T00:00:02Z,1,a\n'
    )


def test_csv_of_different_queries_holds_rows_as_json(tmp_path: Path) -> None:
    write("csv", tmp_path / "out.csv", PUSHED, PULLED)
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["query", "ts", "at", "row"]
    assert rows[2] == ["q2", "", "1.5", '{"n": 0.5}']
    assert json.loads(rows[3][3]) == {"x": 1, "s": "a"}


def test_a_csv_folder_has_a_file_for_each_query(tmp_path: Path) -> None:
    silent = block("a/b.c", {"ts": (T.BIGINT, [])}, [])
    write("csv", tmp_path / "out", PUSHED, PULLED, silent)
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["a%2Fb%2Ec.csv", "q1.csv", "q2.csv"]
    assert (tmp_path / "out" / "q2.csv").read_text() == "at,n\n1.5,0.5\n"
    assert file_of_query(tmp_path / "out", "a/b.c", "csv").read_text() == "result_ts,ts\n"


TEXT_VALUES = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@settings(max_examples=50)
@given(
    st.lists(st.tuples(TEXT_VALUES, st.none() | st.floats(allow_nan=False)), min_size=1, max_size=4)
)
def test_a_csv_file_is_read_back_by_the_source(rows: list[tuple[str | None, float | None]]) -> None:
    texts, numbers = [text for text, _ in rows], [number for _, number in rows]
    results = block("q", {"s": (T.STRING, texts), "d": (T.DOUBLE, numbers)}, [0] * len(rows))
    declared = relation({"ts": T.TIMESTAMP, "s": T.STRING, "d": T.DOUBLE})
    with TemporaryDirectory() as folder:
        write("csv", folder, results)
        with (Path(folder) / "q.csv").open("rb") as file:
            (taken,) = read_csv(declared, file, "q.csv")
    assert taken.rejects == []
    assert taken.columns[1].values.to_pylist() == texts
