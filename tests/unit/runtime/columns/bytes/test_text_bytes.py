"""Kernels over the bytes of texts, beside what Python makes of each text."""

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cqc.runtime.columns.bytes.text_bytes import (
    between_marks,
    binary_of_numbers,
    first_points,
    holds,
    last_points,
    places,
)
from tests.unit.runtime.expressions.calls import evaluate


def _random_texts(letters: str, most: int, count: int = 400) -> list[str]:
    chance = random.Random(7)
    return ["".join(chance.choices(letters, k=chance.randint(0, most))) for _ in range(count)]


def _cut(texts: list[str | None]) -> pa.Array:
    """An array that begins within the buffers of another one."""
    return pa.array(["before é", *texts, "after"], pa.string())[1:-1]


def _place(part: str, text: str, start: int) -> int:
    if start < 1:
        return 0
    return text.find(part, start - 1) + 1 if part else 1


def test_places_are_those_of_code_points() -> None:
    texts, parts = _random_texts("abé日𝄞", 9), _random_texts("abé日𝄞", 2)[::-1]
    begins = np.random.default_rng(3).integers(-1, 12, len(texts))
    expected = [_place(*row) for row in zip(parts, texts, begins.tolist(), strict=True)]
    assert places(_cut(parts), _cut(texts), begins, len(texts)).tolist() == expected
    assert sum(map(bool, expected)) > 50


def test_a_constant_is_looked_for_or_in_on_every_row() -> None:
    texts = _random_texts("abé", 6)
    found = places(pa.scalar("éa"), pa.array(texts), None, len(texts))
    assert found.tolist() == [text.find("éa") + 1 for text in texts]
    found = places(pa.array(["b", "é", "", "x"]), pa.scalar("ébé"), np.asarray(2), 4)
    assert found.tolist() == [2, 3, 1, 0]


def test_to_begin_beyond_the_end_finds_nothing() -> None:
    assert places(pa.scalar("a"), pa.array(["a", ""]), np.asarray(2**63 - 1), 2).tolist() == [0, 0]


def test_first_code_points_of_every_length() -> None:
    texts = ["", "a", "\x7f", "\x80", "é~", "߿", "ࠀ", "日本", "\uffff", "𝄞", "\U0010ffff"]
    assert first_points(_cut([*texts])).tolist() == [ord(text[0]) if text else 0 for text in texts]


@pytest.mark.parametrize("texts", [pa.array([], pa.string()), pa.array([None, ""], pa.string())])
def test_nothing_at_all_is_no_trouble(texts: Any) -> None:
    assert first_points(texts).tolist() == [0] * len(texts)
    assert places(pa.scalar("a"), texts, None, len(texts)).tolist() == [0] * len(texts)


CONSTANTS = {
    "instr('aéb', 'b')": 3,
    "instr(CAST(NULL AS STRING), 'b')": None,
    "instr('b', CAST(NULL AS STRING))": None,
    "instr(t, NULL)": None,
    "locate('b', 'aéb')": 3,
    "locate('b', 'aéb', 4)": 0,
    "locate('b', 'b', CAST(NULL AS BIGINT))": 0,
    "locate(NULL, 'b')": None,
    "ascii('é')": 233,
    "ascii(CAST(NULL AS STRING))": None,
    "base64('a')": "YQ==",
    "base64(unhex('ff'))": "/w==",
    "base64(CAST(NULL AS STRING))": None,
    "hex(unbase64('YWI='))": "6162",
    "hex(unbase64('Y'))": None,
    "hex(unbase64(CAST(NULL AS STRING)))": None,
    "hex(255)": "FF",
    "hex(-1)": "F" * 16,
    "hex('é')": "C3A9",
    "hex(CAST(NULL AS BIGINT))": None,
    "hex(CAST(NULL AS STRING))": None,
}


@pytest.mark.parametrize("call", CONSTANTS)
def test_constants_give_one_value(call: str) -> None:
    assert evaluate(call, t=["x", None])[0] == [CONSTANTS[call]] * 2


def test_null_stays_null_and_failures_are_counted() -> None:
    texts = ["YQ==", None, "Y", ""]
    assert evaluate("hex(unbase64(t))", t=texts) == (["61", None, None, ""], 1)
    assert evaluate("base64(t)", t=["a", None]) == (["YQ==", None], 0)
    assert evaluate("hex(t)", t=["a", None]) == (["61", None], 0)
    assert evaluate("hex(i)", i=[10, None]) == (["A", None], 0)
    assert evaluate("ascii(t)", t=["a", None]) == ([97, None], 0)
    found = evaluate(
        "locate(u, t, i)", u=["a", None, "a", "a"], t=["ba", "a", None, "a"], i=[1, 1, 1, None]
    )
    assert found == ([2, None, None, 0], 0)


def test_parts_ends_and_bits_of_texts() -> None:
    texts = ["", "abc", "École", "é😀漢", "aab", None]
    column = pa.array(texts)
    for part in ("", "a", "ab", "École", "😀", "abcd"):
        assert holds(part, column).tolist()[:5] == [
            part in text for text in texts[:5] if text is not None
        ]
    for count in (1, 2, 9):
        assert last_points(column, count).to_pylist() == [text and text[-count:] for text in texts]
    numbers = [0, 1, 5, -1, 2**63 - 1, -(2**63)]
    made = binary_of_numbers(np.array(numbers)).to_pylist()
    assert made == [format(each & (2**64 - 1), "b") for each in numbers]


def test_what_stands_between_marks() -> None:
    rows = ["a|b|c|é日|", "", None, "||", "|x||y|z", "no"]
    for column in (_cut([*rows]), pa.array(rows[:0], pa.string()), pa.array(["no"])):
        texts = column.to_pylist()
        offsets, parts = between_marks(column, ord("|"))
        expected = [(text or "").split("|")[1::2] for text in texts]
        assert parts.to_pylist() == [part for each in expected for part in each]
        assert np.diff(offsets).tolist() == [len(each) for each in expected]
