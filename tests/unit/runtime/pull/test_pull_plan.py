"""What is made of the rows of windows: groups, HAVING, outputs, DISTINCT, ORDER BY, LIMIT; whole or from parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import cqc
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python, take
from cqc.runtime.deliver.results import python_values
from cqc.runtime.pull.pull_plan import PullPlan

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.runtime.columns.columns import Column
    from cqc.runtime.pull.pull_plan import Answer

WINDOW = np.array([0, 0, 0, 2, 2])
COLUMNS = (
    from_python(T.BIGINT, [1, 2, 3, 4, 5]),
    from_python(T.STRING, ["a", "b", "a", "b", "b"]),
    from_python(T.BIGINT, [5, 1, 7, 0, 2]),
)


def plan(select: str, rest: str = "") -> PullPlan:
    text = (
        "CREATE STREAM s (ts BIGINT, k STRING, x BIGINT);"
        f"CREATE QUERY q AS SELECT {select} FROM s BEGIN 0 END NOW {rest};"
    )
    query = cqc.compile(text).queries["q"]
    assert query.pull is not None
    return PullPlan(query.outputs, query.pull)


def rows_at(*rows: int) -> tuple[np.ndarray[Any, Any], Callable[[int, int], Column]]:
    """The windows of some rows, and how their columns are fetched."""
    chosen = np.array(rows, np.int64)
    return WINDOW[chosen], lambda item, column: take(COLUMNS[column], chosen)


def told(answer: Answer) -> list[tuple[Any, ...]]:
    return list(zip(answer.window.tolist(), *map(python_values, answer.columns), strict=True))


CASES = [
    ("x", "", [(0, 5), (0, 1), (0, 7), (2, 0), (2, 2)]),
    ("x * 2 AS y", "ORDER BY x DESC LIMIT 2", [(0, 14), (0, 10), (2, 4), (2, 0)]),
    ("DISTINCT k", "", [(0, "a"), (0, "b"), (2, "b")]),
    ("k, SUM(x) AS t", "GROUP BY k", [(0, "a", 12), (0, "b", 1), (2, "b", 2)]),
    ("k, MAX(x) AS m", "GROUP BY k HAVING COUNT(*) > 1", [(0, "a", 7), (2, "b", 2)]),
    ("COUNT(*) AS n, MIN(x) AS m", "", [(0, 3, 1), (1, 0, None), (2, 2, 0)]),
]


@pytest.mark.parametrize(("select", "rest", "expected"), CASES)
def test_the_rows_of_many_windows_are_answered_at_once(
    select: str, rest: str, expected: list[tuple[Any, ...]]
) -> None:
    window, fetch = rows_at(0, 1, 2, 3, 4)
    assert sorted(told(plan(select, rest).answer_rows(window, fetch, 3)), key=repr) == sorted(
        expected, key=repr
    )


@pytest.mark.parametrize(("select", "rest", "expected"), CASES)
def test_parts_of_two_engines_come_to_the_same(
    select: str, rest: str, expected: list[tuple[Any, ...]]
) -> None:
    asked = plan(select, rest)
    parts = []
    for rows in ((0, 3), (1, 2, 4)):
        window, fetch = rows_at(*rows)
        if asked.is_aggregate:
            parts.append(asked.partial_groups(window, fetch))
        else:
            oldest = fetch(0, 0).values
            parts.append(asked.partial_rows(window, oldest, fetch))
    assert sorted(told(asked.put_together(parts, 3)), key=repr) == sorted(expected, key=repr)


def test_a_total_that_does_not_fit_is_null_and_counted() -> None:
    asked = plan("SUM(x) AS t")
    largest = from_python(T.BIGINT, [2**63 - 1] * 2)
    answer = asked.answer_rows(np.array([0, 0]), lambda item, column: largest, 1)
    assert told(answer) == [(0, None)]
    assert asked.failures == 1


def test_only_plain_rows_can_lie_ready() -> None:
    assert plan("x, k").outputs_can_be_kept
    assert not plan("x", "LIMIT 1").outputs_can_be_kept
    assert plan("SUM(x) AS t").has_partials
