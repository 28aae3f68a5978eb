"""Numbers and truth values as text: one rule for a column and for each value of it, stricter in data than in CAST."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from cqc.runtime.columns.number_text import (
    bigint_of,
    double_of,
    java_text,
    parse_bigint,
    parse_boolean,
    parse_double,
)

NUMBERS = ["7", "-7", "+7", " 7\t", "07", "7.", ".5", "1e3", "1E-2", "", "-", "0x10", "1_000", "٣", "nan", "-inf",
           "Infinity", "+nan", "1d", "9223372036854775807", "9223372036854775808", "1e999", "\x017"]  # fmt: skip


def taken(parse: Any, texts: list[str], **how: bool) -> list[Any]:
    values, bad = parse(pa.array(texts, pa.string()), **how)
    return [None if none else value for value, none in zip(values.tolist(), bad.tolist(), strict=True)]  # fmt: skip


@pytest.mark.parametrize("parse", [parse_bigint, parse_double])
@pytest.mark.parametrize("cast", [False, True])
def test_a_value_is_read_alike_in_whatever_company(parse: Any, cast: bool) -> None:
    """Arrow's parser reads a column only where nothing in it is unusual."""
    together = taken(parse, NUMBERS, cast=cast)
    alone = [taken(parse, [text], cast=cast)[0] for text in NUMBERS]
    assert list(map(repr, together)) == list(map(repr, alone))


def test_data_is_read_more_strictly_than_cast_reads_text() -> None:
    for text, in_cast in (("1d", 1.0), ("2.5F", 2.5), ("\x017", 7.0)):
        assert taken(parse_double, [text]) == [None]
        assert taken(parse_double, [text], cast=True) == [in_cast]
    assert taken(parse_boolean, ["TRUE", " false", "yes", "1"]) == [True, False, None, None]
    assert taken(parse_boolean, ["T", "no", "YES", "2"], cast=True) == [True, False, True, None]


def test_null_is_not_a_mistake() -> None:
    for parse in (parse_bigint, parse_double, parse_boolean):
        _, bad = parse(pa.array(["x", None], pa.string()))
        assert bad.tolist() == [True, False]
    assert parse_bigint(pa.array([None, "3"], pa.string()))[0].tolist() == [0, 3]
    assert parse_bigint(pa.array([], pa.string()))[0].tolist() == []


def test_whole_numbers_end_at_64_bits_and_no_length_is_too_much() -> None:
    assert bigint_of("-9223372036854775808") == -(2**63)
    assert bigint_of("-9223372036854775809") is None
    assert bigint_of("1" * 100_000) is None


def test_a_sign_before_nan_is_no_number() -> None:
    assert double_of("-Infinity") == -math.inf
    assert double_of("-NaN") is None
    assert math.isnan(double_of("NaN") or 0)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.0"), (-0.0, "-0.0"), (0.001, "0.001"), (0.00099, "9.9E-4"), (1e7, "1.0E7"), (9999999.0, "9999999.0"),
     (1.5e-10, "1.5E-10"), (123456789.125, "1.23456789125E8"), (math.inf, "Infinity"), (math.nan, "NaN")],
)  # fmt: skip
def test_doubles_are_written_as_java_writes_them(value: float, text: str) -> None:
    assert java_text(value) == text
    read = double_of(text)
    assert read is not None
    assert repr(read) == repr(value)
