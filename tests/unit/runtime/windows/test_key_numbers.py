"""A key has one number whenever it comes, and its number leads back to it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column, to_python
from cqc.runtime.windows.key_numbers import KeyNumbers, TextNumbers


def text(*values: str | None) -> Column:
    valid = np.array([value is not None for value in values])
    return Column(ColumnType.STRING, pa.array(values, pa.string()), None if valid.all() else valid)


def test_equal_texts_have_one_number_also_later() -> None:
    numbers = TextNumbers()
    first = numbers.of(pa.array(["a", "", "b", "a", None]))
    again = numbers.of(pa.array([None, "b", "", "c"]))
    assert first[0] == first[3]
    assert len({*first.tolist()}) == 4
    assert again[:3].tolist() == [first[4], first[2], first[1]]
    assert to_python(numbers.column(first)) == ["a", "", "b", "a", None]


def test_many_texts_are_told_apart() -> None:
    numbers = TextNumbers()
    texts = [f"key-{at}" for at in range(20_000)]
    found = numbers.of(pa.array(texts))
    assert sorted(found.tolist()) == list(range(20_000))
    assert numbers.of(pa.array(texts[::-1])).tolist() == found[::-1].tolist()


def test_null_is_a_key_of_its_own_beside_every_number() -> None:
    numbers = KeyNumbers([ColumnType.BIGINT, ColumnType.STRING])
    valid = np.array([True, False, True, True])
    whole = Column(ColumnType.BIGINT, np.array([0, 0, 0, -(2**63)]), valid)
    keys = numbers.of([whole, text("a", "a", None, "a")], 4)
    assert len(set(keys.tolist())) == 4
    found = [to_python(column) for column in numbers.columns(keys)]
    assert found == [[0, None, 0, -(2**63)], ["a", "a", None, "a"]]


def test_doubles_that_are_equal_are_one_key() -> None:
    numbers = KeyNumbers([ColumnType.DOUBLE])
    values = np.array([0.0, -0.0, np.nan, np.nan, 1.5])
    keys = numbers.of([Column(ColumnType.DOUBLE, values)], 5)
    assert keys[0] == keys[1]
    assert keys[2] == keys[3]
    assert len(set(keys.tolist())) == 3
