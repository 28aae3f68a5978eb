from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from cqc.compiler.meaning.normal import Interval
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import from_python
from cqc.runtime.filter.bits.row_ids import RowIds
from cqc.runtime.filter.column_cuts import ColumnCuts, double_key
from tests.support.formula_judge import in_interval

LARGEST = 2**63 - 1
WHOLE = [-LARGEST - 1, -5, -1, 0, 1, 2, 3, 70_000_000, LARGEST]
DOUBLES = [-math.inf, -1e308, -2.5, -5e-324, -0.0, 0.0, 1.0, 1.5, 1e308, math.inf, math.nan]
TEXTS = ["", "a", "a\0", "aa", "b", "ä", "日本", "\U0001f600"]


def located(cuts: ColumnCuts, type_: ColumnType, values: list[Any]) -> list[int]:
    out = np.empty(len(values), np.int32)
    cuts.locate(from_python(type_, values), out)
    return out.tolist()


def intervals(values: list[Any]) -> list[Interval]:
    limits = [value for value in values if value == value]
    ends = [
        Interval(low, low_closed, high, high_closed)
        for low in (None, *limits)
        for high in (None, *limits)
        for low_closed in (False, True)
        for high_closed in (False, True)
    ]
    return [one for one in ends if one.low is None or one.high is None or one.low <= one.high]


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (ColumnType.BIGINT, WHOLE),
        (ColumnType.DOUBLE, DOUBLES),
        (ColumnType.STRING, TEXTS),
        (ColumnType.BOOLEAN, [False, True]),
    ],
)
def test_value_is_between_the_cuts_of_the_intervals_it_is_in(
    type_: ColumnType, values: list[Any]
) -> None:
    cuts = ColumnCuts(0, type_, RowIds())
    pairs = [(interval, cuts.pair(interval)) for interval in intervals(values)]
    cuts.settle()
    position = {row_id: at for at, row_id in enumerate(cuts.order.tolist())} | {0: -1}
    for value, bucket in zip(values, located(cuts, type_, values), strict=True):
        for interval, (low, high) in pairs:
            inside = position[low] < bucket <= position[high]
            if interval.low == interval.high and not (interval.low_closed and interval.high_closed):
                continue  # empty: both cuts may be the same one
            assert inside == in_interval(value, interval), (value, interval)


def test_null_is_beyond_the_end() -> None:
    cuts = ColumnCuts(0, ColumnType.BIGINT, RowIds())
    cuts.pair(Interval(1, True, 5, True))
    cuts.settle()
    assert located(cuts, ColumnType.BIGINT, [None, 9]) == [len(cuts), len(cuts) - 1]


def test_equal_cuts_are_one_and_go_when_nobody_uses_them() -> None:
    ids = RowIds()
    cuts = ColumnCuts(0, ColumnType.BIGINT, ids)
    pairs = [cuts.pair(Interval(at, True, at, True)) for at in range(1000)]
    assert pairs[0][1] == pairs[1][0]  # below 1 and above 0 are the same place
    assert cuts.settle()
    assert len(cuts) == 1002
    for pair in pairs:
        for row_id in pair:
            cuts.release(row_id)
    assert cuts.settle()
    assert len(cuts) == 1
    assert not cuts.settle()


def test_cuts_added_later_keep_the_ids_of_the_others() -> None:
    cuts = ColumnCuts(0, ColumnType.DOUBLE, RowIds())
    first = cuts.pair(Interval(1.0, True, 3.0, True))
    cuts.settle()
    cuts.pair(Interval(0.0, True, 2.0, True))
    cuts.settle()
    assert cuts.pair(Interval(1.0, True, 3.0, True)) == first


def test_keys_of_doubles_have_the_order_of_the_doubles() -> None:
    keys = [double_key(value) for value in DOUBLES]
    assert keys == sorted(keys)
    assert double_key(-0.0) == double_key(0.0)
    assert double_key(math.nan) == double_key(-math.nan)


@pytest.mark.parametrize("type_", [ColumnType.BIGINT, ColumnType.DOUBLE])
def test_many_cuts_are_found_as_by_a_search(type_: ColumnType) -> None:
    rng = np.random.default_rng(3)
    values = rng.integers(-(10**9), 10**9, 5000)
    constants = rng.choice(values, 700).tolist()
    kind = float if type_ is ColumnType.DOUBLE else int
    cuts = ColumnCuts(0, type_, RowIds())
    for constant in constants:
        cuts.pair(Interval(kind(constant), True, None, False))
    cuts.settle()
    expected = np.searchsorted(np.unique(constants), values, side="right")
    assert located(cuts, type_, [kind(value) for value in values]) == expected.tolist()
