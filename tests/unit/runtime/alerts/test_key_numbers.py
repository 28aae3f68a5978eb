"""Keys get the same numbers in every packet."""

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.alerts.key_numbers import KeyNumbers, warm
from cqc.runtime.columns.columns import Column, text_column


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


def test_many_keys_are_told_apart_while_the_tables_grow() -> None:
    keys = KeyNumbers([ColumnType.STRING, ColumnType.BIGINT])
    for start in (0, 300, 5_000, 0):
        names = [f"key {at}" for at in range(start, start + 700)]
        numbers = Column(ColumnType.BIGINT, np.arange(start, start + 700))
        found = keys.of([texts(*names), numbers], 700)
        assert len(set(found.tolist())) == 700
    assert found.tolist() == list(range(700))
    assert keys.nbytes > 0


def test_the_kernels_can_be_compiled_ahead() -> None:
    warm()
