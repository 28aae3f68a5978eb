"""Levenshtein's distance over columns and constants."""

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.expressions.edit_distance import levenshtein


def text(*values: str | None) -> Column:
    return Column(ColumnType.STRING, pa.array(values, pa.string()))


def test_each_row_has_its_own_distance() -> None:
    distances, _, _ = levenshtein(
        text("kitten", "", "日本", None), text("sitting", "ab", "日", "x")
    )
    assert distances[:3].tolist() == [3, 2, 1]


def test_a_constant_stands_beside_every_row() -> None:
    constant = Column(ColumnType.STRING, pa.scalar("ab"))
    assert levenshtein(text("ab", "abc", "x"), constant)[0].tolist() == [0, 1, 2]


def test_more_than_the_most_is_minus_one() -> None:
    most = Column(ColumnType.BIGINT, np.asarray(1))
    assert levenshtein(text("ab", "xyz"), text("a", "abc"), most)[0].tolist() == [1, -1]
