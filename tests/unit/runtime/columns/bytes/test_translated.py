"""Characters in the place of others, as Python's translate does it."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from cqc.runtime.columns.bytes.translated import translated_texts

LETTERS = "abcxé漢😀 "


@pytest.mark.parametrize(
    ("search", "put"), [("abc", "xyz"), ("aéa", "é"), ("", "x"), ("漢😀é", "a漢"), ("abc", "")]
)
def test_the_first_of_equal_characters_counts(search: str, put: str) -> None:
    chosen = random.Random(2)
    texts = [None, *("".join(chosen.choices(LETTERS, k=chosen.randrange(9))) for _ in range(500))]
    table: dict[int, str | None] = {}
    for at, character in enumerate(search):
        table.setdefault(ord(character), put[at] if at < len(put) else None)
    right = [None if text is None else text.translate(table) for text in texts]
    assert translated_texts(pa.array(texts, pa.string()), search, put).to_pylist() == right
