"""Parameters: typed values from the language, from Python and from the command line."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.compiler.diagnostics.source import SourceFile, Span
from cqc.compiler.format.formatter import format_program
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.parameters.given import forget, give
from cqc.compiler.parameters.settle import has_parameters
from cqc.compiler.parameters.values import as_written, of_python, of_text

if TYPE_CHECKING:
    from collections.abc import Iterator

STREAM = "CREATE STREAM s (ts BIGINT, x DOUBLE, t STRING);"
PLACE = Span(SourceFile("here", "here"), 0, 4)


@pytest.fixture(autouse=True)
def nothing_given() -> Iterator[None]:
    yield
    forget()


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1, "1"),
        (-1, "(-1)"),
        (1.5, "1.5"),
        (float("nan"), "CAST('NaN' AS DOUBLE)"),
        ("it's", "'it''s'"),
        (True, "TRUE"),
        (datetime(2024, 1, 1, tzinfo=UTC), "TIMESTAMP '2024-01-01T00:00:00Z'"),
        (date(2024, 1, 1), "DATE '2024-01-01'"),
        (timedelta(seconds=1.5), "INTERVAL '1.500000' SECOND"),
    ],
)
def test_a_value_of_python_is_a_constant(value: object, written: str) -> None:
    made = of_python(value, PLACE)
    assert made is not None
    assert as_written(made) == written
    program = cqc.compile(STREAM + f"SELECT {written} AS v FROM s;")
    (output,) = program.queries["q1"].outputs
    shown = ColumnType.DOUBLE if made.type is ColumnType.INTERVAL else made.type
    assert output.expression.type is shown


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("5", ColumnType.BIGINT, 5),
        ("5", ColumnType.DOUBLE, 5.0),
        ("5 MINUTES", ColumnType.INTERVAL, 300_000_000),
        ("true", ColumnType.BOOLEAN, True),
        (" a ", ColumnType.STRING, " a "),
        ("1970-01-02", ColumnType.DATE, 1),
    ],
)
def test_a_text_has_the_declared_type(text: str, type_: ColumnType, value: object) -> None:
    made = of_text(text, type_, PLACE)
    assert made is not None
    assert made.value == value


def test_the_command_line_gives_another_value() -> None:
    give("MOST", "30")
    program = cqc.compile(STREAM + "SET :most = 26; SELECT x FROM s WHERE x > :most;")
    assert program.text_of("q1") == "SELECT x FROM s WHERE x > 30"


@pytest.mark.parametrize(("name", "text", "code"), [("mots", "1", "CQ163"), ("most", "x", "CQ166")])
def test_the_command_line_may_be_wrong(name: str, text: str, code: str) -> None:
    give(name, text)
    with pytest.raises(cqc.CompileError) as caught:
        cqc.compile(STREAM + "SET :most = 26; SELECT x FROM s WHERE x > :most;")
    assert [each.code for each in caught.value.diagnostics] == [code]


def test_queries_share_as_if_values_were_written_out() -> None:
    program = cqc.compile(
        STREAM
        + "CREATE QUERY a AS SELECT x FROM s WHERE x > 30;"
        + "CREATE QUERY hot (most DOUBLE) AS SELECT x FROM s WHERE x > :most;"
        + "CREATE QUERY b AS hot(most => 30.0);"
    )
    assert len(program.graph.bodies) == 1


def test_a_registered_query_has_its_values_after_a_restart() -> None:
    program = cqc.compile(STREAM)
    engine = cqc.Engine(program)
    engine.register("SELECT t, x - :x FROM s WHERE x > :x", name="q", parameters={"x": 1})
    again = cqc.Engine(cqc.compile(STREAM))
    again.register(engine.query_texts()["q"], name="q")
    for each in (engine, again):
        each.push("s", [{"ts": 1, "x": 3.0, "t": "a"}])
        assert [result.row for result in each.drain()] == [{"t": "a", "x - :x": 2.0}]


def test_fmt_leaves_parameters_as_they_are() -> None:
    text = (
        "set :most=26;\ncreate query hot(most double=26,level string) as select x from s where x>:most and t=:level;\n"
        "create query hot_3 as hot(most=>30,level=>'3');\n"
    )
    once = format_program(SourceFile("p.cq", text))
    assert "SET :most = 26;" in once
    assert "most => 30" in once
    assert format_program(SourceFile("p.cq", once)) == once


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("SELECT x FROM s WHERE t = 'c:windows' -- it's :no\n AND \"a:b\" = `c:d` /* :e */", False),
        ("SELECT x FROM s", False),
        ("SELECT x FROM s WHERE x > :most", True),
        ("SELECT x FROM s WHERE t = 'it''s' AND x > :most", True),
        ("SELECT x FROM s -- it's\n WHERE x > :most -- isn't", True),
        ("SELECT 'open FROM s WHERE x > :most", True),
    ],
)
def test_colons_inside_texts_and_comments_are_no_parameters(text: str, may: bool) -> None:
    assert has_parameters(Span(SourceFile("here", text), 0, len(text))) is may
