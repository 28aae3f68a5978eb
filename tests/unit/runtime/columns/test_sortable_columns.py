"""DECIMAL and BINARY as texts in the order of the values."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.sortable import text_of_digits
from cqc.compiler.meaning.types import DecimalType, decimal
from cqc.runtime.columns.sortable_columns import (
    bytes_of_hex,
    decimal_column,
    decimals_of_texts,
    digits_of,
    hex_of_bytes,
    number_texts,
)


def test_digits_of_any_size_come_back_in_order() -> None:
    draw = random.Random(1)
    digits = [
        draw.randint(-(10 ** draw.randint(1, 37)), 10 ** draw.randint(1, 37)) for _ in range(200)
    ]
    column = decimal_column(decimal(38, 0), np.array(digits, object), None)
    assert digits_of(column).tolist() == digits
    texts = column.values.to_pylist()
    assert texts == [text_of_digits(each) for each in digits]
    assert [digits[at] for at in np.argsort(np.array(texts))] == sorted(digits)


def test_null_stays_null() -> None:
    column = decimal_column(decimal(5, 2), np.array([150, 7]), np.array([True, False]))
    assert column.values.to_pylist()[1] is None
    assert number_texts(column).to_pylist() == ["1.50", ""]


def test_texts_are_rounded_half_up_and_too_many_digits_do_not_fit() -> None:
    type_ = decimal(4, 2)
    assert isinstance(type_, DecimalType)
    column, bad = decimals_of_texts(
        type_, pa.array(["1.005", "-1.005", "99.995", "x", None, "1e1"])
    )
    assert bad is not None
    assert bad.tolist() == [False, False, True, True, False, False]
    assert digits_of(column).tolist()[:2] == [101, -101]


def test_bytes_come_back() -> None:
    given = pa.array([b"\x00\xff", b"", b"abc"])
    assert bytes_of_hex(hex_of_bytes(given, None)).to_pylist() == [b"\x00\xff", b"", b"abc"]
