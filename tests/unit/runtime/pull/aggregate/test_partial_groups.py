"""Parts of several engines: groups are merged by window and key, rows in the order of their age."""

from __future__ import annotations

import math

import numpy as np

import cqc
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python
from cqc.runtime.deliver.results import python_values
from cqc.runtime.pull.aggregate.partial_groups import (
    PartialGroups,
    PartialRows,
    merge_groups,
    merge_rows,
    rows_lane,
)
from cqc.runtime.pull.pull_plan import PullPlan


def aggregates(select: str) -> PullPlan:
    text = (
        "CREATE STREAM s (ts BIGINT, k STRING, d DOUBLE);"
        f"CREATE QUERY q AS SELECT {select} FROM s BEGIN 0 END NOW GROUP BY k;"
    )
    query = cqc.compile(text).queries["q"]
    assert query.pull is not None
    return PullPlan(query.outputs, query.pull)


def part(windows: list[int], keys: list[str], values: list[float]) -> PartialGroups:
    """One row a group."""
    numbers = np.arange(len(windows))
    lane = rows_lane(from_python(T.DOUBLE, values), numbers, len(windows))
    count = rows_lane(None, numbers, len(windows))
    return PartialGroups(np.array(windows), (from_python(T.STRING, keys),), (lane, count))


def test_groups_of_one_window_and_key_are_one() -> None:
    asked = aggregates("SUM(d) AS t, COUNT(*) AS n").aggregates
    parts = [
        part([0, 1], ["a", "a"], [1.0, 2.0]),
        part([1, 0, 1], ["a", "b", "b"], [4.0, 8.0, 16.0]),
    ]
    groups, failed = merge_groups(parts, asked)
    assert failed == 0
    keys, totals, counts = map(python_values, (groups.keys[0], *groups.aggregates))
    found = sorted(zip(groups.window.tolist(), keys, totals, counts, strict=True))
    assert found == [(0, "a", 1.0, 1), (0, "b", 8.0, 1), (1, "a", 6.0, 2), (1, "b", 16.0, 1)]
    assert groups.window.tolist() == sorted(groups.window.tolist())


def test_a_sum_that_overflowed_on_the_way_is_mended_by_its_values() -> None:
    asked = aggregates("SUM(d) AS t").aggregates
    large = 1.7e308
    column = from_python(T.DOUBLE, [large, large])
    first = PartialGroups(
        np.array([0]),
        (from_python(T.STRING, ["a"]),),
        (rows_lane(column, np.zeros(2, np.int64), 1),),
    )
    assert list(first.lanes[0].values) == [0]
    second = part([0], ["a"], [-large])
    groups, _ = merge_groups([first, second], asked)
    assert python_values(groups.aggregates[0]) == [large]
    assert math.isfinite(large)


def test_rows_come_in_the_order_of_their_oldest_event_time() -> None:
    def rows(window: list[int], oldest: list[int]) -> PartialRows:
        return PartialRows(
            np.array(window, np.int64),
            np.array(oldest, np.int64),
            (from_python(T.BIGINT, oldest),),
            (),
        )

    merged = merge_rows([rows([], []), rows([0, 1], [5, 1]), rows([0, 1], [3, 9])])
    assert merged.window.tolist() == [0, 0, 1, 1]
    assert python_values(merged.columns[0]) == [3, 5, 1, 9]
