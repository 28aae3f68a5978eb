from __future__ import annotations

import pytest

from cqc.compiler.meaning.bound import OverFunction
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import from_python, to_python
from cqc.runtime.pull.over.ordering import SortKey
from cqc.runtime.pull.over.over_values import neighbour_values, rank_values
from cqc.runtime.pull.over.partitions import Partitions, arrange


def ordered(values: list[object]) -> Partitions:
    key = SortKey(from_python(ColumnType.BIGINT, values), False, nulls_first=True)
    return arrange([], [key], len(values), by_time=False)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (OverFunction.ROW_NUMBER, [1, 2, 3, 4]),
        (OverFunction.RANK, [1, 2, 2, 4]),
        (OverFunction.DENSE_RANK, [1, 2, 2, 3]),
        (OverFunction.PERCENT_RANK, [0.0, 1 / 3, 1 / 3, 1.0]),
        (OverFunction.CUME_DIST, [0.25, 0.75, 0.75, 1.0]),
    ],
)
def test_ranks(function: OverFunction, expected: list[object]) -> None:
    assert to_python(rank_values(function, ordered([1, 2, 2, 3]))) == expected


def test_ntile_gives_the_first_buckets_one_more() -> None:
    found = rank_values(OverFunction.NTILE, ordered([1, 2, 3, 4, 5]), 3)
    assert to_python(found) == [1, 1, 2, 2, 3]
    assert to_python(rank_values(OverFunction.NTILE, ordered([1, 2]), 5)) == [1, 2]


def test_a_neighbour_that_is_not_there_is_the_default() -> None:
    texts = from_python(ColumnType.STRING, ["a", None, "c"])
    other = from_python(ColumnType.STRING, ["x", "y", "z"])
    assert to_python(neighbour_values(texts, None, 1, ordered([1, 2, 3]))) == [None, "a", None]
    assert to_python(neighbour_values(texts, other, -1, ordered([1, 2, 3]))) == [None, "c", "z"]
