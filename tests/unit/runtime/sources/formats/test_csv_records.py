"""Cutting CSV into records: whatever the blocks, the records are those of the whole, and a quote that is not closed harms one line."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cqc.runtime.sources.formats import csv_records
from cqc.runtime.sources.formats.csv_records import (
    csv_blocks,
    ends_outside_quotes,
    last_record_end,
    regular_record_ends,
    scan_records,
    unquote,
)

TEXTS = st.text('a,"\n\r', max_size=24).map(str.encode)


def fields(text: bytes) -> list[list[bytes] | None]:
    return [
        None if record.fields is None else [unquote(field) for field in record.fields]
        for record in scan_records(text)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"a,b\nc,d", [[b"a", b"b"], [b"c", b"d"]]),
        (b'"a,b",c\r\n', [[b"a,b", b"c"]]),
        (b'"a\nb"\rc', [[b"a\nb"], [b"c"]]),
        (b'"say ""hi""",x', [[b'say "hi"', b"x"]]),
        (b'a"b,c', [[b'a"b', b"c"]]),
        (b'"a"b,c', [[b"ab", b"c"]]),
        (b'"a\nb,c\n', [None, [b"b", b"c"]]),
        (b",\n\n", [[b"", b""], [b""]]),
    ],
)
def test_records_and_their_fields(text: bytes, expected: list[list[bytes] | None]) -> None:
    assert fields(text) == expected


@given(TEXTS)
def test_records_cover_the_text_without_a_gap(text: bytes) -> None:
    records = list(scan_records(text))
    assert [record.start for record in records] == [0, *(record.end for record in records)][:-1]
    assert not text or records[-1].end == len(text)


@given(TEXTS)
def test_the_quick_way_agrees_where_it_applies(text: bytes) -> None:
    ends = regular_record_ends(text)
    records = list(scan_records(text))
    if ends is None or b"\r" in text or not ends_outside_quotes(text):
        return
    assert [
        record.end for record in records if text[record.end - 1 : record.end] == b"\n"
    ] == ends.tolist()


@given(TEXTS, st.integers(1, 9))
def test_blocks_hold_the_records_of_the_whole(text: bytes, size: int) -> None:
    blocks = list(csv_blocks(io.BytesIO(text), size))
    assert all(isinstance(block, bytes) for block in blocks)
    assert b"".join(blocks) == text  # type: ignore[arg-type]
    assert [each for block in blocks for each in fields(block)] == fields(text)  # type: ignore[arg-type]


def test_a_record_that_may_go_on_is_not_ended() -> None:
    assert last_record_end(b"a\nb") == 2
    assert last_record_end(b"a\r") == 0
    assert last_record_end(b'a\n"b') == 2
    assert last_record_end(b'a\n"b"') == 2
    assert last_record_end(b'"a\n') == 0


def test_a_quote_without_an_end_costs_its_line_once_there_is_no_hope(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(csv_records, "LONGEST_FIELD", 8)
    text = b'"a\n' + b"b\n" * 9
    assert last_record_end(text) == 3
