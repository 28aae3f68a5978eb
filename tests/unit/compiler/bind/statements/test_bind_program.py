import pytest

from cqc.compiler.bind.statements.bind_program import bind_query
from cqc.compiler.diagnostics.source import SourceFile
from cqc.compiler.functions.registered import UserFunction
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.parse.parser import parse
from cqc.compiler.syntax.tree import CreateQuery
from tests.support.bind_text import DECLARATIONS, bind_one, bind_text, codes


def test_bare_queries_take_the_free_numbers_after_named_ones_claimed_theirs() -> None:
    named = "CREATE QUERY Q2 AS SELECT ts FROM B; CREATE QUERY alarm AS SELECT ts FROM B;"
    result = bind_text(DECLARATIONS, "SELECT ts FROM B; SELECT ts FROM B;" + named)
    assert [query.name for query in result.queries] == ["q1", "q3", "Q2", "alarm"]


def test_declarations_are_visible_before_and_after_and_in_other_files() -> None:
    result = bind_text(
        "SELECT x FROM late;", "SELECT x FROM LATE; CREATE STREAM Late (ts BIGINT, x BIGINT);"
    )
    assert result.diagnostics == ()
    assert [query.items[0].relation.name for query in result.queries] == ["Late", "Late"]


def test_an_item_is_shown_as_written_in_from() -> None:
    assert [
        item.alias for item in bind_one("SELECT 1 AS x FROM b [ROWS 1], T AS Tt [ROWS 1]").items
    ] == ["b", "Tt"]


def test_a_program_without_statements_is_bound_to_nothing() -> None:
    result = bind_text("")
    assert (result.queries, result.diagnostics, dict(result.catalog.relations)) == ((), (), {})


def test_a_query_with_a_mistake_keeps_its_number_and_the_others_are_bound() -> None:
    result = bind_text(DECLARATIONS, "SELECT nothing FROM B; SELECT ts FROM B;")
    assert [query.name for query in result.queries] == ["q2"]
    assert [d.code for d in result.diagnostics] == ["CQ031"]


def test_one_query_is_bound_against_a_catalog() -> None:
    catalog = bind_text(DECLARATIONS).catalog
    program, _ = parse(SourceFile("register", "SELECT pressure FROM B WHERE pressure > 180"))
    (statement,) = program.statements
    assert isinstance(statement, CreateQuery)
    query, diagnostics = bind_query(statement, catalog, "high", {})
    assert diagnostics == []
    assert query is not None
    assert query.name == "high"


def test_a_user_function_is_called_with_its_declared_type() -> None:
    celsius = UserFunction("celsius", lambda f: f, ColumnType.DOUBLE, 1)
    query = bind_one("SELECT Celsius(pressure) AS c FROM B", functions={"celsius": celsius})
    assert query.outputs[0].expression.type is ColumnType.DOUBLE


def test_a_user_function_with_a_wrong_number_of_arguments_is_refused() -> None:
    celsius = UserFunction("celsius", lambda f: f, ColumnType.DOUBLE, 1)
    result = bind_text(
        DECLARATIONS, "SELECT celsius(1, 2) AS c FROM B", functions={"celsius": celsius}
    )
    assert [d.code for d in result.diagnostics] == ["CQ036"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT nothing + 'a' AS x FROM B WHERE nothing > 5", ["CQ031", "CQ031"]),
        ("SELECT x.y AS z FROM nowhere AS x WHERE x.y = 'a' AND q > 1", ["CQ030"]),
        ("SELECT abs(name) + 1 AS x FROM B ", ["CQ044"]),
        ("SELECT bed FROM B, T AS B", ["CQ033"]),
        ("SELECT nothing AS x FROM B BEGIN NOW - 5 END NOW GROUP BY x ORDER BY x", ["CQ031"]),
        ("SELECT lowr(name) AS x FROM B WHERE NOT lowr(name) = 5", ["CQ035", "CQ035"]),
    ],
)  # fmt: skip
def test_nothing_is_reported_that_only_follows_from_another_mistake(
    text: str, expected: list[str]
) -> None:
    assert codes(text) == expected


def test_a_stream_with_a_mistake_is_not_reported_again_by_its_queries() -> None:
    declared = "CREATE STREAM two (a TIMESTAMP, b TIMESTAMP);"
    result = bind_text(
        declared, "SELECT a FROM two WINDOW a < b; SELECT c FROM two, two AS again MAXWINDOW 1 s"
    )
    assert [d.code for d in result.diagnostics] == ["CQ022"]


def test_mistakes_in_all_clauses_are_found_in_one_run() -> None:
    text = """SELECT n1, n2 + 1 AS x FROM B JOIN T ON n3 = 1 WHERE n4 > 1 WINDOW n5 > B.ts AND B.bed = 1
              MAXWINDOW 1 s BEGIN 7 END NOW EVERY 0 s GROUP BY n6 HAVING n7 = 1 ORDER BY n8 LIMIT 0.5"""
    assert sorted(codes(text)) == sorted(["CQ031"] * 8 + ["CQ052", "CQ058", "CQ053", "CQ054"])
