"""Keys get the same numbers in every packet, and a number leads back to its key."""

import math

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ColumnType, decimal
from cqc.runtime.columns.columns import Column, from_python, text_column, to_python
from cqc.runtime.columns.repeated_text import repeated_text
from cqc.runtime.state.key_numbers import KeyNumbers


def texts(*values: str | None) -> Column:
    return text_column(pa.array(values, pa.string()))


def test_a_key_keeps_its_number_in_later_packets() -> None:
    keys = KeyNumbers([ColumnType.STRING])
    assert keys.of([texts("a", "b", "a")], 3).tolist() == [0, 1, 0]
    assert keys.of([texts("c", "b", "")], 3).tolist() == [2, 1, 3]
    assert len(keys) == 4


def test_null_is_a_key_of_its_own_and_no_empty_text() -> None:
    keys = KeyNumbers([ColumnType.STRING])
    assert keys.of([texts(None, "", None)], 3).tolist() == [0, 1, 0]


def test_zeros_are_one_key_and_so_are_nans() -> None:
    keys = KeyNumbers([ColumnType.DOUBLE])
    values = np.array([0.0, -0.0, np.nan, -np.nan, 1.0])
    assert keys.of([Column(ColumnType.DOUBLE, values)], 5).tolist() == [0, 0, 1, 1, 2]


def test_several_columns_are_one_key() -> None:
    keys = KeyNumbers([ColumnType.STRING, ColumnType.BIGINT])
    numbers = Column(ColumnType.BIGINT, np.array([1, 2, 1, 1]), np.array([True, True, True, False]))
    assert keys.of([texts("a", "a", "b", "a"), numbers], 4).tolist() == [0, 1, 2, 3]


def test_without_columns_there_is_one_key() -> None:
    assert KeyNumbers([]).of([], 3).tolist() == [0, 0, 0]
    assert KeyNumbers([]).known([], 2).tolist() == [0, 0]


def test_to_look_for_keys_makes_none() -> None:
    keys = KeyNumbers([ColumnType.STRING, ColumnType.BIGINT])
    ones = Column(ColumnType.BIGINT, np.ones(3, np.int64), np.array([True, True, False]))
    assert keys.of([texts("a", None, "b"), ones], 3).tolist() == [0, 1, 2]
    assert keys.known([texts(None, "b", "c"), ones], 3).tolist() == [1, -1, -1]
    repeated = repeated_text(pa.array(["c", "a", "a"]).dictionary_encode())
    assert repeated is not None
    assert keys.known([repeated, ones], 3).tolist() == [-1, 0, -1]
    assert len(keys) == 3
    assert keys.of([texts("a", None, "c"), ones], 3).tolist() == [0, 1, 3]


def test_many_keys_are_told_apart_while_the_tables_grow() -> None:
    keys = KeyNumbers([ColumnType.STRING, ColumnType.BIGINT])
    for start in (0, 300, 5_000, 0):
        names = [f"key {at}" for at in range(start, start + 700)]
        numbers = Column(ColumnType.BIGINT, np.arange(start, start + 700))
        found = keys.of([texts(*names), numbers], 700)
        assert len(set(found.tolist())) == 700
    assert found.tolist() == list(range(700))
    assert keys.nbytes > 0


def test_the_values_of_a_key_are_found_by_its_number() -> None:
    keys = KeyNumbers([ColumnType.BIGINT, ColumnType.STRING, ColumnType.DOUBLE, ColumnType.BOOLEAN])
    values = [
        [0, None, 0, -(2**63)],
        ["a", "a", None, "a"],
        [math.nan, -0.0, None, 1.5],
        [True, False, None, True],
    ]
    columns = [
        from_python(column.type, own)
        for column, own in zip(keys.columns(np.zeros(0, np.int64)), values, strict=True)
    ]
    numbers = keys.of(columns, 4)
    assert numbers.tolist() == [0, 1, 2, 3]
    found = [to_python(column) for column in keys.columns(numbers[::-1])]
    assert [own[::-1] for own in found[:2]] == values[:2]
    assert found[2][:3] == [1.5, None, 0.0]
    assert math.isnan(found[2][3])
    assert found[3] == [True, None, False, True]


def test_values_that_are_held_as_text_keep_their_type() -> None:
    of_prices = decimal(5, 2)
    keys = KeyNumbers([of_prices])
    column = Column(of_prices, pa.array(["1.50", None, "1.50"]), np.array([True, False, True]))
    assert keys.of([column], 3).tolist() == [0, 1, 0]
    (again,) = keys.columns(np.array([1, 0]))
    assert again.type is of_prices
    assert to_python(again) == [None, "1.50"]


def test_repeated_texts_have_the_numbers_of_their_texts() -> None:
    keys = KeyNumbers([ColumnType.STRING])
    assert keys.of([texts("c", "a", None)], 3).tolist() == [0, 1, 2]
    repeated = repeated_text(pa.array(["a", "b", None, "a", "c"]).dictionary_encode())
    assert repeated is not None
    assert keys.of([repeated], 5).tolist() == [1, 3, 2, 1, 0]


def test_nothing_but_null_is_one_key() -> None:
    keys = KeyNumbers([ColumnType.NULL])
    assert keys.of([texts(None, None)], 2).tolist() == [0, 0]
    assert to_python(keys.columns(np.zeros(2, np.int64))[0]) == [None, None]
