"""Every kind of expression is taken apart and put together again, and stays the same object where nothing changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cqc.compiler.meaning.bound import ColumnRef, Expression, Query, children
from cqc.compiler.rewrites.mentioned_items import item_mask, renumber, substitute
from cqc.compiler.rewrites.rebuild import rebuilt, rebuilt_clauses
from tests.support.bind_text import bind_text

SCHEMA = "CREATE STREAM s (ts TIMESTAMP, k STRING, x BIGINT, y DOUBLE, b BOOLEAN);"
EXPRESSIONS = (
    *("x + 1", "-x", "x < y", "x IS NOT DISTINCT FROM 2", "NOT b", "b AND x > 1 OR y < 2"),
    *("x IN (1, x + 1)", "k LIKE 'a%'", "k IS NULL", "b IS TRUE", "CAST(x AS STRING)", "abs(x)"),
    "CASE WHEN b THEN x ELSE 2 END",
)


def bound_output(text: str, rest: str = "") -> tuple[Expression, Query]:
    result = bind_text(f"{SCHEMA} CREATE QUERY q AS SELECT {text} AS o FROM s {rest};")
    (query,) = result.queries
    return query.outputs[0].expression, query


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_what_does_not_change_stays_the_same(text: str) -> None:
    expression, _ = bound_output(text)
    assert rebuilt(expression, lambda each: each) == expression
    if not text.startswith("CASE"):
        assert rebuilt(expression, lambda each: each) is expression


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        *((text, "") for text in EXPRESSIONS),
        ("SUM(x) OVER (PARTITION BY k ROWS 1 PRECEDING)", ""),
        ("LAST(x)", "BEGIN NOW - 1 MINUTE END NOW"),
    ],
)
def test_a_change_reaches_every_column(text: str, rest: str) -> None:
    expression, _ = bound_output(text, rest)
    assert item_mask(expression) == 0b1
    moved = renumber(expression, [3])
    assert item_mask(moved) == 0b1000
    assert renumber(moved, [0, 1, 2, 0]) == expression
    assert len(children(moved)) == len(children(expression))


def test_the_clauses_of_a_pull_query_are_changed_together() -> None:
    _, query = bound_output(
        "k", "BEGIN NOW - 1 MINUTE END NOW GROUP BY k HAVING COUNT(x) > 1 ORDER BY k"
    )
    pull = query.pull
    assert pull is not None

    def third(column: ColumnRef) -> Expression:
        return replace(column, item=2)

    changed = rebuilt_clauses(pull, lambda each: substitute(each, third))
    assert changed.having is not None
    found = [*changed.group_by, changed.having, *(each.expression for each in changed.order_by)]
    assert [item_mask(each) for each in found] == [0b100] * 3
