"""Timestamps as text: Arrow's parser and ours agree, CAST reads more than data may hold, and what is written is read back."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cqc.compiler.meaning.times.instants import format_instant, parse_instant
from cqc.runtime.columns.timestamp_text import (
    FIRST_US,
    LAST_US,
    format_cast,
    format_iso,
    parse_cast,
    parse_iso,
    to_datetime,
)

TIME_LIKE = st.from_regex(
    r"\A[0-2][0-9]{3}-[01][0-9]-[0-3][0-9]"
    r"([T ][0-2][0-9](:[0-6][0-9](:[0-6][0-9](\.[0-9]{0,8})?)?)?(Z|[+-][0-2][0-9](:?[0-6][0-9])?)?)?\Z"
)
TEXTS = ["2024-01-01", "2024-01-01T12:00", "2024-01-01T12:00:00Z", "2024-01-01 12:00:00.5", "2024-02-30", "2024-01-01T25:00:00",
         "2024-01-01T12:00:00+02:00", "2024-01-01T12:00:00-19:00", "0001-01-01T00:00:00", "0000-01-01T00:00:00Z", "x" * 20, "",
         "2024-01-01T12:00:00.1234567Z", "2024-01-01T12:00:60Z", "9999-12-31T23:59:59.999999Z"]  # fmt: skip


def taken(parse: object, texts: list[str]) -> list[int | None]:
    values, bad = parse(pa.array(texts, pa.string()))  # type: ignore[operator]
    return [None if none else us for us, none in zip(values.tolist(), bad.tolist(), strict=True)]


def test_each_text_is_read_by_the_language_s_rules_whatever_its_company() -> None:
    expected = [parse_instant(text) for text in TEXTS]
    assert taken(parse_iso, TEXTS) == expected
    assert [taken(parse_iso, [text] * 3)[0] for text in TEXTS] == expected


def test_cast_reads_a_year_and_single_digits() -> None:
    year = parse_instant("2024-01-01")
    assert (
        taken(parse_cast, ["2024", "2024-1", " 2024-1-1\n", "2024-1-1 0", "2024-1-1T0:0:0 UTC"])
        == [year] * 5
    )
    hour = 3_600_000_000
    assert year is not None
    assert taken(parse_cast, ["2024-1-1 1:00 +1", "2024-1-1 3:00+02:00"]) == [year, year + hour]
    assert taken(parse_cast, ["24", "2024-1-1 1:00 +x", "2024-13"]) == [None] * 3


def test_null_is_not_marked() -> None:
    us, bad = parse_iso(pa.array(["2024-01-01T00:00:00Z", None]))
    assert us.tolist()[1:] == [0]
    assert not bad.any()
    assert parse_iso(pa.nulls(2, pa.string()))[0].tolist() == [0, 0]
    assert parse_iso(pa.array([], pa.string()))[0].tolist() == []


@pytest.mark.parametrize("unit", [1, 1_000, 1_000_000])
def test_what_is_written_is_read_back(unit: int) -> None:
    random = Random(unit)
    us = np.array([random.randint(FIRST_US // unit, LAST_US // unit) * unit for _ in range(200)])
    texts = format_iso(us)
    assert texts.to_pylist() == [format_instant(each) for each in us.tolist()]
    assert parse_iso(texts)[0].tolist() == us.tolist()
    assert parse_cast(format_cast(us))[0].tolist() == us.tolist()


def test_beyond_the_calendar_an_instant_is_still_written() -> None:
    assert format_iso(np.array([LAST_US + 1])).to_pylist() == [format_instant(LAST_US + 1)]
    assert to_datetime(0) == datetime(1970, 1, 1, tzinfo=UTC)
    assert to_datetime(LAST_US + 1) == format_instant(LAST_US + 1)


def one(parsed: tuple[Any, Any]) -> Any:
    values, bad = parsed
    return None if bad[0] else values.tolist()[0]


@settings(max_examples=50)
@given(st.lists(st.none() | TIME_LIKE, max_size=3))
def test_a_column_of_timestamps_is_read_like_each_of_its_texts(texts: list[str | None]) -> None:
    us, bad = parse_iso(pa.array(texts, type=pa.string()))
    for at, text in enumerate(texts):
        wanted = None if text is None else parse_instant(text)
        assert bad[at] == (text is not None and wanted is None)
        assert wanted is None or us[at] == wanted


@settings(max_examples=50)
@given(
    st.lists(st.datetimes().map(str), min_size=1, max_size=4), st.sampled_from(["", "Z", "+02:30"])
)
def test_clean_timestamps_are_read_exactly(texts: list[str], zone: str) -> None:
    zoned = [text + zone for text in texts]
    us, bad = parse_iso(pa.array(zoned))
    assert not bad.any()
    assert us.tolist() == [parse_instant(text) for text in zoned]


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2024", "2024-01-01T00:00:00Z"),
        ("2024-2", "2024-02-01T00:00:00Z"),
        ("2024-1-2 3", "2024-01-02T03:00:00Z"),
        ("2024-1-2 3:4:5", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05.1234567+2", "2024-01-02T01:04:05.123456Z"),
        ("2024-01-02 03:04:05+2:30", "2024-01-02T00:34:05Z"),
        ("2024-01-02 03:04:05 UTC", "2024-01-02T03:04:05Z"),
    ],
)
def test_what_cast_reads_as_a_timestamp(text: str, iso: str) -> None:
    us = one(parse_cast(pa.array([text])))
    assert format_instant(us) == iso


@pytest.mark.parametrize(
    "text", ["", "24", "2024-13-01", "2024-01-01T", "2024-01-01 24:00:00", "now"]
)
def test_what_cast_does_not_read(text: str) -> None:
    assert one(parse_cast(pa.array([text]))) is None


@settings(max_examples=50)
@given(st.lists(st.integers(-(10**17), 10**17), min_size=1, max_size=4))
def test_columns_are_written_like_single_instants(values: list[int]) -> None:
    us = np.array(values, dtype=np.int64)
    assert format_iso(us).to_pylist() == [format_instant(value) for value in values]


def test_cast_writes_a_space_and_only_the_needed_digits() -> None:
    texts = format_cast(np.array([0, 1_500_000, 1_000_010])).to_pylist()
    assert texts == ["1970-01-01 00:00:00", "1970-01-01 00:00:01.5", "1970-01-01 00:00:01.00001"]


def test_instants_beyond_the_calendar_are_text() -> None:
    assert to_datetime(2**62) == "+148108-07-06T14:00:27.387904Z"


def test_a_slice_of_a_text_array_is_read_in_its_own_bounds() -> None:
    array = pa.array(["x", "2024-01-01T00:00:00Z", "2024-01-01T00:00:01Z", "y"]).slice(1, 2)
    us, bad = parse_iso(array)
    assert not bad.any()
    assert us.tolist() == [1_704_067_200_000_000, 1_704_067_201_000_000]
