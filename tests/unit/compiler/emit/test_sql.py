"""The emitted SQL: its shape. What it answers is compared with the oracle in tests/property."""

from __future__ import annotations

import duckdb
import pytest

import cqc
from cqc.compiler.emit.sql import emit_sql, query_sql

STREAM = 'CREATE STREAM s (ts BIGINT, x BIGINT, "odd ""name" DOUBLE, t STRING);'


def sql_of(text: str, dialect: str = "duckdb") -> str:
    return query_sql(cqc.compile(STREAM + text).queries["q1"], dialect)


def test_a_filter_is_a_plain_select() -> None:
    assert sql_of("SELECT x FROM s WHERE x > 1") == (
        'SELECT "s"."x" AS "x"\n'
        'FROM   "s" AS "s"\n'
        'WHERE  ("s"."ts" IS NOT NULL)\n'
        '  AND  ("s"."x" > 1)'
    )


def test_every_query_stands_under_its_name() -> None:
    program = cqc.compile(STREAM + "CREATE QUERY alarm AS SELECT x FROM s; SELECT ts FROM s;")
    text = emit_sql(program)
    assert [line for line in text.splitlines() if line.startswith("--")] == ["-- alarm", "-- q1"]
    assert text.count(";") == 2


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [("duckdb", '"s"."odd ""name"'), ("spark", '`s`.`odd "name`')],
)
def test_names_are_quoted(dialect: str, expected: str) -> None:
    assert expected in sql_of('SELECT "odd ""name" AS v FROM s', dialect)


@pytest.mark.parametrize(
    ("dialect", "expected"), [("duckdb", r"'it''s \ '"), ("spark", r"'it\'s \\ '")]
)
def test_text_is_quoted(dialect: str, expected: str) -> None:
    assert expected in sql_of(r"SELECT x FROM s WHERE t = 'it''s \ '", dialect)


def test_text_in_a_query_cannot_leave_its_quotes() -> None:
    connection = duckdb.connect()
    connection.execute('CREATE TABLE s (ts BIGINT, x BIGINT, "odd ""name" DOUBLE, t VARCHAR)')
    hostile = "x'); DROP TABLE s; --"
    connection.execute("INSERT INTO s VALUES (1, 1, NULL, ?)", [hostile])
    quoted = hostile.replace("'", "''")
    found = connection.execute(sql_of(f"SELECT x FROM s WHERE t = '{quoted}'")).fetchall()
    assert found == [(1,)]
    connection.close()


def test_a_name_with_a_line_end_stays_in_its_comment() -> None:
    program = cqc.compile(STREAM + 'CREATE QUERY "a\nb" AS SELECT x FROM s;')
    assert emit_sql(program).startswith("-- a b\n")


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT x FROM s", ["x"]),
        ("SELECT x FROM s ORDER BY ts LIMIT 2 BEGIN 0 END NOW", ["x"]),
        ("SELECT DISTINCT x FROM s ORDER BY x BEGIN 0 END NOW", ["x"]),
        ("SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW", ["n"]),
        ("SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW EVERY 5 SEC", ["@at", "n"]),
    ],
)
def test_the_columns_are_those_of_the_query(query: str, columns: list[str]) -> None:
    connection = duckdb.connect()
    connection.execute('CREATE TABLE s (ts BIGINT, x BIGINT, "odd ""name" DOUBLE, t VARCHAR)')
    connection.execute(sql_of(query))
    assert [column[0] for column in connection.description or []] == columns
    connection.close()
