"""Tables of a real PostgreSQL: read once, or as they grow."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.run.batch_run import BatchRun
from cqc.runtime.run.durable.durable_run import DurableRun
from cqc.runtime.sources import postgres
from cqc.runtime.sources.postgres import PostgresRows
from cqc.runtime.sources.spooled import Earlier
from tests.integration.sinks.receivers import postgres_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

psycopg = pytest.importorskip("psycopg")


@pytest.fixture(scope="module")
def dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with postgres_server(tmp_path_factory.mktemp("pg")) as address:
        yield address


def execute(dsn: str, *statements: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def results(program: str, folder: Path, **options: Any) -> list[dict[str, Any]]:
    kind = DurableRun if "checkpoint" in options else BatchRun
    run = kind(cqc.compile(program), RunOptions(out=str(folder / "out"), **options))
    run.to_end()
    run.close()
    return [json.loads(line)["row"] for line in (folder / "out").read_text().splitlines()]


def test_every_type_comes_as_it_is(dsn: str, tmp_path: Path) -> None:
    execute(
        dsn,
        'DROP TABLE IF EXISTS "every"',
        'CREATE TABLE "every" (at TIMESTAMPTZ, local TIMESTAMP, n BIGINT, d NUMERIC(30, 10), f DOUBLE PRECISION,'
        ' "Ok" BOOLEAN, t TEXT, day DATE, b BYTEA, list INT[], more JSONB)',
        """INSERT INTO "every" VALUES ('2024-01-01 01:00:00.5+01', '2024-01-01 00:00:01', 9007199254740993,
        12345678901234567890.0123456789, 'NaN', TRUE, E'a "b"\\n\\\\c', '2024-02-29', '\\x00ff', '{1,2}', '{"a": 1}'),
        ('2024-01-01 00:00:09Z', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)""",
    )
    program = (
        "CREATE STREAM s (at TIMESTAMP, local TIMESTAMP, n BIGINT, d DECIMAL(30, 10), f DOUBLE, ok BOOLEAN, t STRING, day DATE,"
        " b BINARY, list ARRAY<BIGINT>, more STRING, a BIGINT FROM 'more.a', WATERMARK FOR at AS at)"
        f" WITH (format = 'postgres', dsn = '{dsn}', table = 'every'); SELECT * FROM s;"
    )
    first, second = results(program, tmp_path)
    assert first == {
        "at": "2024-01-01T00:00:00.500000Z", "local": "2024-01-01T00:00:01Z", "n": 9007199254740993,
        "d": 12345678901234567890.0123456789, "f": "NaN", "ok": True, "t": 'a "b"\n\\c', "day": "2024-02-29",
        "b": "AP8=", "list": [1, 2], "more": '{"a": 1}', "a": 1,
    }  # fmt: skip
    assert "12345678901234567890.0123456789" in (tmp_path / "out").read_text()
    assert {value for name, value in second.items() if name != "at"} == {None}


def test_a_table_is_read_once_in_the_order_of_event_time(dsn: str, tmp_path: Path) -> None:
    execute(
        dsn,
        "DROP TABLE IF EXISTS once",
        "CREATE TABLE once (ts BIGINT, x BIGINT)",
        "INSERT INTO once SELECT 1000 - i, i FROM generate_series(1, 1000) AS i",
    )
    program = (
        "CREATE STREAM s (x BIGINT, ts BIGINT, WATERMARK FOR ts AS ts)"
        f" WITH (format = 'postgres', dsn = '{dsn}', table = 'public.once'); SELECT x FROM s;"
    )
    options = {"checkpoint": str(tmp_path / "ck")}
    assert [row["x"] for row in results(program, tmp_path, **options)] == list(range(1000, 0, -1))
    assert len(results(program, tmp_path, **options)) == 1000  # a new start has it all


def test_a_growing_column_goes_on_where_it_was(dsn: str, tmp_path: Path) -> None:
    execute(
        dsn, "DROP TABLE IF EXISTS more", "CREATE TABLE more (at TIMESTAMPTZ, ts BIGINT, x BIGINT)"
    )
    program = (
        "CREATE STREAM s (ts BIGINT, x BIGINT)"
        f" WITH (format = 'postgres', dsn = '{dsn}', table = 'more', growing = 'at'); SELECT x FROM s;"
    )
    for part in range(3):
        # Rows of one value, some of them equal, before and after a start.
        execute(
            dsn,
            f"INSERT INTO more SELECT TIMESTAMPTZ '2024-01-01' + (i / 4) * INTERVAL '1 s', {part * 100} + i, i / 2"
            f" FROM generate_series({part * 10}, {part * 10 + 9}) AS i",
        )
        found = results(program, tmp_path, checkpoint=str(tmp_path / "ck"))
        assert sorted(row["x"] for row in found) == sorted(i // 2 for i in range(part * 10 + 10))


def test_rows_of_one_value_are_handed_out_together(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "_AT_ONCE", 3)
    execute(
        dsn,
        "DROP TABLE IF EXISTS ties",
        "CREATE TABLE ties (id INT, ts BIGINT)",
        "INSERT INTO ties SELECT i / 5, i % 2 FROM generate_series(0, 19) AS i",
    )
    text = f"CREATE STREAM s (ts BIGINT) WITH (format = 'postgres', dsn = '{dsn}', table = 'ties', growing = 'ID')"
    relation = cqc.compile(text).catalog.relations["s"]

    def pieces(earlier: Earlier) -> list[bytes]:
        rows = PostgresRows(relation, follow=False, warn=print)
        return [piece.rows for piece in rows.pieces(earlier)]

    every = pieces(Earlier(0))
    assert [piece.count(b"\n") for piece in every] == [5, 5, 5, 5]
    # A kill in the middle of a write leaves some rows of the last value.
    lines = b"".join(every).splitlines(keepends=True)
    for cut in range(1, 21):
        (tmp_path / "kept.jsonl").write_bytes(b"".join(lines[:cut]))
        rest = b"".join(pieces(Earlier(cut, tmp_path / "kept.jsonl"))).splitlines(keepends=True)
        assert sorted(lines[:cut] + rest) == sorted(lines)


def test_a_server_that_is_gone_for_a_while_is_asked_again(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "_AT_ONCE", 2)
    execute(
        dsn,
        "DROP TABLE IF EXISTS gone",
        "CREATE TABLE gone (id INT, ts BIGINT)",
        "INSERT INTO gone SELECT i, i FROM generate_series(0, 9) AS i",
    )
    text = f"CREATE STREAM s (ts BIGINT) WITH (format = 'postgres', dsn = '{dsn}', table = 'gone', growing = 'id', poll = '0.01')"
    said: list[str] = []
    rows = PostgresRows(cqc.compile(text).catalog.relations["s"], follow=True, warn=said.append)
    came: list[bytes] = []
    for piece in rows.pieces(Earlier(0)):
        came += piece.rows.splitlines()
        if len(came) == 2:
            execute(
                dsn,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE query LIKE '%cqc_rows%' AND pid <> pg_backend_pid()",
            )
        if len(came) >= 10:
            rows.close()
    assert len(came) == len(set(came)) == 10
    assert len(said) == 1
    assert said[0].endswith("; asking again")


def test_a_table_of_the_program_is_read_before_the_streams(dsn: str, tmp_path: Path) -> None:
    execute(
        dsn,
        "DROP TABLE IF EXISTS rooms",
        "CREATE TABLE rooms (room BIGINT, name TEXT)",
        "INSERT INTO rooms VALUES (1, 'hall'), (2, 'attic')",
    )
    (tmp_path / "s.csv").write_text("ts,room\n1,2\n2,1\n")
    program = (
        f"CREATE TABLE rooms (room BIGINT, name STRING) WITH (format = 'postgres', dsn = '{dsn}', table = 'rooms');"
        f"CREATE STREAM s (ts BIGINT, room BIGINT) WITH (path = '{tmp_path}/s.csv');"
        "SELECT name FROM s, rooms WHERE s.room = rooms.room;"
    )
    assert [row["name"] for row in results(program, tmp_path)] == ["attic", "hall"]
    again = results(program, tmp_path, checkpoint=str(tmp_path / "ck"))
    assert [row["name"] for row in again] == ["attic", "hall"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("table = 'rooms'", "needs WITH"),
        ("dsn = 'host=127.0.0.1 port=1', table = 'rooms'", "cannot read s from PostgreSQL"),
        ("dsn = ENV('PG_DSN'), table = 'nowhere'", 'relation "nowhere" does not exist'),
        ("dsn = ENV('PG_DSN'), table = 'pg_class'", "table pg_class has no column ts"),
        ("dsn = ENV('BAD_DSN'), table = 'rooms'", r"ENV\('BAD_DSN'\)"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    dsn: str, options: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PG_DSN", dsn)
    monkeypatch.setenv("BAD_DSN", "hush-hush nonsense")
    text = f"CREATE STREAM s (ts BIGINT) WITH (format = 'postgres', {options})"
    with pytest.raises(RunError, match=sentence) as told:
        PostgresRows(cqc.compile(text).catalog.relations["s"], follow=False, warn=print)
    assert "hush-hush" not in str(told.value)


def test_a_table_does_not_grow() -> None:
    with pytest.raises(cqc.CompileError, match="is for streams"):
        cqc.compile(
            "CREATE TABLE t (x BIGINT) WITH (format = 'postgres', dsn = 'd', table = 't', growing = 'x')"
        )
