"""Texts in URLs, beside the functions for one text."""

from __future__ import annotations

import random
from urllib.parse import quote_plus

import pyarrow as pa

from cqc.runtime.columns.bytes.urls import url_decoded, url_encoded
from cqc.runtime.expressions.encoding_functions import decoded
from cqc.runtime.expressions.row_by_row import FAILED


def test_encoded_texts_come_back() -> None:
    texts = ["", "a b+c", "École", "😀~*-_.", None, "\x00%"]
    made = url_encoded(pa.array(texts))
    assert made.to_pylist() == [
        None if text is None else quote_plus(text, safe="*-_.").replace("~", "%7E")
        for text in texts
    ]
    again, failed, left = url_decoded(made)
    assert again.to_pylist() == texts
    assert not failed.any()
    assert not left.any()


def test_what_escapes_nothing_fails_and_what_is_no_text_is_left() -> None:
    chosen = random.Random(4)
    parts = ["a", "+", "%", "%4", "%41", "%C3", "%a9", "%ED%A0%80", "%F0%9F%98%80", "é", "%zz"]
    texts = ["".join(chosen.choices(parts, k=chosen.randrange(5))) for _ in range(3_000)]
    made, failed, left = url_decoded(pa.array(texts))
    for text, got, bad, later in zip(texts, made.to_pylist(), failed, left, strict=True):
        right = decoded(text)
        assert bad == (right is FAILED), text
        assert bad or later == ("\ufffd" in right), text
        assert bad or later or got == right
