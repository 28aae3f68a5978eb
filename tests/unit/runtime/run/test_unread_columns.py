"""Columns that no query reads are not read from Parquet, and nobody can tell."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cqc
from cqc.runtime.columns.columns import to_python
from cqc.runtime.options import RunOptions
from cqc.runtime.run.finite_run import LocalRun
from cqc.runtime.sources import open_source

STREAM = "CREATE STREAM S (ts BIGINT, a STRING, b STRING, n BIGINT, d DOUBLE, t TIMESTAMP);"
TS, A, B, N, D, T = range(6)


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("SELECT a FROM S", {TS, A}),
        ("SELECT a FROM S WHERE b LIKE 'x%'", {TS, A, B}),
        ("SELECT a FROM S WHERE NOT coalesce(b IN ('x', 'y'), FALSE)", {TS, A, B}),
        ("SELECT concat(a, b) AS c FROM S WHERE n + d > 3", {TS, A, B, N, D}),
        ("SELECT a FROM S WHERE lower(b) = 'x' OR n IS NULL", {TS, A, B, N}),
        ("SELECT ts FROM S WHERE length(b) > n", {TS, B, N}),
        ("SELECT * FROM S", {TS, A, B, N, D, T}),
        ("SELECT S.a FROM S, S AS o WHERE S.a = o.a MAXWINDOW 1 SEC", {TS, A}),
        (
            "SELECT S.a FROM S, S AS o WHERE S.b = o.b AND S.n < o.d MAXWINDOW 1 SEC",
            {TS, A, B, N, D},
        ),
        (
            "SELECT o.a FROM S, S AS o WHERE S.b = 'x' AND length(o.b) > S.n MAXWINDOW 1 SEC",
            {TS, A, B, N},
        ),
        (
            "SELECT S.a FROM S WHERE EXISTS (SELECT 1 FROM S AS o WHERE o.b = S.b MAXWINDOW 1 SEC)",
            None,
        ),
        ("SELECT COUNT(*) AS c FROM S BEGIN 0 END NOW", None),
    ],
)
def test_the_engine_knows_which_columns_its_queries_read(query: str, read: set[int] | None) -> None:
    engine = cqc.Engine(cqc.compile(f"{STREAM} {query};"), keep_past=False)
    assert engine.columns_read("s") == (None if read is None else frozenset(read))


def test_every_query_and_those_over_a_view_count() -> None:
    program = f"{STREAM} CREATE QUERY p AS SELECT a FROM S; CREATE QUERY q AS SELECT n FROM S WHERE d > 1;"
    assert cqc.Engine(cqc.compile(program)).columns_read("s") == frozenset({TS, A, N, D})
    merged = f"{STREAM} CREATE VIEW v AS SELECT ts, a AS z FROM S WHERE n > 1; SELECT z FROM v;"
    columns = cqc.Engine(cqc.compile(merged)).columns_read("s")
    assert columns is None or columns >= {TS, A, N}


def test_of_other_streams_that_are_joined_nothing_is_told() -> None:
    program = f"{STREAM} CREATE STREAM R (ts BIGINT, a STRING, b STRING, c STRING); SELECT r.c FROM R r, S s WHERE s.a = r.b MAXWINDOW 1 SEC;"
    engine = cqc.Engine(cqc.compile(program), keep_past=False)
    assert engine.columns_read("s") == frozenset({TS, A})
    assert engine.columns_read("r") == frozenset({0, 2, 3})


def test_what_an_alert_reads_is_not_known() -> None:
    alert = "CREATE ALERT hot AS SELECT a FROM S WHERE d > 5 PER b FOR 1 SEC;"
    assert cqc.Engine(cqc.compile(f"{STREAM} {alert}")).columns_read("s") is None


def rows() -> pa.Table:
    return pa.table(
        {
            "ts": [1, 2, 9, 3],
            "a": ["a1", "a2", "a3", "a4"],
            "b": ["x", "y", "x", "x"],
            "n": [1, 2, 3, 4],
            "d": [1.0, 2.0, 3.0, 4.0],
            "t": pa.array([1, 2, 3, 4], pa.timestamp("us", "UTC")),
        }
    )


@pytest.fixture
def options(tmp_path: Path) -> RunOptions:
    pq.write_table(rows(), tmp_path / "s.parquet")
    return RunOptions(binds={"s": str(tmp_path / "s.parquet")}, out=str(tmp_path / "out.jsonl"))


def results(options: RunOptions) -> list[dict[str, object]]:
    assert options.out is not None
    return [json.loads(line)["row"] for line in Path(options.out).read_text().splitlines()]


def test_results_are_the_same(options: RunOptions) -> None:
    run = LocalRun(cqc.compile(f"{STREAM} SELECT a, n FROM S WHERE b = 'x';"), options)
    run.to_end()
    run.close()
    assert results(options) == [
        {"a": "a1", "n": 1},
        {"a": "a4", "n": 4},
        {"a": "a3", "n": 3},
    ]


def test_what_is_not_read_is_null_unless_rows_may_be_rejected_for_it(options: RunOptions) -> None:
    relation = cqc.compile(STREAM).catalog.relations["s"]
    (part,) = open_source(relation, options.binds["s"], wanted=frozenset({TS, A}))
    assert to_python(part.columns[A]) == ["a1", "a2", "a3", "a4"]
    assert to_python(part.columns[B]) == [None] * 4
    assert to_python(part.columns[D]) == [None] * 4
    assert to_python(part.columns[T]) == [1, 2, 3, 4]  # an instant may be beyond the calendar


def test_rows_are_rejected_for_columns_that_nobody_reads(
    options: RunOptions, tmp_path: Path
) -> None:
    bad = rows().set_column(N, "n", pa.array(["1", "two", "3", "4"]))
    pq.write_table(bad, tmp_path / "s.parquet")
    run = LocalRun(cqc.compile(f"{STREAM} SELECT a FROM S;"), options)
    run.to_end()
    assert run.close().streams["S"].rejected == 1


def test_a_declared_column_must_be_there_even_if_nobody_reads_it(
    options: RunOptions, tmp_path: Path
) -> None:
    pq.write_table(rows().drop_columns(["b"]), tmp_path / "s.parquet")
    run = LocalRun(cqc.compile(f"{STREAM} SELECT a FROM S;"), options)
    with pytest.raises(cqc.RunError, match="has no column b for S"):
        run.to_end()
    run.abandon()


def test_late_rows_are_shown_whole(options: RunOptions, tmp_path: Path) -> None:
    late = tmp_path / "late.jsonl"
    run = LocalRun(
        cqc.compile(f"{STREAM} SELECT a FROM S;"),
        replace(options, late=str(late), rows_per_batch=1),
    )
    run.to_end()
    run.close()
    (line,) = [json.loads(each) for each in late.read_text().splitlines()]
    assert "a4" in str(line)
    assert "'b': 'x'" in str(line)
