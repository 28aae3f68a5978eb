"""A function over text is called once for each distinct value, and every row has what it gave."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cqc.runtime.columns.distinct_text import text_of_numbers, text_of_text, values_of_text

TEXTS = ["b", None, "a", "b", "b"]


def test_each_distinct_text_is_asked_for_once() -> None:
    asked: list[str] = []

    def upper(text: str) -> str:
        asked.append(text)
        return text.upper()

    assert text_of_text(pa.array(TEXTS), upper).to_pylist() == ["B", None, "A", "B", "B"]
    assert sorted(asked) == ["a", "b"]


def test_null_is_neither_asked_for_nor_marked() -> None:
    values, bad = values_of_text(
        pa.array(TEXTS), lambda text: None if text == "a" else 7, 0, np.int64
    )
    assert values.tolist() == [7, 0, 0, 7, 7]
    assert bad.tolist() == [False, False, True, False, False]


def test_a_part_of_an_array_is_not_the_whole() -> None:
    values, bad = values_of_text(pa.array(TEXTS)[2:4], len, 0, np.int64)
    assert (values.tolist(), bad.tolist()) == ([1, 1], [False, False])


def test_one_value_gives_one() -> None:
    assert text_of_text(pa.scalar("a"), str.upper).as_py() == "A"
    assert text_of_text(pa.scalar(None, pa.string()), str.upper).as_py() is None
    value, bad = values_of_text(pa.scalar("x"), lambda text: None, 5, np.int64)
    assert (value.item(), bad.item()) == (5, True)
    assert text_of_numbers(np.array(3), str).as_py() == "3"


def test_the_two_zeros_and_nan_are_texts_of_their_own() -> None:
    values = np.array([0.0, -0.0, np.nan, 0.0])
    assert text_of_numbers(values, repr).to_pylist() == ["0.0", "-0.0", "nan", "0.0"]
