"""A text has one number for ever, however the table grows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cqc.runtime.columns.columns import text_column
from cqc.runtime.state.text_numbers import TextNumbers


def test_equal_texts_have_one_number_and_null_has_none() -> None:
    numbers = TextNumbers()
    found = numbers.of(text_column(pa.array(["a", "", "a", None, "\u00e4", "b"])))
    assert found.tolist()[:3] == [0, 1, 0]
    assert found[3] == -1
    assert numbers.of(text_column(pa.array(["b", "\u00e4"]))).tolist() == found[[5, 4]].tolist()


def test_texts_are_found_again_after_growth() -> None:
    numbers = TextNumbers()
    texts = [f"user{at}" for at in range(5_000)]
    first = numbers.of(text_column(pa.array(texts)))
    for start in range(5_000, 20_000, 700):
        numbers.of(text_column(pa.array([f"user{at}" for at in range(start, start + 700)])))
    assert numbers.of(text_column(pa.array(texts))).tolist() == first.tolist()
    assert numbers.texts(np.array([first[17], first[4_999]])).to_pylist() == ["user17", "user4999"]
    assert numbers.nbytes < 60 * len(numbers)


def test_to_look_for_a_text_gives_it_no_number() -> None:
    numbers = TextNumbers()
    assert numbers.known(text_column(pa.array(["a", None]))).tolist() == [-2, -1]
    numbers.of(text_column(pa.array(["b", "a"])))
    assert numbers.known(text_column(pa.array(["c", "a", "", None]))).tolist() == [-2, 1, -2, -1]
    assert len(numbers) == 2
