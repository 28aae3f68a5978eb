"""What sinks write: lines in time order, rows that read back as they were, and how writing can end."""

from __future__ import annotations

import csv
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python
from cqc.runtime.deliver.results import NO_TIME, ResultBlock, in_time_order
from cqc.runtime.errors import OutputClosed, RunError
from cqc.runtime.sinks import open_sink
from cqc.runtime.sinks.lines import result_lines
from cqc.runtime.sinks.none import NoneSink
from cqc.runtime.sinks.output import Output
from cqc.runtime.sinks.protocol import shape_of_block
from cqc.runtime.sinks.query_files import file_of_query
from cqc.runtime.sinks.table import display_width
from cqc.runtime.sources.csv import read_csv
from tests.support.relations import block, relation
from tests.support.waiting import PATIENCE_S

PUSHED = block(
    "q1", {"x": (T.BIGINT, [1, None]), "s": (T.STRING, ["a", ""])}, [2_000_000, 1_000_000]
)
PULLED = block("q2", {"n": (T.DOUBLE, [0.5])}, [1_500_000], time_type=T.DOUBLE, is_at=True)


def lines_of(*blocks: ResultBlock) -> list[str]:
    text = b"".join(bytes(piece) for piece in result_lines(in_time_order(blocks))).decode()
    assert text.endswith("\n") or not text
    return text.splitlines()


def write(kind: str, out: Path | str, *blocks: ResultBlock, known: bool = True) -> None:
    shapes = {each.query: shape_of_block(each) for each in blocks} if known else None
    sink = open_sink(kind, str(out), shapes)
    sink.write(in_time_order(blocks))
    sink.close()


def test_push_and_pull_lines_in_time_order() -> None:
    assert lines_of(PUSHED, PULLED) == [
        '{"query": "q1", "ts": "1970-01-01T00:00:01Z", "row": {"x": null, "s": ""}}',
        '{"query": "q2", "at": 1.5, "row": {"n": 0.5}}',
        '{"query": "q1", "ts": "1970-01-01T00:00:02Z", "row": {"x": 1, "s": "a"}}',
    ]


def test_every_type_as_json() -> None:
    doubles = [1.0, math.nan, math.inf, -math.inf, 1e300, 0.1, 1e22, -0.0, 123456789.0, 1e-7, None]
    lines = lines_of(block("q", {"d": (T.DOUBLE, doubles)}, [0] * len(doubles)))
    shown = [json.loads(line)["row"]["d"] for line in lines]
    assert shown == [1.0, "NaN", "Infinity", "-Infinity", *doubles[4:]]
    assert all(isinstance(value, float) for value in shown[4:-1])
    others = {
        "b": (T.BOOLEAN, [True]),
        "t": (T.TIMESTAMP, [1_000_001]),
        "i": (T.INTERVAL, [2_500_000]),
        "big": (T.BIGINT, [2**63 - 1]),
    }
    assert json.loads(lines_of(block("q", others, [0]))[0])["row"] == {
        "b": True,
        "t": "1970-01-01T00:00:01.000001Z",
        "i": 2.5,
        "big": 2**63 - 1,
    }


@settings(max_examples=50)
@given(
    st.lists(st.none() | st.text(max_size=6), min_size=1, max_size=4),
    st.text(min_size=1, max_size=4),
)
def test_any_text_is_valid_json(values: list[str | None], name: str) -> None:
    lines = lines_of(block(name, {name: (T.STRING, values)}, [0] * len(values)))
    parsed = [json.loads(line) for line in lines]
    assert [(one["query"], one["row"]) for one in parsed] == [(name, {name: v}) for v in values]


@settings(max_examples=50)
@given(st.lists(st.floats(), min_size=1, max_size=5))
def test_doubles_read_back_as_the_same_number(values: list[float]) -> None:
    lines = lines_of(block("q", {"d": (T.DOUBLE, values)}, [0] * len(values)))
    read = [float(json.loads(line)["row"]["d"]) for line in lines]
    assert np.array_equal(read, values, equal_nan=True)


