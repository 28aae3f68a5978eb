from __future__ import annotations

import pytest

from cqc.compiler.meaning.bound import PatternKind
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
