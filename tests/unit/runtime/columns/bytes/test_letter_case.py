"""Letters of whole columns are what Python makes of each text."""

from __future__ import annotations

import random

import pyarrow as pa

from cqc.runtime.columns.bytes.letter_case import capital, lowered, titled_texts
from cqc.runtime.expressions.text_functions import titled

LETTERS = [*"aBz 0-ÉéßİıΣσςǅﬁȺⱥẞ😀𐐀Ωœ漢", "\u0345", "\u1e9e"]


def some_texts() -> list[str | None]:
    chosen = random.Random(3)
    made: list[str | None] = [None, ""]
    made += ["".join(chosen.choices(LETTERS, k=chosen.randrange(9))) for _ in range(2_000)]
    return made


def test_small_capital_and_title_letters_are_those_of_python() -> None:
    texts = some_texts()
    column = pa.array(texts, pa.string())
    assert lowered(column).to_pylist() == [text and text.lower() for text in texts]
    assert capital(column).to_pylist() == [text and text.upper() for text in texts]
    assert titled_texts(column, titled).to_pylist() == [text and titled(text) for text in texts]


def test_every_letter_of_the_basic_plane() -> None:
    texts = [chr(point) for point in range(0x10000) if not 0xD800 <= point < 0xE000]
    column = pa.array(texts, pa.string())
    assert lowered(column).to_pylist() == [text.lower() for text in texts]
    assert capital(column).to_pylist() == [text.upper() for text in texts]