def test_an_instant_that_is_not_known_is_null() -> None:
    early = block("q", {"n": (T.BIGINT, [0])}, [NO_TIME], is_at=True)
    assert lines_of(early) == ['{"query": "q", "at": null, "row": {"n": 0}}']


def test_bigint_event_time_is_whole_where_it_is() -> None:
    halves = block(
        "q", {"n": (T.BIGINT, [1, 2])}, [1_000_000, 1_500_000], time_type=T.BIGINT, is_at=True
    )
    assert [json.loads(line)["at"] for line in lines_of(halves)] == [1, 1.5]


def test_queries_that_share_columns_each_show_their_rows() -> None:
    columns = (from_python(T.BIGINT, list(range(5))),)
    times = np.arange(5) * 1_000_000
    blocks = [
        ResultBlock(f"q{n}", ("x",), columns, np.arange(n, 5), times[n:], T.BIGINT, False)
        for n in range(5)
    ]
    shown = [
        (one["ts"], one["query"], one["row"]["x"]) for one in map(json.loads, lines_of(*blocks))
    ]
    assert shown == [(x, f"q{n}", x) for x in range(5) for n in range(x + 1)]


def test_many_lines_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cqc.runtime.sinks.lines.LINES_AT_ONCE", 2)
    many = block("q", {"x": (T.BIGINT, [0, 1, 2, 3, 4])}, [0, 1, 2, 3, 4])
    assert len(list(result_lines([many]))) == 3
    assert [json.loads(line)["row"]["x"] for line in lines_of(many)] == [0, 1, 2, 3, 4]


def test_a_query_without_columns_has_empty_rows() -> None:
    bare = ResultBlock("q", (), (), None, np.array([0, 0]), T.BIGINT, False)
    assert lines_of(bare) == ['{"query": "q", "ts": 0, "row": {}}'] * 2


def test_jsonl_to_a_file_and_to_a_folder(tmp_path: Path) -> None:
    write("jsonl", tmp_path / "out.jsonl", PUSHED, PULLED)
    write("jsonl", f"{tmp_path}/new/", PUSHED, PULLED)
    own = [(tmp_path / "new" / f"{query}.jsonl").read_text().splitlines() for query in ("q1", "q2")]
    assert list(map(len, own)) == [2, 1]
    assert sorted((tmp_path / "out.jsonl").read_text().splitlines()) == sorted([*own[0], *own[1]])


@pytest.mark.parametrize(("kind", "ending"), [("jsonl", "jsonl"), ("table", "txt")])
def test_what_an_earlier_run_left_in_a_folder_does_not_stand_for_results(
    kind: str, ending: str, tmp_path: Path
) -> None:
    (tmp_path / f"silent.{ending}").write_text("old")
    (tmp_path / f"q1.{ending}").write_text("old")
    write(kind, tmp_path, PUSHED, block("silent", {"x": (T.BIGINT, [])}, []))
    assert (tmp_path / f"silent.{ending}").read_text() == (
        "" if kind == "jsonl" else "(no results)\n"
    )
    assert "old" not in (tmp_path / f"q1.{ending}").read_text()


def test_the_names_of_files_keep_queries_apart_and_inside_the_folder(tmp_path: Path) -> None:
    queries = [
        "a/b",
        "a%2Fb",
        "..",
        ".",
        "a b",
        "a:b",
        "é",
        "e\u0301",
        "x" * 400,
        "x" * 401,
        "日" * 99,
    ]
    files = {file_of_query(tmp_path, query, "jsonl") for query in queries}
    assert len(files) == len(queries)
    for file in files:
        file.touch()
        assert file.parent == tmp_path


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


