"""Times as WITH says that they are written."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from cqc.compiler.meaning.times.instants import format_instant
from cqc.runtime.columns.time_forms import TimeForm


def of_text(text: str | None, **options: str) -> str | None:
    us, bad = TimeForm.of(options).of_text(pa.array([text], pa.string()))
    return None if bad[0] or text is None else format_instant(int(us[0]))


@pytest.mark.parametrize(
    ("pattern", "text", "instant"),
    [
        ("yyyy-MM-dd HH:mm:ss", "2024-02-29 01:02:03", "2024-02-29T01:02:03Z"),
        ("yyyy-MM-dd HH:mm:ss", "2023-02-29 01:02:03", None),
        ("yyyy-MM-dd HH:mm:ss", "2024-02-29T01:02:03", None),
        ("yyyy-MM-dd HH:mm:ss", "2024-2-9 01:02:03", None),
        ("d/M/yyyy H:m", "9/2/2024 7:05", "2024-02-09T07:05:00Z"),
        ("dd/MMM/yyyy:HH:mm:ss Z", "10/Oct/2000:13:55:36 -0700", "2000-10-10T20:55:36Z"),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2024-01-01T00:00:00.250+01:00", "2023-12-31T23:00:00.250000Z"),
        ("MM/dd/yyyy hh:mm:ss a", "01/02/2024 12:30:00 AM", "2024-01-02T00:30:00Z"),
        ("MM/dd/yyyy hh:mm:ss a", "01/02/2024 12:30:00 pm", "2024-01-02T12:30:00Z"),
        ("EEE MMM dd HH:mm:ss yyyy", "Mon Jan 01 00:00:00 2024", "2024-01-01T00:00:00Z"),
        ("EEE MMM dd HH:mm:ss yyyy", "Tue Jan 01 00:00:00 2024", None),
        ("yyyy", "2024", "2024-01-01T00:00:00Z"),
        ("yyyy-MM-dd HH:mm:ss.SSSSSSSSS", "2024-01-01 00:00:00.123456789", "2024-01-01T00:00:00.123456Z"),
    ],
)  # fmt: skip
def test_a_pattern(pattern: str, text: str, instant: str | None) -> None:
    assert of_text(text, timestamp=pattern) == instant


def test_a_zone_is_for_texts_without_one() -> None:
    zone = "Europe/Berlin"
    assert of_text("2024-07-01 12:00:00", zone=zone) == "2024-07-01T10:00:00Z"
    assert of_text("2024-07-01T12:00:00Z", zone=zone) == "2024-07-01T12:00:00Z"
    assert of_text("2024-07-01T12:00:00+01:00", zone=zone) == "2024-07-01T11:00:00Z"
    assert of_text("2024-07-01", zone="+02:00") == "2024-06-30T22:00:00Z"
    pattern = "yyyy-MM-dd HH:mm:ss"
    assert of_text("2024-07-01 12:00:00", timestamp=pattern, zone=zone) == "2024-07-01T10:00:00Z"


@pytest.mark.parametrize(
    ("unit", "number"),
    [("seconds", 1_700_000_000), ("millis", 1_700_000_000_000), ("micros", 1_700_000_000_000_000)],
)
def test_a_unit(unit: str, number: int) -> None:
    form = TimeForm.of({"timestamp": unit})
    us, bad = form.of_whole(np.array([number, 2**62], np.int64))
    assert us[0] == 1_700_000_000_000_000
    assert bad.tolist() == [False, True]
    assert of_text(str(number), timestamp=unit) == "2023-11-14T22:13:20Z"
    assert of_text("2023-11-14T22:13:20Z", timestamp=unit) is None


def test_a_unit_with_a_fraction() -> None:
    assert of_text("1500.25", timestamp="millis") == "1970-01-01T00:00:01.500250Z"
