"""A word for all rows, and a word a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column, from_python
from cqc.runtime.expressions.times.by_word import by_word

if TYPE_CHECKING:
    from cqc.runtime.expressions.kernel import PartialOutcome


def times(word: str, numbers: Column) -> PartialOutcome:
    return numbers.values * len(word), np.asarray(word == "bad"), None


def test_each_word_is_asked_about_its_own_rows() -> None:
    words = from_python(ColumnType.STRING, ["a", "bad", "aa", "a"])
    numbers = from_python(ColumnType.BIGINT, [1, 2, 3, 4])
    values, failed, _ = by_word(times, words, numbers)
    assert values.tolist() == [1, 6, 6, 4]
    assert failed is not None
    assert failed.tolist() == [False, True, False, False]
