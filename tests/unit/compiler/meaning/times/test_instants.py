from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cqc.compiler.meaning.times.instants import format_instant, parse_instant

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
JANUARY = 1_704_067_200_000_000  # 2024-01-01T00:00:00Z


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("1970-01-01", 0),
        ("1970-01-01 00:00:01", 1_000_000),
        ("1970-01-01T00:00:01.5Z", 1_500_000),
        ("1970-01-01 01:00:00+01:00", 0),
        ("1970-01-01 01:00:00+01", 0),
        ("1970-01-01T01:00:00 +0100", 0),
        ("1969-12-31 23:00:00-01:00", 0),
        ("1970-01-01 00:00", 0),
        ("1970-01-01T00:00:00.1234567", 123_456),
        ("  2024-01-01 00:00:00 UTC ", JANUARY),
        ("0001-01-01", -62_135_596_800_000_000),
    ],
)
def test_iso_texts_are_read(text: str, us: int) -> None:
    assert parse_instant(text) == us


@pytest.mark.parametrize(
    "text",
    ["", "now", "2024", "2024-13-01", "2024-02-30", "2024-01-01 24:00:00", "2024-01-01 00:60:00",
     "2024-01-01 00:00:60", "2024-01-01T", "2024-01-01 00:00:00+19:00", "2024-01-01 00:00:00.",
     "\u0662\u0660\u0662\u0664-01-01", "0000-01-01", "2024-01-01 00:00:00 X"],
)  # fmt: skip
def test_other_texts_are_refused(text: str) -> None:
    assert parse_instant(text) is None


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (JANUARY, "2024-01-01T00:00:00Z"),
        (JANUARY + 5, "2024-01-01T00:00:00.000005Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
    ],
)
def test_instants_are_shown_with_microseconds_where_there_are_any(us: int, text: str) -> None:
    assert format_instant(us) == text


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (parse_instant("9999-12-31T23:59:59.999999Z"), "9999-12-31T23:59:59.999999Z"),
        (parse_instant("9999-12-31T23:59:59-14:00"), "+10000-01-01T13:59:59Z"),
        (parse_instant("0001-01-01T00:00:00+14:00"), "0000-12-31T10:00:00Z"),
        (parse_instant("0001-01-01T00:00:00Z"), "0001-01-01T00:00:00Z"),
        # As java.time.Instant shows them.
        (2**63 - 1, "+294247-01-10T04:00:54.775807Z"),
        (-(2**63), "-290308-12-21T19:59:05.224192Z"),
    ],
)
def test_years_that_no_text_is_read_with_are_shown_with_a_sign(us: int, text: str) -> None:
    assert format_instant(us) == text


@given(st.datetimes(timezones=st.just(UTC)))
def test_reading_and_showing_agree_with_the_calendar(moment: datetime) -> None:
    us = (moment - EPOCH) // timedelta(microseconds=1)
    assert parse_instant(moment.isoformat()) == us
    assert parse_instant(format_instant(us)) == us
