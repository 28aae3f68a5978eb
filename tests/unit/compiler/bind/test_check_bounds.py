"""Unbounded joins are errors that say what to add; contradictions are warnings that say what contradicts what."""

from __future__ import annotations

import pytest

import cqc
from cqc.compiler import CompileError
from cqc.compiler.diagnostics.diagnostic import Diagnostic, Severity, render_text

STREAMS = """
CREATE STREAM A (ts TIMESTAMP, x BIGINT);
CREATE STREAM B (ts TIMESTAMP, x BIGINT);
CREATE STREAM C (ts TIMESTAMP, x BIGINT);
CREATE TABLE t (x BIGINT);
"""


def errors(query: str) -> list[Diagnostic]:
    with pytest.raises(CompileError) as raised:
        cqc.compile(STREAMS + query)
    return list(raised.value.diagnostics)


def warnings(query: str) -> list[Diagnostic]:
    return list(cqc.compile(STREAMS + query).warnings)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT A.x FROM A, B WHERE A.x = B.x MAXWINDOW 1 SEC",
        "SELECT A.x FROM A [RANGE 1 SEC], B [RANGE 2 SEC] WHERE A.x < B.x",
        "SELECT A.x FROM A [ROWS 5], B [ROWS 1]",
        "SELECT A.x FROM A [ROWS 5], B WINDOW A.ts - B.ts <= 1 SEC",
        "SELECT A.x FROM A, B WINDOW A.ts = B.ts",
        "SELECT A.x FROM A, B WHERE B.ts BETWEEN A.ts AND A.ts + 4 SEC",
        "SELECT A.x FROM A, B, C WINDOW A.ts = B.ts AND B.ts = C.ts",
        "SELECT A.x FROM A, B WINDOW A.ts BETWEEN '2024-01-01' AND '2024-01-02' AND B.ts BETWEEN '2024-01-01' AND '2024-01-02'",
        "SELECT A.x FROM A, B WHERE A.ts > '2024-01-01' AND B.ts < '2024-01-02' WINDOW A.ts < B.ts",
        "SELECT A.x FROM A, t WHERE A.x = t.x",
        "SELECT x FROM A",
        "SELECT A.x FROM A, B WHERE A.x = B.x BEGIN NOW - 10 END NOW",
        "SELECT A.x FROM A, B WHERE TRUE MAXWINDOW 1 SEC",
        "SELECT A.x FROM A JOIN B ON A.x = B.x MAXWINDOW 1 SEC",
    ],
)
def test_bounded_joins_compile_without_a_word(query: str) -> None:
    assert warnings(query) == []


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("SELECT A.x FROM A, B MAXWINDOW 1 SEC", "Add `WHERE A.x = B.x`."),
        ("SELECT A.x FROM A [RANGE 1 SEC], B [RANGE 2 SEC]", "Add `WHERE A.x = B.x`."),
        ("SELECT A.x FROM A, t", "Add `WHERE A.x = t.x`."),
        ("SELECT a.x FROM A a, A b BEGIN NOW - 10 END NOW", "Add `WHERE a.x = b.x`."),
    ],
)
def test_a_join_without_any_condition_is_warned_about(query: str, hint: str) -> None:
    (found,) = warnings(query)
    assert (found.code, found.hint) == ("CQ092", hint)


