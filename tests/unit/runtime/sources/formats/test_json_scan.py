"""JSON text is walked by the rules of Python's parser: where values end, of what kind they are, and what is wrong where."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cqc.runtime.sources.formats import json_scan as scan

SCALARS = {
    "null": scan.NULL, "true": scan.TRUE, "false": scan.FALSE, "-0": scan.WHOLE, "12": scan.WHOLE, "1.5": scan.FRACTION,
    "1e3": scan.FRACTION, "NaN": scan.NAN, "Infinity": scan.INFINITY, "-Infinity": scan.MINUS_INFINITY, '"a"': scan.TEXT,
    r'"a\n"': scan.ESCAPED, "[]": scan.NESTED, '{"a": [1]}': scan.NESTED,
}  # fmt: skip


def one(text: bytes) -> tuple[int, int]:
    end, kind = scan.scan_one(
        np.frombuffer(text, np.uint8), 0, np.zeros(scan.MOST_LEVELS, np.uint8)
    )
    return int(end), int(kind)


@pytest.mark.parametrize("text", SCALARS)
def test_a_value_has_its_kind_and_its_end(text: str) -> None:
    assert one(f" {text} ".encode()) == (1 + len(text), SCALARS[text])


@given(st.text('{}[],:"0123456789-+.eE\\nu ntrfalseNI', max_size=12))
def test_what_python_takes_is_taken_and_nothing_else(text: str) -> None:
    data = text.encode()
    try:
        json.loads(text)
    except ValueError:
        is_json = False
    else:
        is_json = True
    end, kind = one(data) if data.strip() else (0, scan.ENDS_EARLY)
    rest = data[end:].strip(b" \t\r\n")
    assert (kind >= 0 and not rest) == is_json


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (b"[1,", scan.ENDS_EARLY), (b"[1 2]", scan.UNEXPECTED), (b"[" * 1_001, scan.TOO_DEEP), (b"1" * 5_000, scan.LONG_NUMBER),
        (b'"\xff"', scan.NOT_UTF8),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(text: bytes, wrong: int) -> None:
    assert one(text)[1] == wrong


def test_whole_numbers_have_room_in_64_bits_or_not() -> None:
    texts = [
        b"0",
        b"-1",
        b"9223372036854775807",
        b"9223372036854775808",
        b"-9223372036854775808",
        b"-9223372036854775809",
    ]
    data = np.frombuffer(b"".join(texts), np.uint8)
    ends = np.cumsum([len(text) for text in texts]).astype(np.int32)
    starts = np.array([0, *ends[:-1]], np.int32)
    values, fits = np.empty(len(texts), np.int64), np.empty(len(texts), np.bool_)
    scan.whole_numbers(data, starts, ends, values, fits)
    assert fits.tolist() == [True, True, True, False, True, False]
    assert values[fits].tolist() == [0, -1, 2**63 - 1, -(2**63)]


def test_texts_are_gathered_with_their_escapes_resolved() -> None:
    text = r'"a\u00fc\ud83d\ude00\n\"\/"'
    data = np.frombuffer(text.encode(), np.uint8)
    starts, ends = np.array([1], np.int32), np.array([len(text) - 1], np.int32)
    offsets, room = np.empty(2, np.int32), np.empty(len(text), np.uint8)
    size = scan.gather_text(data, starts, ends, np.array([scan.ESCAPED], np.uint8), offsets, room)
    assert room[:size].tobytes().decode() == json.loads(text)
