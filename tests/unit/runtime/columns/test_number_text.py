"""Numbers and truth values as text: one rule for a column and for each value of it, stricter in data than in CAST."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cqc.runtime.columns.number_text import (
    bigint_of,
    double_of,
    java_text,
    parse_bigint,
    parse_boolean,
    parse_double,
)

NUMBER_LIKE = st.text("0123456789+-.eExX _naifNI\t", max_size=8)
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


def one(parsed: tuple[Any, Any]) -> Any:
    values, bad = parsed
    return None if bad[0] else values.tolist()[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("12", 12), ("-0", 0), ("+5", 5), (" 7\t", 7), ("007", 7)),
        *(("9223372036854775807", 2**63 - 1), ("9223372036854775808", None)),
        *(("1.0", None), ("0x10", None), ("1_0", None), ("", None), (" ", None), ("\uff11", None)),
        ("9" * 5000, None),
    ],
)
def test_bigint_in_data(text: str, value: int | None) -> None:
    assert one(parse_bigint(pa.array([text]))) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("1", 1.0), ("1.", 1.0), (".5", 0.5), ("+1e3", 1000.0), ("1E-2", 0.01), (" 2 ", 2.0)),
        *(("1e400", math.inf), ("INFINITY", math.inf), ("-infinity", -math.inf), ("inf", math.inf)),
        *(("1d", None), ("0x1p3", None), (".", None), ("1e", None), ("+nan", None), ("", None)),
    ],
)
def test_double_in_data(text: str, value: float | None) -> None:
    assert one(parse_double(pa.array([text]))) == value


def test_nan_in_any_case() -> None:
    assert all(math.isnan(one(parse_double(pa.array([text])))) for text in ("NaN", "nan", "NAN"))


def test_booleans_in_data_are_true_and_false_in_any_case() -> None:
    values, bad = parse_boolean(pa.array(["true", "FALSE", "tRuE", "1", "yes", None]))
    assert values.tolist()[:3] == [True, False, True]
    assert bad.tolist() == [False, False, False, True, True, False]


def test_cast_reads_text_more_loosely() -> None:
    assert one(parse_double(pa.array(["1d"]), cast=True)) == 1.0
    assert one(parse_bigint(pa.array(["\x01 5\n"]), cast=True)) == 5
    assert one(parse_boolean(pa.array([" YES "]), cast=True)) is True


@settings(max_examples=50)
@given(st.lists(st.none() | NUMBER_LIKE, max_size=4))
def test_a_column_of_numbers_is_read_like_each_of_its_texts(texts: list[str | None]) -> None:
    array = pa.array(texts, type=pa.string())
    whole, no_whole = parse_bigint(array)
    double, no_double = parse_double(array)
    for at, text in enumerate(texts):
        if text is None:
            assert not no_whole[at]
            assert not no_double[at]
            continue
        trimmed = text.strip(" \t")
        assert (None if no_whole[at] else int(whole[at])) == bigint_of(trimmed)
        wanted = double_of(trimmed)
        assert no_double[at] == (wanted is None)
        assert wanted is None or np.array_equal(double[at], wanted, equal_nan=True)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (0.001, "0.001"), (1e-4, "1.0E-4")),
        *((9999999.0, "9999999.0"), (1e7, "1.0E7"), (123456789.125, "1.23456789125E8")),
        *((math.nan, "NaN"), (-math.inf, "-Infinity"), (1e300, "1.0E300")),
    ],
)
def test_doubles_are_written_as_java_does(value: float, text: str) -> None:
    assert java_text(value) == text


def test_a_slice_of_a_text_array_is_read_in_its_own_bounds() -> None:
    numbers, bad = parse_bigint(pa.array(["x", "1", "2"]).slice(1, 2))
    assert numbers.tolist() == [1, 2]
    assert not bad.any()


def test_what_is_written_as_java_does_is_read_back() -> None:
    for value in (0.0, -0.0, 1e-300, 5e-324, 0.1, 9999999.999999998, 1e7, 1.7976931348623157e308):
        assert repr(double_of(java_text(value))) == repr(value)
