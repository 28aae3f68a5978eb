from __future__ import annotations

import itertools

import pytest

from cqc.compiler.meaning.bound import PatternKind
from cqc.runtime.expressions.patterns.like_patterns import Wildcard, parse_like
from cqc.runtime.filter.text_searches import (
    Literal,
    Other,
    Place,
    plan_pattern,
    required_literal,
)


@pytest.mark.parametrize(
    ("pattern", "plan"),
    [
        ("abc", Literal("abc", Place.WHOLE, False)),
        ("abc%", Literal("abc", Place.START, False)),
        ("%abc", Literal("abc", Place.END, False)),
        ("%abc%%", Literal("abc", Place.ANYWHERE, False)),
        ("a%bcd", Literal("bcd", Place.CANDIDATE, False)),
        ("_b%", Literal("b", Place.CANDIDATE, False)),
        ("a\\%", Literal("a%", Place.WHOLE, False)),
        ("%%", Other.EVERY_TEXT),
        ("__%", Other.RUN),
        ("", Other.RUN),
        ("a\\b", Other.NO_TEXT),
    ],
)
def test_like_pattern_becomes_the_cheapest_search(pattern: str, plan: Literal | Other) -> None:
    assert plan_pattern(PatternKind.LIKE, pattern, "\\") == plan


def test_ilike_searches_the_folded_literal() -> None:
    assert plan_pattern(PatternKind.ILIKE, "%ÄB%", "\\") == Literal("äb", Place.ANYWHERE, True)


@pytest.mark.parametrize(
    ("expression", "literal"),
    [
        ("error: disk", "error: disk"),
        ("^err(or)?: disk", ": disk"),
        ("disk[0-9]+full", "disk"),
        ("colou?r", "colo"),
        ("ab*cd", "cd"),
        ("ab{0,2}", "a"),
        ("a+b", "a"),
        (r"a\.b", "a.b"),
        (r"x\d+yz", "yz"),
        ("cat|dog", ""),
        ("(?i)cat", ""),
        (r"di[0-9]{2,4}\.tistorte(\s|$)", ".tistorte"),
        ("(?:cat|dog)gone", "gone"),
        ("(cat|dog)gone|x", ""),
        (r"a\|bc", "a|bc"),
        (r"\x41bc", ""),
        (r"\pLbc", ""),
        ("[[:alpha:]xyz]", ""),
        (r"[\]abc]", ""),
        ("[]abc]de", "de"),
        ("", ""),
    ],
)
def test_required_literal_is_in_every_match(expression: str, literal: str) -> None:
    assert required_literal(expression) == literal


@pytest.mark.parametrize("escape", ["\\", "!", "%", "_"])
def test_the_plan_of_every_short_pattern_is_that_of_its_stretches(escape: str) -> None:
    for length in range(6):
        for characters in itertools.product(("a", "\0", "%", "_", escape), repeat=length):
            pattern = "".join(characters)
            assert plan_pattern(PatternKind.LIKE, pattern, escape) == _by_stretches(pattern, escape)


def _by_stretches(pattern: str, escape: str) -> Literal | Other:
    """The plan from what `parse_like` reads, several `%` in a row being one."""
    tokens = parse_like(pattern, escape)
    if tokens is None:
        return Other.NO_TEXT
    kept = [
        token
        for before, token in itertools.pairwise((None, *tokens))
        if token is not Wildcard.MANY or before is not Wildcard.MANY
    ]
    literals = [token for token in kept if isinstance(token, str)]
    if kept == [Wildcard.MANY]:
        return Other.EVERY_TEXT
    if not literals:
        return Other.RUN
    places = {
        ("L",): Place.WHOLE,
        ("L", "%"): Place.START,
        ("%", "L"): Place.END,
        ("%", "L", "%"): Place.ANYWHERE,
    }
    shape = tuple("L" if isinstance(token, str) else token.value for token in kept)
    return Literal(max(literals, key=len), places.get(shape, Place.CANDIDATE), folded=False)
