"""`cqc.spark.start`: a program over streaming DataFrames that are already there."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any

import pytest

import cqc
from cqc.runtime.errors import RunError
from tests.integration.threads.workers import together

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pyarrow as pa

    from cqc.runtime.spark.session.session import Session

PROGRAM = """
CREATE STREAM s (ts TIMESTAMP, x BIGINT);
CREATE STREAM r (ts TIMESTAMP, x BIGINT, name STRING);
CREATE QUERY both AS SELECT s.x, r.name FROM s, r WHERE s.x = r.x MAXWINDOW 5 SEC;
"""


def put(folder: Path, name: str, *rows: str) -> None:
    aside = folder.parent / "next"
    aside.write_text("\n".join(rows) + "\n", encoding="utf-8")
    folder.mkdir(exist_ok=True)
    aside.replace(folder / name)


@pytest.fixture
def sources(session: Session, tmp_path: Path) -> dict[str, Any]:
    for name in "sr":
        (tmp_path / name).mkdir()
    reader = session.spark.readStream.option("header", "false")
    return {
        "s": reader.schema("X int, ts timestamp").csv(str(tmp_path / "s")),
        "r": reader.schema("ts timestamp, x bigint, name string").csv(str(tmp_path / "r")),
    }


def test_streams_of_different_columns_meet_in_one_query(
    session: Session, sources: dict[str, Any], tmp_path: Path
) -> None:
    put(tmp_path / "s", "1", "7,2024-01-01T00:00:01Z")
    put(tmp_path / "r", "1", "2024-01-01T00:00:02Z,7,seven", "2024-01-01T00:00:02Z,8,eight")
    batches: list[dict[str, pa.Table]] = []
    program = cqc.compile(PROGRAM)
    handle = cqc.spark.start(
        program,
        session.spark,
        sources,
        finite=True,
        on_batch=lambda number, tables: batches.append(dict(tables)),
    )
    assert handle.await_end(200)
    tables = [batch["both"] for batch in batches if "both" in batch]
    rows = [row for table in tables for row in table.to_pylist()]
    assert [(row["x"], row["name"]) for row in rows] == [(7, "seven")]


def test_several_threads_ask_and_fetch_while_micro_batches_come(
    session: Session, sources: dict[str, Any], tmp_path: Path
) -> None:
    program = cqc.compile(PROGRAM + "CREATE QUERY all_of_s AS SELECT x FROM s;")
    with cqc.spark.start(program, session.spark, sources) as handle:
        done = threading.Event()

        def deliver() -> list[int]:
            try:
                for number in range(4):
                    rows = [f"{10 * number + x},2024-01-01T00:00:01Z" for x in range(10)]
                    put(tmp_path / "s", str(number), *rows)
                    handle.process_all_available()
            finally:
                done.set()
            return []

        def fetch_two_at_a_time() -> list[int]:
            found = []
            while not done.is_set():
                found += [result.row["x"] for result in itertools.islice(handle.results(), 2)]
            return found

        def ask() -> list[int]:
            while not done.is_set():
                asked = handle.register("SELECT COUNT(*) AS n FROM s BEGIN NOW - 10 END NOW")
                assert 0 <= handle.invoke(asked).column("n")[0].as_py() <= 40
                handle.unregister(asked)
            return []

        parts = together(deliver, fetch_two_at_a_time, fetch_two_at_a_time, ask)
        rest = [result.row["x"] for result in handle.results()]
    assert sorted(itertools.chain(*parts, rest)) == list(range(40))


def test_queries_come_and_go_while_it_runs(
    session: Session, sources: dict[str, Any], tmp_path: Path
) -> None:
    with cqc.spark.start(cqc.compile(PROGRAM), session.spark, sources) as handle:
        put(tmp_path / "s", "1", "1,2024-01-01T00:00:01Z")
        handle.process_all_available()
        added = handle.register("SELECT x FROM s")
        asked = handle.register("SELECT COUNT(*) AS n FROM s BEGIN NOW - 10 END NOW")
        put(tmp_path / "s", "2", "2,2024-01-01T00:00:02Z")
        handle.process_all_available()
        handle.unregister(added)
        assert handle.invoke(asked).to_pylist() == [{"n": 2}]
        assert [(result.query, result.row) for result in handle.results()] == [
            (added.name, {"x": 2})
        ]


def test_a_restart_goes_on_where_the_last_micro_batch_ended(
    session: Session, sources: dict[str, Any], tmp_path: Path
) -> None:
    program = cqc.compile(PROGRAM)
    place = str(tmp_path / "checkpoint")
    put(tmp_path / "s", "1", "7,2024-01-01T00:00:01Z")
    first = cqc.spark.start(program, session.spark, sources, finite=True, checkpoint=place)
    assert first.await_end(200)
    put(tmp_path / "r", "2", "2024-01-01T00:00:02Z,7,seven")
    second = cqc.spark.start(program, session.spark, sources, finite=True, checkpoint=place)
    assert second.await_end(200)
    assert [result.row for result in second.results()] == [{"x": 7, "name": "seven"}]


@pytest.mark.parametrize("distribute", [False, True])
def test_a_missing_column_or_source_is_one_sentence(
    distribute: bool, session: Session, sources: dict[str, Any]
) -> None:
    def start(program: cqc.Program, given: dict[str, Any], only: tuple[str, ...] = ()) -> None:
        cqc.spark.start(program, session.spark, given, only=only, distribute=distribute)  # type: ignore[call-overload]  # either

    program = cqc.compile(PROGRAM)
    for given, reason in (
        ({"s": sources["s"]}, "stream r has no source"),
        ({"s": sources["s"], "r": sources["s"]}, "has no column name"),
        ({**sources, "other": sources["s"]}, "there is no stream or table other in the program"),
    ):
        with pytest.raises(RunError, match=reason):
            start(program, given)
    with pytest.raises(RunError, match="there is no query nobody in the program"):
        start(program, sources, only=("nobody",))
    with_table = cqc.compile(
        f"{PROGRAM} CREATE TABLE t (x BIGINT, what STRING); SELECT t.what FROM s, t WHERE s.x = t.x;"
    )
    plain = session.spark.createDataFrame([(1,)], "x long")
    for tables, reason in (
        ({}, "table t has no source, and no path in its WITH clause"),
        ({"t": plain}, "the DataFrame of t has no column what"),
        ({"t": sources["s"]}, "table t needs a DataFrame that is not streaming"),
    ):
        with pytest.raises(RunError, match=reason):
            start(with_table, {**sources, **tables})


ONE = "CREATE STREAM s (ts BIGINT, x BIGINT); CREATE QUERY one AS SELECT x FROM s;"
TWO = f"CREATE STREAM r (ts BIGINT, x BIGINT); {ONE} CREATE QUERY two AS SELECT x FROM r;"
EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"


def started_again(session: Session, folder: Path, *, named: bool) -> list[tuple[str, object]]:
    """Run over s alone, then over r and s with the same checkpoint; what the second run finds."""

    def source(name: str) -> Any:
        reader = session.spark.readStream.schema("ts bigint, x bigint")
        return (reader.name(name) if named else reader).csv(str(folder / name))

    place = str(folder / "checkpoint")
    put(folder / "s", "1", "1,7")
    put(folder / "r", "1", "1,8")
    first = cqc.spark.start(
        cqc.compile(ONE), session.spark, {"s": source("s")}, finite=True, checkpoint=place
    )
    assert first.await_end(200)
    put(folder / "s", "2", "2,9")
    both = {name: source(name) for name in "sr"}
    second = cqc.spark.start(cqc.compile(TWO), session.spark, both, finite=True, checkpoint=place)
    assert second.await_end(200)
    return sorted((result.query, result.row["x"]) for result in second.results())


def test_a_source_that_is_new_joins_a_checkpoint_whose_sources_have_names(
    session: Session, tmp_path: Path
) -> None:
    session.spark.conf.set(EVOLUTION, "true")
    try:
        assert started_again(session, tmp_path, named=True) == [("one", 9), ("two", 8)]
    finally:
        session.spark.conf.unset(EVOLUTION)


def test_without_names_a_new_source_is_refused_in_one_sentence(
    session: Session, tmp_path: Path
) -> None:
    with pytest.raises(RunError, match="another number of sources"):
        started_again(session, tmp_path, named=False)


def test_what_the_end_decides_is_delivered_once_in_every_life(
    session: Session, tmp_path: Path
) -> None:
    reader = session.spark.readStream.schema("ts bigint, x bigint")
    text = "CREATE STREAM s (ts BIGINT, x BIGINT, WATERMARK FOR ts AS ts - 2);"
    counted = "CREATE QUERY counted AS SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW EVERY 2 SEC;"
    closing = "CREATE QUERY closing AS SELECT SUM(x) AS total FROM s BEGIN 0 END NOW;"
    found: dict[int, list[tuple[str, object]]] = {}

    def keep(number: int, tables: Mapping[str, pa.Table]) -> None:
        rows = [(name, row) for name, table in tables.items() for row in table.to_pylist()]
        found[number] = [(name, (row["at"], row.get("n", row.get("total")))) for name, row in rows]

    for name, row in (("1", "4,1"), ("2", "3,2"), ("3", "7,4")):
        put(tmp_path / "s", name, row)
        handle = cqc.spark.start(
            cqc.compile(text + counted + closing),
            session.spark,
            {"s": reader.csv(str(tmp_path / "s"))},
            finite=True,
            on_batch=keep,
            checkpoint=str(tmp_path / "checkpoint"),
        )
        assert handle.await_end(200)
    rows = [row for number in sorted(found) for row in found[number]]
    assert sorted(rows) == [
        ("closing", (4, 1)),
        ("closing", (4, 3)),
        ("closing", (7, 7)),
        ("counted", (4, 1)),
        ("counted", (6, 2)),
    ]