@pytest.mark.parametrize(
    ("query", "pair"),
    [
        ("SELECT A.x FROM A, B", "A and B"),
        ("SELECT A.x FROM A, B WHERE A.x = B.x", "A and B"),
        ("SELECT A.x FROM A, B WINDOW A.ts < B.ts", "A and B"),
        ("SELECT A.x FROM A [RANGE 1 SEC], B", "A and B"),
        ("SELECT A.x FROM A [ROWS 1], B", "A and B"),
        ("SELECT A.x FROM A, B, C WINDOW A.ts = B.ts", "A and C"),
        ("SELECT A.x FROM A, B WINDOW A.ts = B.ts OR A.x = B.x", None),
        (
            "SELECT A.x FROM A, B WINDOW NOT (A.ts < B.ts OR A.ts > B.ts + 1 SEC) OR A.ts = B.ts",
            "A and B",
        ),
        ("SELECT A.x FROM A, t, B", "A and B"),
        ("SELECT A.x FROM A, B WINDOW A.ts > '2024-01-01' AND B.ts > '2024-01-01'", "A and B"),
        (
            "SELECT A.x FROM A, B WINDOW A.ts = '2024-01-01' AND (B.ts = '2024-01-01' OR B.ts = '2024-01-02')",
            "A and B",
        ),
        ("SELECT A.x FROM A, B WINDOW A.ts < '2024-01-01' AND B.ts < '2024-01-01'", "A and B"),
    ],
)
def test_an_unbounded_join_names_the_pair(query: str, pair: str | None) -> None:
    found = errors(query)
    assert [each.code for each in found] == ["CQ012" if pair else "CQ052"]
    if pair:
        assert pair in found[0].message
        assert "MAXWINDOW" in (found[0].hint or "")


def test_no_condition_is_offered_after_an_or() -> None:
    (found,) = errors("SELECT A.x FROM A, B WINDOW A.ts = B.ts OR A.ts > B.ts")
    assert found.hint == "Add `MAXWINDOW 6 SEC`."


def test_the_error_shows_both_items_and_says_what_to_add() -> None:
    text = render_text(errors("SELECT A.x\nFROM   A, B, C\nWINDOW A.ts = B.ts"))
    assert text.splitlines()[-3:] == [
        "   |        ^     ^",
        "   = detail: No MAXWINDOW, RANGE or ROWS bounds A, and no WINDOW condition bounds it from both sides.",
        "   = hint: Add `MAXWINDOW 6 SEC`.",
    ]


@pytest.mark.parametrize(
    ("query", "condition"),
    [
        ("SELECT A.x FROM A, B", "WINDOW B.ts BETWEEN A.ts - 6 SEC AND A.ts + 6 SEC"),
        ("SELECT A.x FROM A, B WINDOW A.ts <= B.ts", "AND B.ts - A.ts <= 6 SEC"),
        ("SELECT A.x FROM A [ROWS 5], B", "WINDOW A.ts - B.ts <= 6 SEC"),
    ],
)
def test_the_condition_that_the_hint_names_is_enough(query: str, condition: str) -> None:
    (found,) = errors(query)
    assert found.hint == f"Add `MAXWINDOW 6 SEC`, or `{condition}`."
    assert cqc.compile(f"{STREAMS}{query} {condition}").queries.names == ["q1"]


@pytest.mark.parametrize(
    "window",
    [
        "NOT (A.ts - B.ts > 4 SEC OR A.ts < B.ts)",
        "NOT A.ts <> B.ts",
        "(A.ts = B.ts) IS TRUE",
        "A.ts = B.ts OR A.ts = B.ts",
    ],
)
def test_or_and_not_bound_nothing(window: str) -> None:
    assert [each.code for each in errors(f"SELECT A.x FROM A, B WINDOW {window}")] == ["CQ012"]
    assert not warnings(f"SELECT A.x FROM A, B WINDOW {window} MAXWINDOW 5 SEC")


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        (
            "SELECT A.x FROM A, B WINDOW A.ts > B.ts AND B.ts > A.ts",
            "B.ts is before A.ts; but A.ts is before B.ts.",
        ),
        (
            "SELECT A.x FROM A, B WINDOW A.ts - B.ts >= 5 SEC MAXWINDOW 2 SEC",
            "A.ts is at most 2 s after B.ts; but B.ts is at least 5 s before A.ts.",
        ),
        ("SELECT x FROM A WHERE x > 5 AND x < 3", "No value of A satisfies x >= 6 AND x <= 2."),
        ("SELECT x FROM A WHERE 1 = 2", "The conditions on A contradict one another."),
    ],
)
def test_a_query_that_can_never_match_is_a_warning(query: str, detail: str) -> None:
    (warning,) = warnings(query)
    assert warning.severity is Severity.WARNING
    assert warning.code == "CQ090"
    assert warning.detail == detail
