"""Which comparisons become comparisons of instants, and which stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.compiler.wording.expressions import expression_text

if TYPE_CHECKING:
    from cqc.compiler.meaning.bound import Expression, Query

STREAMS = """
CREATE STREAM a (ts DOUBLE, x DOUBLE);
CREATE STREAM b (ts DOUBLE, x DOUBLE);
CREATE STREAM c (ts BIGINT, x DOUBLE);
"""


def where(condition: str) -> str:
    query = cqc.compile(f"{STREAMS}SELECT a.x FROM a, b, c WHERE {condition} MAXWINDOW 9 SEC")
    return shown(query.queries["q1"], query.queries["q1"].where)


def shown(query: Query, condition: Expression | None) -> str:
    assert condition is not None
    relations = [item.relation for item in query.items]
    return expression_text(condition, relations, [item.alias for item in query.items])


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("b.ts - a.ts <= 0.1", "(b.ts - a.ts) <= 100 ms"),
        ("a.ts + 0.1 + 0.2 >= b.ts", "(a.ts - b.ts) >= -300 ms"),
        ("a.ts = c.ts", "(a.ts - c.ts) = 0 s"),
        ("2 SEC > abs(a.ts - b.ts - 1)", "abs((a.ts - b.ts) + -1 s) < 2 s"),
        ("a.ts - b.ts < b.ts - c.ts", "((a.ts - b.ts) + (c.ts - b.ts)) < 0 s"),
        ("NOT (a.ts < b.ts OR a.x > 1)", "NOT (((a.ts - b.ts) < 0 s) OR (a.x > 1))"),
    ],
)
def test_event_times_are_compared_as_instants(condition: str, expected: str) -> None:
    assert where(condition) == expected


@pytest.mark.parametrize(
    "condition",
    ["a.ts < 0.3", "a.ts + b.ts < 0.3", "a.ts < b.x", "a.ts - a.ts <= 0.1", "a.ts < b.ts + 1e300"],
)
def test_other_comparisons_stay_as_they_are(condition: str) -> None:
    assert " s" not in where(condition)


def test_whole_seconds_are_exact_as_they_are() -> None:
    query = cqc.compile(f"{STREAMS}SELECT l.x FROM c l, c r WINDOW l.ts = r.ts").queries["q1"]
    assert shown(query, query.window) == "l.ts = r.ts"
