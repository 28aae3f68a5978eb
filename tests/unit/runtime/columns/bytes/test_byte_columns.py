"""Texts as bytes and back, whatever part of an Arrow array they are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from cqc.runtime.columns.bytes.byte_columns import bytes_of, is_ascii, texts_of, with_others


def test_a_slice_has_its_own_bytes_and_null_stays_null() -> None:
    texts = pa.array(["a", "bé", None, "", "ccc"]).slice(1, 3)
    data, starts = bytes_of(texts)
    assert bytes(data) == "bé".encode()
    assert starts.tolist() == [0, 3, 3, 3]
    assert texts_of(starts, data, texts).to_pylist() == ["bé", None, ""]


def test_a_constant_is_one_text() -> None:
    data, starts = bytes_of(pa.scalar("ab"))
    assert (bytes(data), starts.tolist()) == (b"ab", [0, 2])


def test_ascii_is_told_for_a_whole_column() -> None:
    assert is_ascii(pa.array(["a", None]))
    assert is_ascii(pa.array([], pa.string()))
    assert not is_ascii(pa.array(["a", "é"]))


def test_others_are_made_once_for_each_distinct_text() -> None:
    asked: list[str] = []

    def one(text: str) -> str:
        asked.append(text)
        return text * 2

    texts = pa.array(["a", "b", "a", None])
    others = np.array([True, False, True, True])
    assert with_others(texts, others, texts, one).to_pylist() == ["aa", "b", "aa", None]
    assert asked == ["a"]


def test_more_bytes_than_an_array_holds_are_refused() -> None:
    with pytest.raises(OverflowError):
        texts_of(np.array([0, 2**31]), np.zeros(0, np.uint8))
