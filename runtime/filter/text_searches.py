"""What kind of search answers a text pattern.

    'abc%' '%abc' '%abc%' 'abc'   an occurrence of a literal, at the start, at the end, anywhere, or both ends
    'a%bc_d'                      occurrences of its longest literal are candidates, checked with the pattern itself
    RLIKE '^err(or)?: disk'       the same with a literal that every match must contain
    '_%'                          no literal: the pattern is run on every text
    '%'                           every text that is not NULL

ILIKE is searched in the texts folded to lower case.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.bound import PatternKind
from cqc.runtime.expressions.patterns.like_patterns import Token, Wildcard, lower, parse_like

_SPECIAL = frozenset("\\^$.|?*+()[]{}")
_OPTIONAL = frozenset("?*{")
_KNOWN_ESCAPES = frozenset("dDwWsSbBAznrtfva")


class Place(Enum):
    """Where a literal must occur for the pattern to match."""

    ANYWHERE = 0
    START = 1
    END = 2
    WHOLE = 3
    CANDIDATE = 4  # it must occur, and then the pattern decides


class Other(Enum):
    """Patterns that no literal answers."""

    EVERY_TEXT = "every text"
    NO_TEXT = "no text"
    RUN = "run the pattern"


@record
class Literal:
    """Search for a literal, in the texts as they are or folded."""

    text: str
    place: Place
    folded: bool


@lru_cache(maxsize=1 << 14)
def plan_pattern(kind: PatternKind, pattern: str, escape: str) -> Literal | Other:
    """How to find the texts that match a pattern."""
    if kind is PatternKind.RLIKE:
        required = required_literal(pattern)
        return Literal(required, Place.CANDIDATE, folded=False) if required else Other.RUN
    folded = kind is PatternKind.ILIKE
    plain = _plan_plain(pattern, escape, folded=folded)
    if plain is not None:
        return plain
    tokens = parse_like(pattern, escape)
    if tokens is None:
        return Other.NO_TEXT
    return _plan_like(_without_repeats(tokens, folded=folded), folded=folded)


_PLACES = {
    (False, False): Place.WHOLE,
    (False, True): Place.START,
    (True, False): Place.END,
    (True, True): Place.ANYWHERE,
}


def _plan_plain(pattern: str, escape: str, *, folded: bool) -> Literal | None:
    """The plan of one literal with or without `%` at its ends, which most patterns are; None for any other."""
    begins, ends = pattern[:1] == "%", pattern[-1:] == "%"
    literal = pattern[begins : len(pattern) - ends]
    if "%" in literal or "_" in literal or "\0" in literal or escape in ("%", "_"):
        return None
    if escape in literal:
        literal = literal.replace(escape + escape, "\0")
        if escape in literal:  # it escapes a wildcard, or nothing
            return None
        literal = literal.replace("\0", escape)
    if not literal:
        return None
    return Literal(lower(literal) if folded else literal, _PLACES[begins, ends], folded)


def _without_repeats(tokens: tuple[Token, ...], *, folded: bool) -> tuple[Token, ...]:
    kept: list[Token] = []
    for token in tokens:
        if token is not Wildcard.MANY or not kept or kept[-1] is not Wildcard.MANY:
            kept.append(lower(token) if folded and isinstance(token, str) else token)
    return tuple(kept)


def _plan_like(tokens: tuple[Token, ...], *, folded: bool) -> Literal | Other:
    match tokens:
        case (Wildcard.MANY,):
            return Other.EVERY_TEXT
        case (str(literal),):
            return Literal(literal, Place.WHOLE, folded)
        case (str(literal), Wildcard.MANY):
            return Literal(literal, Place.START, folded)
        case (Wildcard.MANY, str(literal)):
            return Literal(literal, Place.END, folded)
        case (Wildcard.MANY, str(literal), Wildcard.MANY):
            return Literal(literal, Place.ANYWHERE, folded)
        case _:
            return _plan_candidates(tokens, folded=folded)


def _plan_candidates(tokens: tuple[Token, ...], *, folded: bool) -> Literal | Other:
    literals = [token for token in tokens if isinstance(token, str)]
    if not literals:
        return Other.RUN
    return Literal(max(literals, key=len), Place.CANDIDATE, folded)


def required_literal(expression: str) -> str:
    """A text that every match of a regular expression contains; empty when none is easily seen.

    Only plain characters outside groups and classes count, and nothing where alternatives of the whole, flags or unusual
    escapes could change the meaning, so that the answer is never wrong.
    """
    if "(?" in expression.replace("(?:", "") or "[:" in expression:
        return ""
    found, run, depth, at = "", "", 0, 0
    while at < len(expression):
        piece, is_plain = _piece(expression, at)
        if piece == "|" and depth == 0:
            return ""
        if piece[0] == "\\" and not is_plain and piece[1:] not in _KNOWN_ESCAPES:
            return ""
        following = expression[at + len(piece) : at + len(piece) + 1]
        depth += (piece == "(") - (piece == ")")
        if is_plain and depth == 0 and following not in _OPTIONAL:
            run += piece[-1]
        if not is_plain or depth or following in _OPTIONAL or following == "+":
            found, run = max(found, run, key=len), ""
        at += len(piece)
    return max(found, run, key=len)


def _piece(expression: str, at: int) -> tuple[str, bool]:
    """The next piece of a regular expression, and whether it stands for one character, itself."""
    character = expression[at]
    if character == "\\":
        escaped = expression[at + 1 : at + 2]
        return expression[at : at + 2], escaped in _SPECIAL and escaped != ""
    if character == "[":
        return expression[at : _class_end(expression, at)], False
    if character == "{":
        end = expression.find("}", at)
        return expression[at : end + 1 if end >= 0 else len(expression)], False
    return character, character not in _SPECIAL


def _class_end(expression: str, at: int) -> int:
    at += 2 if expression.startswith("[^", at) else 1
    at += expression.startswith("]", at)
    while at < len(expression) and expression[at] != "]":
        at += 2 if expression[at] == "\\" else 1
    return at + 1
