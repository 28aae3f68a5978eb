"""Mistakes are recognised, reported all at once, and mended where the intention is clear."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cqc.compiler.diagnostics.source import SourceFile
from cqc.compiler.parse.parser import parse

if TYPE_CHECKING:
    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.syntax.tree import Program


def mistakes(text: str) -> list[Diagnostic]:
    return parse(SourceFile("test.cq", text))[1]


def parsed(text: str) -> Program:
    return parse(SourceFile("test.cq", text))[0]


@pytest.mark.parametrize(
    ("text", "code", "underlined", "hint"),
    [
        ("SELCT a FROM s", "CQ004", "SELCT", "`SELECT`"),
        ("SELECT a FORM s", "CQ004", "FORM", "`FROM`"),
        ("SELECT a FROM s WHRE a > 1", "CQ004", "WHRE", "`WHERE`"),
        ("SELECT a FROM s LIMT 5", "CQ004", "LIMT", "`LIMIT`"),
        ("SELECT DISTINT a FROM s", "CQ004", "DISTINT", "`DISTINCT`"),
        ("SELECT a FROM s WHERE a BETWEN 1 AND 2", "CQ004", "BETWEN", "`BETWEEN`"),
        ("SELECT a FROM s, t MAXWINDW 6 SEC", "CQ004", "MAXWINDW", "`MAXWINDOW`"),
        ("SELECT a FROM s WHERE a IS NUL", "CQ004", "NUL", "`NULL`"),
        ("SELECT a FROM s ORDER BY a DSC", "CQ004", "DSC", "`DESC`"),
        ("CREATE STREM s (ts BIGINT)", "CQ004", "STREM", "`STREAM`"),
        ("SELECT a b FROM s", "CQ005", "", "`a, b`, or `a AS b`"),
        ("SELECT a FROM s x t y", "CQ005", "", "`x, t`"),
        ("SELECT f(a b) FROM s", "CQ005", "", "`a, b`"),
        ("SELECT a FROM s WHERE a > 1 b < 2", "CQ005", "b", "`AND`"),
        ("SELECT a FROM s SELECT b FROM t", "CQ006", "", "`;`"),
        ("SELECT a FROM s CREATE TABLE t (k INT)", "CQ006", "", "`;`"),
        ("SELECT a FROM s WHERE a > 1 WHERE b > 1", "CQ007", "WHERE", "`AND`"),
        ("SELECT a FROM s GROUP BY a GROUP BY b", "CQ007", "GROUP BY", None),
        ("SELECT a, FROM s", "CQ008", ",", "comma"),
        ("SELECT a FROM s, WHERE a > 1", "CQ008", ",", "comma"),
        ("CREATE STREAM s (ts BIGINT,)", "CQ008", ",", "comma"),
        ("SELECT a FROM s WHERE a && b", "CQ009", "&&", "`AND`"),
        ("SELECT a FROM s WHERE a =< 1", "CQ009", "=<", "`<=`"),
        ('CREATE STREAM s (ts BIGINT) WITH (path = "x")', "CQ010", '"x"', "`'x'`"),
        ("SELECT a AS 'b' FROM s", "CQ010", "'b'", '`"b"`'),
        ("SELECT FROM s", "CQ011", "SELECT", "`SELECT *`"),
        ("SELECT a WHERE b > 1", "CQ013", "WHERE", "`FROM`"),
        ("SELECT a FROM order", "CQ014", "order", '`"order"`'),
        ("SELECT a FROM s WHERE a > $1", "CQ016", "$", None),
        ("SELECT a FROM s LIMIT", "CQ017", "LIMIT", "`LIMIT 10`"),
        ("SELECT a FROM s GROUP a", "CQ017", "GROUP", "`GROUP BY`"),
        ("SELECT a FROM s [ROWS 5 SEC]", "CQ001", "SEC", "`RANGE 5 SEC`"),
        (
            "SELECT a FROM s, t MAXWINDOW INTERVAL '5 minutes'",
            "CQ017",
            "'5 minutes'",
            "INTERVAL '5' MINUTES",
        ),
        ("SELECT a FROM s, t WITHIN 5 SEC", "CQ018", "WITHIN", "`MAXWINDOW 5 SEC`"),
        ("SELECT a FROM s, t ON s.a = t.a", "CQ001", "ON", "`JOIN`"),
        ("SELECT TOP 5 a FROM s", "CQ018", "TOP", "`LIMIT n`"),
        ("SELECT ALL a FROM s", "CQ018", "ALL", "Leave it out"),
        ("CREATE STREAM s (a BIGINT PRIMARY KEY)", "CQ018", "PRIMARY", "name and a type"),
        ("CREATE STREAM s (a BIGINT NOT NULL)", "CQ001", "NOT", "name and a type"),
        ("SELECT a FROM s WHERE a > 1 AN b < 2", "CQ004", "AN", "`AND`"),
        ("SET RETENTION TO 1 HOUR", "CQ001", "TO", None),
        ("SELECT a FROM s # all of it", "CQ009", "#", "`--`"),
        ("SELECT a FROM s // all of it\nWHERE a > 1", "CQ009", "//", "`--`"),
        ("SELECT a FROM s MAXWINDOW 6", "CQ017", "6", "`6 SEC`"),
        ("SELECT a FROM s [RANGE 5]", "CQ017", "5", "`5 SEC`"),
        ("SELECT a FROM s BEGIN NOW", "CQ017", "BEGIN", "`END NOW`"),
        ("SELECT a FROM s END NOW", "CQ017", "END", "`BEGIN"),
        ("SELECT a FROM s NATURAL JOIN t ON a = b", "CQ018", "NATURAL", "ON"),
        ("SELECT a FROM s x ANTI JOIN t ON a = b", "CQ018", "ANTI", "NOT EXISTS"),
        ("SELECT a FROM s UNION SELECT b FROM t", "CQ018", "UNION", "UNION ALL"),
        ("SELECT a FROM s UNION DISTINCT SELECT b FROM t", "CQ018", "UNION", "UNION ALL"),
        ("SELECT a FROM s EXCEPT SELECT b FROM t", "CQ018", "EXCEPT", "NOT EXISTS"),
        ("SELECT a FROM s INTERSECT SELECT b FROM t", "CQ018", "INTERSECT", "EXISTS"),
        ("SELECT a FROM s, LATERAL (SELECT b FROM t) x", "CQ018", "LATERAL", "joined by"),
        ("SELECT a FROM s WHERE a > (SELECT b FROM s)", "CQ018", "SELECT", "FROM"),
        ("DROP STREAM s", "CQ018", "DROP", None),
        ("CREATE STREAM s (ts BIGNT)", "CQ019", "BIGNT", "`BIGINT`"),
        ("CREATE STREAM s (ts GEOMETRY)", "CQ019", "GEOMETRY", "BIGINT"),
        ("SELECT a FROM s, t MAXWINDOW 6 SCE", "CQ019", "SCE", "`SEC`"),
        ("SELECT COUNT(* FROM s", "CQ003", "(", "`)` before `FROM`"),
        ("SELECT a) FROM s", "CQ003", ")", "Remove"),
        ("SELECT a FROM s WHERE b = 'x", "CQ002", "'x", "`'`"),
        ("SELECT a FROM s WHERE b = 'it's'", "CQ002", "'it's'", "twice"),
        ('SELECT "a FROM s', "CQ002", '"a FROM s', '`"`'),
        ("SELECT a FROM s /* WHERE", "CQ002", "/* WHERE", "`*/`"),
        ("SELECT a FROM s WHERE a BETWEEN 1", "CQ001", "", None),
        ("hello", "CQ001", "hello", None),
    ],
)
def test_a_mistake_is_recognised(text: str, code: str, underlined: str, hint: str | None) -> None:
    (found,) = mistakes(text)
    assert (found.code, found.span.text) == (code, underlined)
    if hint is not None:
        assert found.hint is not None
        assert hint in found.hint


def test_all_mistakes_of_a_file_are_reported_in_one_run() -> None:
    text = """
        CREATE STREM s (ts BIGINT, x BIGNT,);
        SELECT x FROM s WHERE x =< 1 && x < 3;
        SELCT x, FROM s
        SELECT x FROM s LIMIT;
    """
    codes = [found.code for found in mistakes(text)]
    assert codes == [
        "CQ004",
        "CQ019",
        "CQ008",
        "CQ009",
        "CQ009",
        "CQ004",
        "CQ008",
        "CQ006",
        "CQ017",
    ]


def test_a_statement_whose_intention_is_clear_is_kept() -> None:
    wrong = parsed("SELCT a, FROM s WHRE a == 1")
    assert wrong == parsed("SELECT a FROM s WHERE a = 1")


def test_names_that_broken_statements_declare_are_known() -> None:
    assert parsed('CREATE STREAM B (ts ( ; CREATE TABLE "t" 5; SELECT a').broken == {"B", "t"}


def test_a_quote_left_open_does_not_swallow_the_next_statements() -> None:
    text = (
        "SELECT a FROM s WHERE b = 'x;\nSELECT a FROM s WHERE b = 'y' AND c = 'z';\nSELECT FROM s"
    )
    assert [found.code for found in mistakes(text)] == ["CQ002", "CQ011"]
    assert len(parsed(text).statements) == 3


def test_a_text_over_several_lines_is_fine_until_something_is_wrong() -> None:
    assert mistakes("SELECT a FROM s WHERE b = 'x\ny'") == []
    (found,) = mistakes("SELECT a FROM s WHERE b = 'x AND c = 1;\nSELECT d FROM s WHERE e = 'y")
    assert found.code == "CQ002"


def test_a_missing_semicolon_after_a_broken_statement_costs_only_that_one() -> None:
    program = parsed("SELECT a FROM s WHERE\nSELECT b FROM s")
    assert len(program.statements) == 1


def test_an_alias_that_is_a_join_word_needs_as() -> None:
    assert mistakes("SELECT * FROM s AS left JOIN t ON left.a = t.a") == []
    assert mistakes("SELECT * FROM left JOIN t ON left.a = t.a") == []
