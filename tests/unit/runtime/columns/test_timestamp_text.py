"""Timestamps as text: Arrow's parser and ours agree, CAST reads more than data may hold, and what is written is read back."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from cqc.compiler.meaning.instants import format_instant, parse_instant
from cqc.runtime.columns.timestamp_text import (
    FIRST_US,
    LAST_US,
    format_cast,
    format_iso,
    parse_cast,
    parse_iso,
    to_datetime,
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


def test_cast_writes_a_space_and_no_zero_too_many() -> None:
    us = np.array([0, 500_000])
    assert format_cast(us).to_pylist() == ["1970-01-01 00:00:00", "1970-01-01 00:00:00.5"]


def test_beyond_the_calendar_an_instant_is_still_written() -> None:
    assert format_iso(np.array([LAST_US + 1])).to_pylist() == [format_instant(LAST_US + 1)]
    assert to_datetime(0) == datetime(1970, 1, 1, tzinfo=UTC)
    assert to_datetime(LAST_US + 1) == format_instant(LAST_US + 1)
