"""The kernel of LIKE agrees with the regular expression that the pattern stands for, on any text."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cqc.runtime.expressions.patterns.like_kernels import check_likes, like_codes, matches_like
from cqc.runtime.expressions.patterns.like_patterns import parse_like
from cqc.runtime.state.lanes import text_buffers

_LETTERS = "ab%_é😀\n"


def expected(pattern: str, text: str) -> bool:
    parts = {"%": ".*", "_": "."}
    regex = "".join(parts.get(letter, re.escape(letter)) for letter in pattern)
    return re.fullmatch(regex, text, re.DOTALL) is not None


def found(pattern: str, text: str) -> bool:
    tokens = parse_like(pattern, "\\")
    assert tokens is not None
    codes, data = like_codes(tokens), np.frombuffer(text.encode(), np.uint8)
    return bool(matches_like(data, 0, len(data), codes, 0, len(codes)))


@given(st.text(_LETTERS, max_size=8), st.text("abé😀\n", max_size=12))
def test_it_agrees_with_the_regular_expression(pattern: str, text: str) -> None:
    assert found(pattern, text) == expected(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [("", "", True), ("%", "", True), ("_", "", False), ("_", "é", True), ("__", "é", False), ("%_", "é", True),
     ("a%b%c", "abbc", True), ("%ab%ab", "abab", True), ("%ab%ab", "abb", False), ("%aab", "aaab", True)],
)  # fmt: skip
def test_small_cases(pattern: str, text: str, matches: bool) -> None:
    assert found(pattern, text) is matches


def test_pairs_of_texts_and_patterns_are_decided_by_one_call() -> None:
    texts = pa.array(["x", "abc", None, "aébc"]).slice(1)
    patterns = [like_codes(parse_like(each, "\\") or ()) for each in ("a_c", "a%c")]
    starts = np.array([0, len(patterns[0]), len(patterns[0]) + len(patterns[1])], np.int64)
    offsets, data = text_buffers(texts)
    rows, wanted = np.array([0, 0, 2, 2]), np.array([0, 1, 0, 1])
    agrees = np.empty(4, np.bool_)
    check_likes(offsets, data, rows, wanted, np.concatenate(patterns), starts, agrees)
    assert agrees.tolist() == [True, True, False, True]
