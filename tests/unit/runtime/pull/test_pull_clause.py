"""A clause answers windows, one or many at a time, from rows or from trees, to the same."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

import cqc
from cqc.runtime.deliver.results import python_values
from cqc.runtime.pull import pull_clause

if TYPE_CHECKING:
    from cqc.runtime.pull.pull_clause import PullClause

TEXT = "CREATE STREAM s (ts BIGINT, k BIGINT, x BIGINT);"
SUMS = "SELECT k, SUM(x) AS t FROM s BEGIN 0 END NOW GROUP BY k"
ROWS = "SELECT x FROM s BEGIN 0 END NOW"


def clause_of(query: str, *numbers: int) -> PullClause:
    engine = cqc.Engine(cqc.compile(TEXT))
    engine.register(query, "q")
    engine.push("s", [{"ts": at, "k": at % 3, "x": at} for at in numbers])
    return engine._pulls.query("q").clause


def told(clause: PullClause, begin: int, end: int) -> list[tuple[int, ...]]:
    answer = clause.answer_one(begin * 1_000_000, end * 1_000_000)
    return sorted(zip(*map(python_values, answer.columns), strict=True))


def test_one_window_is_answered_from_the_rows_inside() -> None:
    assert told(clause_of(ROWS, 1, 2, 3, 4), 2, 3) == [(2,), (3,)]
    assert told(clause_of(SUMS, 1, 2, 3, 4), 1, 4) == [(0, 3), (1, 5), (2, 2)]


@pytest.mark.parametrize("query", [ROWS, SUMS])
def test_many_windows_are_answered_as_each_would_be(
    query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_clause, "_ROWS_AT_ONCE", 16)
    rng = Random(5)
    clause = clause_of(query, *range(40))
    windows = [sorted(rng.sample(range(40), 2)) for _ in range(20)]
    begins, ends = (np.array(edge, np.int64) * 1_000_000 for edge in zip(*windows, strict=True))
    found: dict[int, list[tuple[int, ...]]] = {number: [] for number in range(20)}
    for first, answer in clause.answer_many(begins, ends):
        for window, *row in zip(answer.window, *map(python_values, answer.columns), strict=True):
            found[int(window) + first].append(tuple(row))
    assert [sorted(rows) for rows in found.values()] == [told(clause, *each) for each in windows]


def test_outputs_lie_ready_once_enough_has_been_asked() -> None:
    clause = clause_of(ROWS, *range(20))
    tables = [clause.table(5_000_000, 9_000_000) for _ in range(30)]
    assert clause._ready is not None
    assert all(table["x"].to_pylist() == [5, 6, 7, 8, 9] for table in tables)
    clause.close()


def test_the_part_of_an_answer_has_groups_or_rows_with_their_age() -> None:
    edges = np.array([2_000_000], np.int64), np.array([4_000_000], np.int64)
    rows = clause_of(ROWS, 1, 2, 3, 4).part(*edges)
    assert rows.oldest_us.tolist() == [2_000_000, 3_000_000, 4_000_000]  # type: ignore[union-attr]  # of rows
    groups = clause_of(SUMS, 1, 2, 3, 4).part(*edges)
    assert sorted(python_values(groups.keys[0])) == [0, 1, 2]  # type: ignore[union-attr]  # of groups
