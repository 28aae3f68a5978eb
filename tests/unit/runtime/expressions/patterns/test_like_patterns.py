"""LIKE and its relatives over columns, constants and patterns that Spark refuses."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from cqc.compiler.meaning.bound import PatternKind
from cqc.runtime.expressions.patterns.like_patterns import Wildcard, make_matcher, parse_like

TEXTS = ["", "a", "ab", "ba", "bab", "a\nb", "a_b", "é", "É", "aé", None]


def matches(kind: PatternKind, pattern: str, escape: str = "\\") -> list[str | None]:
    found = make_matcher(kind, pattern, escape).run(pa.array(TEXTS, type=pa.string())).tolist()
    return [text for text, hit in zip(TEXTS, found, strict=True) if hit]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("", [""]),
        ("a", ["a"]),
        ("a%", ["a", "ab", "a\nb", "a_b", "aé"]),
        ("%a", ["a", "ba"]),
        ("%a%", ["a", "ab", "ba", "bab", "a\nb", "a_b", "aé"]),
        ("_", ["a", "é", "É"]),
        ("a_b", ["a\nb", "a_b"]),
        ("a\\_b", ["a_b"]),
        ("a%_", ["ab", "a\nb", "a_b", "aé"]),
        ("%", [text for text in TEXTS if text is not None]),
        ("a.", []),
    ],
)
def test_like(pattern: str, found: list[str]) -> None:
    assert matches(PatternKind.LIKE, pattern) == found


def test_ilike_folds_case_for_all_of_unicode() -> None:
    assert matches(PatternKind.ILIKE, "É") == ["é", "É"]
    assert matches(PatternKind.ILIKE, "AB") == ["ab"]


def test_rlike_finds_a_match_anywhere() -> None:
    assert matches(PatternKind.RLIKE, "^b.b$") == ["bab"]
    assert matches(PatternKind.RLIKE, "b") == ["ab", "ba", "bab", "a\nb", "a_b"]


def test_another_escape_makes_the_backslash_ordinary() -> None:
    assert parse_like("a!%\\", "!") == ("a%\\",)
    assert parse_like("a_b%", "\\") == ("a", Wildcard.ONE, "b", Wildcard.MANY)


@pytest.mark.parametrize("pattern", ["a\\", "a\\b"])
def test_a_pattern_that_escapes_nothing_fails(pattern: str) -> None:
    assert parse_like(pattern, "\\") is None
    assert make_matcher(PatternKind.LIKE, pattern, "\\").fails


def test_a_constant_text_is_matched_too() -> None:
    matcher = make_matcher(PatternKind.LIKE, "a_", "\\")
    assert matcher.run(pa.scalar("ab")).item() is True
    assert matcher.run(pa.scalar(None, pa.string())).item() is False


def _read_by_character(pattern: str, escape: str) -> tuple[str | Wildcard, ...] | None:
    """`parse_like` written the slow way."""
    tokens: list[str | Wildcard] = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == escape:
            at += 1
            if pattern[at : at + 1] not in ("_", "%", escape):
                return None
            character = pattern[at]
        elif character in ("_", "%"):
            tokens.append(Wildcard(character))
            at += 1
            continue
        at += 1
        if tokens and isinstance(tokens[-1], str):
            tokens[-1] += character
        else:
            tokens.append(character)
    return tuple(tokens)


@pytest.mark.parametrize("escape", ["\\", "!", "%", "_", "^", "]", "é"])
def test_every_short_pattern_is_read_as_character_by_character(escape: str) -> None:
    for length in range(6):
        for characters in itertools.product(("a", "\n", "%", "_", escape), repeat=length):
            pattern = "".join(characters)
            assert parse_like(pattern, escape) == _read_by_character(pattern, escape), pattern
