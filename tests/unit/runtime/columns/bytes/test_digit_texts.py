"""Digits of base64 and hexadecimal ones, beside what Python makes of each text."""

import base64
import random
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cqc.runtime.columns.bytes import byte_columns
from cqc.runtime.columns.bytes.digit_texts import (
    base64_of,
    hex_of_base64,
    hex_of_numbers,
    hex_of_texts,
    lower_digits,
)


def _random_texts(letters: str, most: int, count: int = 400) -> list[str]:
    chance = random.Random(7)
    return ["".join(chance.choices(letters, k=chance.randint(0, most))) for _ in range(count)]


def _cut(texts: list[str | None]) -> pa.Array:
    """An array that begins within the buffers of another one."""
    return pa.array(["before é", *texts, "after"], pa.string())[1:-1]


def test_base64_is_cut_into_lines() -> None:
    texts = ["x" * size for size in (*range(5), 56, 57, 58, 113, 114, 115, 300)]
    texts += _random_texts("abé日𝄞\n", 90)
    made = base64_of(_cut([*texts])).to_pylist()
    for text, shown in zip(texts, made, strict=True):
        whole = base64.b64encode(text.encode()).decode()
        assert shown == "\r\n".join(re.findall(".{1,76}", whole))
    raw = pa.array([b"\xff\xfe\xfd", b"", b"\x00"], pa.binary())
    assert base64_of(raw).to_pylist() == ["//79", "", "AA=="]


def _java_bytes(text: str) -> str | None:
    """The rules of Java's decoder for MIME, one text at a time."""
    digits, padding, rest = text.partition("=")
    digits = re.sub("[^A-Za-z0-9+/]+", "", digits)
    over = len(digits) % 4
    if over == 1 or (padding and (over == 0 or re.search("[A-Za-z0-9+/]", rest))):
        return None
    if padding and over == 2 and not rest.startswith("="):
        return None
    return base64.b64decode(digits + "=" * (-over % 4)).hex()


def test_base64_is_read_as_java_reads_it() -> None:
    texts = _random_texts("aZ9+/=\r -é", 9, 4000) + _random_texts("aZ9+/", 30)
    texts += ["YQ==", "YQ=", "YQ", "YWI=", "YWJj", "YWJj=", "Y", "=", "YQ==x", "YQ==-", "YQ=-="]
    made, failed = hex_of_base64(_cut([*texts]))
    expected = [_java_bytes(text) for text in texts]
    assert [
        None if bad else shown for shown, bad in zip(made.to_pylist(), failed, strict=True)
    ] == expected
    assert 100 < sum(each is None for each in expected) < len(texts) - 100


def test_hexadecimal_digits_of_texts_and_of_numbers() -> None:
    texts = _random_texts("abé日𝄞\n", 9)
    assert hex_of_texts(_cut([*texts])).to_pylist() == [
        text.encode().hex().upper() for text in texts
    ]
    numbers = [0, 1, 15, 16, 255, -1, -(2**63), 2**63 - 1, 2**60, 2**60 - 1, -(2**60)]
    shown = [format(number & (2**64 - 1), "X") for number in numbers]
    assert hex_of_numbers(np.array(numbers)).to_pylist() == shown


def test_hexadecimal_digits_are_told_from_other_texts() -> None:
    texts = ["", "0", "aF", "aFf", "g0", "/0", ":0", "@A", "`a", "G", "é", "0 ", "\x00", "\x10\x11"]
    texts += _random_texts("0123456789abcdefABCDEF", 90) + _random_texts("09afAFg", 5)
    made, there = lower_digits(_cut([*texts]))
    shown = [text if ok else None for text, ok in zip(made.to_pylist(), there, strict=True)]
    alone = re.compile("[0-9a-fA-F]*")
    expected = [
        "0" * (len(text) % 2) + text.lower() if alone.fullmatch(text) else None for text in texts
    ]
    assert shown == expected
    assert 10 < sum(each is None for each in expected) < len(texts) - 100


def test_base64_with_strange_bytes_between_is_read() -> None:
    text = base64.b64encode(bytes(range(256))).decode()
    texts = [text[:at] + mark + text[at:] for at in range(40) for mark in ("\r\n", "-", "é", " .")]
    made, failed = hex_of_base64(pa.array(texts))
    assert set(made.to_pylist()) == {bytes(range(256)).hex()}
    assert not failed.any()


@pytest.mark.parametrize("texts", [pa.array([], pa.string()), pa.array([None, ""], pa.string())])
def test_nothing_at_all_is_no_trouble(texts: Any) -> None:
    empty = [""] * len(texts)
    assert base64_of(texts).to_pylist() == empty
    assert hex_of_base64(texts)[0].to_pylist() == empty
    assert hex_of_texts(texts).to_pylist() == empty
    assert lower_digits(texts)[0].to_pylist() == texts.to_pylist()
    assert hex_of_numbers(np.zeros(0, np.int64)).to_pylist() == []


def test_what_has_no_room_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_columns, "MOST", 3)
    with pytest.raises(OverflowError):
        hex_of_texts(pa.array(["ab"]))