def test_tables_are_aligned_and_pull_results_show_the_instant(tmp_path: Path) -> None:
    wide = block(
        "q1", {"x": (T.BIGINT, [10, 7]), "s": (T.STRING, ["日本", "a\nb"])}, [1_000_000] * 2
    )
    write("table", tmp_path / "out.txt", wide, PULLED)
    assert (tmp_path / "out.txt").read_text() == (
        "q1 (2 results)\n"
        "ts                     x  s\n"
        "--------------------  --  ----\n"
        "1970-01-01T00:00:01Z  10  日本\n"
        "1970-01-01T00:00:01Z   7  a\\nb\n"
        "\n"
        "q2 (1 result)\n"
        " at    n\n"
        "---  ---\n"
        "1.5  0.5\n"
    )


def test_a_table_cuts_what_is_too_wide(tmp_path: Path) -> None:
    write("table", tmp_path / "out.txt", block("q", {"s": (T.STRING, ["x" * 100])}, [0]))
    last = (tmp_path / "out.txt").read_text().splitlines()[-1]
    assert last.endswith("x…")
    assert display_width(last) == 20 + 2 + 60


def test_a_folder_has_the_tables_of_each_query_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cqc.runtime.sinks.HOLD_ROWS", 0)
    sink = open_sink("table", f"{tmp_path}/new/", {"q1": shape_of_block(PUSHED)})
    sink.write([PULLED, PUSHED])
    sink.write([PULLED])
    sink.close()
    one = "q2 (1 result)\n at    n\n---  ---\n1.5  0.5\n"
    assert (tmp_path / "new" / "q2.txt").read_text() == f"{one}\n{one}"
    assert (tmp_path / "new" / "q1.txt").read_text().startswith("q1 (2 results)\n")


def test_live_tables_do_not_wait_for_the_end(tmp_path: Path) -> None:
    sink = open_sink("table", str(tmp_path / "out.txt"), live=True)
    sink.write([PUSHED])
    assert "q1 (2 results)" in (tmp_path / "out.txt").read_text()
    sink.close()


def test_a_table_without_results_says_so(tmp_path: Path) -> None:
    write("table", tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == "(no results)\n"


def test_none_counts_only() -> None:
    sink = open_sink("none", None)
    sink.write([PUSHED, PULLED])
    sink.close()
    assert isinstance(sink, NoneSink)
    assert sink.count == 3


def test_a_full_disk_is_one_sentence() -> None:
    sink = open_sink("jsonl", "/dev/full")
    with pytest.raises(RunError, match="cannot write /dev/full: No space left on device"):
        sink.write([PUSHED])


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    for kind in ("jsonl", "csv", "parquet", "table"):
        with pytest.raises(RunError, match=r"cannot write .*no.*x\.dat"):
            open_sink(kind, str(tmp_path / "no" / "x.dat"))


def test_an_unknown_sink_is_an_error() -> None:
    with pytest.raises(RunError, match="there is no sink xml"):
        open_sink("xml", None)


def test_a_closed_pipe_is_not_an_error(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    pipe = tmp_path / "pipe"
    pipe.symlink_to(f"/dev/fd/{writer}")
    output = Output(pipe)
    os.close(reader)
    with pytest.raises(OutputClosed):
        output.write(b"x")
    os.close(writer)


def test_standard_output_closed_by_its_reader_ends_quietly() -> None:
    program = (
        "from cqc.runtime.errors import OutputClosed\n"
        "from cqc.runtime.sinks.output import Output\n"
        "output = Output(None)\n"
        "try:\n"
        "    while True:\n"
        "        output.write(b'line\\n' * 10000)\n"
        "except OutputClosed:\n"
        "    pass\n"
    )
    shell = f'"{sys.executable}" -c "$PROGRAM" | head -1'
    finished = subprocess.run(
        ["bash", "-o", "pipefail", "-c", shell],
        env={**os.environ, "PROGRAM": program},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "line\n", "")
