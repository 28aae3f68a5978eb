"""A mistake in the syntax is reported alone; what the binder makes of the guess at its place is not."""

from __future__ import annotations

import pytest

import cqc

STREAM = "CREATE STREAM s (ts TIMESTAMP, n BIGINT, t STRING, ok BOOLEAN);\n"


def codes(query: str) -> list[str]:
    with pytest.raises(cqc.CompileError) as caught:
        cqc.compile(STREAM + query)
    return [each.code for each in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT n FROM s WHERE t || 'a' = 'b'", "CQ009"),
        ("SELECT n FROM s WHERE t LIKE 'a' || 'b'", "CQ009"),
        ("SELECT n FROM s WHERE n MISSING", "CQ005"),
        ("SELECT n FROM s WHERE n ISNULL", "CQ018"),
        ("SELECT n, now() FROM s", "CQ018"),
        ("SELECT n FROM s WHERE CAST(n AS NUMBERS) = 1", "CQ019"),
        ("SELECT n FROM s WHERE n = 0x1F", "CQ019"),
        ("SELECT n FROM s WHERE n = 'a", "CQ002"),
        ("SELECT n sec FROM s", "CQ005"),
        ("SELECT COUNT(ALL n) FROM s BEGIN NOW - 5 END NOW", "CQ018"),
        ("SELECT n FROM s WHERE n = :p", "CQ163"),
        ("SELECT n FROM s WHERE (n = 1 n = 2)", "CQ005"),
        ("SELECT 0x1F AS v FROM s", "CQ019"),
        ("CREATE STREAM t (BIGINT ts)", "CQ019"),
        ("CREATE STREAM t (ts GEOMETRY)", "CQ019"),
        (
            "CREATE STREAM t (ts BIGINT, x GEOMETRY); SELECT -x, x % 2 FROM t WHERE x > 5 OR x",
            "CQ019",
        ),
        ("CREATE TABLE t (k UUID); SELECT n FROM s, t WHERE t.k = s.n AND lower(k) = 'a'", "CQ019"),
        ("SELECT CAST(t AS BLOB) + 1 AS v FROM s WHERE CAST(n AS BIGINT) > 1", "CQ019"),
    ],
)
def test_what_follows_from_a_mistake_is_left_out(query: str, code: str) -> None:
    assert codes(query) == [code]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT presure, FROM s", ["CQ031", "CQ008"]),
        ("SELECT n FROM s WHERE nn && ok", ["CQ031", "CQ009"]),
        ("SELECT n FROM s WHERE ok ≠ TRUE AND t > 5", ["CQ009", "CQ040"]),
        ("SELECT n FROM s WHERE t > 5; SELECT n FROM", ["CQ040", "CQ017"]),
    ],
)
def test_what_is_wrong_by_itself_is_reported_too(query: str, expected: list[str]) -> None:
    assert codes(query) == expected


def test_a_star_too_many_is_one_mistake() -> None:
    assert codes("SELECT *, * FROM s") == ["CQ037"]


def test_two_wrong_bounds_of_between_are_one_mistake() -> None:
    assert codes("SELECT n FROM s WHERE n BETWEEN 'a' AND 'b'") == ["CQ040"]
