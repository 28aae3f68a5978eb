"""JSON text is walked by the rules of Python's parser: where values end, of what kind they are, and what is wrong where."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cqc.runtime.columns.array_addresses import address
from cqc.runtime.sources.formats import json_values as scan

SCALARS = {
    "null": scan.NULL, "true": scan.TRUE, "false": scan.FALSE, "-0": scan.WHOLE, "12": scan.WHOLE, "1.5": scan.FRACTION,
    "1e3": scan.FRACTION, "NaN": scan.NAN, "Infinity": scan.INFINITY, "-Infinity": scan.MINUS_INFINITY, '"a"': scan.TEXT,
    r'"a\n"': scan.ESCAPED, "[]": scan.NESTED, '{"a": [1]}': scan.NESTED,
}  # fmt: skip


def one(text: bytes) -> tuple[int, int]:
    data, levels = np.frombuffer(text, np.uint8), np.zeros(scan.MOST_LEVELS, np.uint8)
    end, kind = scan.scan_one(address(data), 0, len(data), address(levels))
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
