"""LIKE, ILIKE and RLIKE over text columns.

A LIKE pattern is parsed once into literal stretches and wildcards. The usual forms (equal, prefix, suffix, contains) have
kernels of their own; the rest, and RLIKE, go to RE2 inside Arrow, which takes time linear in the text whatever the pattern.
A pattern that escapes anything but a wildcard or the escape itself is one that Spark refuses: its evaluation fails. Where
every tuple may have a pattern of its own, tuples are taken together by distinct pattern.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.bound import PatternKind
from cqc.runtime.columns.bytes.byte_columns import is_ascii
from cqc.runtime.columns.bytes.letter_case import lowered
from cqc.runtime.columns.distinct_text import text_of_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cqc.runtime.expressions.arithmetic import Outcome


class Wildcard(Enum):
    """What stands for other text in a LIKE pattern."""

    ONE = "_"
    MANY = "%"


_WILDCARDS = {wildcard.value: wildcard for wildcard in Wildcard}
Token = str | Wildcard  # a literal stretch, never empty, or a wildcard


@record
class Matcher:
    """`text LIKE|ILIKE|RLIKE pattern`, ready to run; `fails` when every evaluation of it does."""

    fails: bool
    _test: Callable[[Any], Any]

    def run(self, texts: Any) -> NDArray[np.bool_]:
        """Where the texts (an Arrow array or scalar) match; unspecified where they are NULL."""
        if isinstance(texts, pa.Scalar):
            single = pa.array([texts.as_py() or ""], type=pa.string())
            return np.asarray(bool(self._test(single)[0].as_py()))
        found = self._test(texts)
        found = found.fill_null(False) if found.null_count else found
        result: NDArray[np.bool_] = found.to_numpy(zero_copy_only=False)
        return result


def make_matcher(kind: PatternKind, pattern: str, escape: str) -> Matcher:
    """A matcher for a pattern."""
    if kind is PatternKind.RLIKE:
        return _regex_matcher(pattern)
    tokens = parse_like(pattern, escape)
    if tokens is None:
        return _FAILS
    if kind is PatternKind.LIKE:
        return Matcher(False, _like_test(tokens))
    test = _like_test(tuple(lower(t) if isinstance(t, str) else t for t in tokens))
    return Matcher(False, lambda texts: test(lower_texts(texts)))


def match_each(kind: PatternKind, texts: Any, patterns: Any, escape: str) -> Outcome:
    """Each text against the pattern beside it (Arrow arrays or scalars), and which patterns are not valid."""
    if isinstance(patterns, pa.Scalar):
        matcher = _matcher_of(kind, patterns.as_py() or "", escape)
        found = matcher.run(texts)
        return found, np.ones_like(found) if matcher.fails else None
    encoded = patterns.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(len(encoded.dictionary) + 1))
    found, failed = np.zeros(len(codes), np.bool_), np.zeros(len(codes), np.bool_)
    for code, pattern in enumerate(encoded.dictionary.to_pylist()):
        rows = order[edges[code] : edges[code + 1]]
        matcher = _matcher_of(kind, pattern, escape)
        alone = isinstance(texts, pa.Scalar)
        found[rows] = matcher.run(texts if alone else texts.take(pa.array(rows)))
        failed[rows] = matcher.fails
    return found, failed


_FAILS = Matcher(True, lambda texts: pa.nulls(len(texts), pa.bool_()))
_matcher_of = lru_cache(maxsize=4096)(make_matcher)


def _regex_matcher(pattern: str) -> Matcher:
    try:
        # Not `pa.array([""])`: that loads pandas, which takes longer than a thousand patterns.
        pc.match_substring_regex(pa.nulls(1, pa.string()), pattern)
    except pa.ArrowInvalid:
        return _FAILS
    return Matcher(False, lambda texts: pc.match_substring_regex(texts, pattern))


def parse_like(pattern: str, escape: str) -> tuple[Token, ...] | None:
    r"""The stretches and wildcards of a LIKE pattern, or None for one that escapes what needs none.

    Example:
        parse_like("a_b%", "\\") == ("a", Wildcard.ONE, "b", Wildcard.MANY)
    """
    tokens: list[Token] = []
    parts = _specials(escape).split(pattern)
    literal = parts[0]
    for special, following in zip(parts[1::2], parts[2::2], strict=True):
        if special[0] == escape:
            if special[1:] not in ("_", "%", escape):
                return None
            literal += special[1] + following
        else:
            tokens += [literal, _WILDCARDS[special]] if literal else [_WILDCARDS[special]]
            literal = following
    return tuple([*tokens, literal] if literal else tokens)


@lru_cache(maxsize=64)
def _specials(escape: str) -> re.Pattern[str]:
    """What is no literal of a pattern: an escape with what it escapes, or a wildcard."""
    return re.compile(f"({re.escape(escape)}.?|[%_])", re.DOTALL)


def lower(text: str) -> str:
    """How the language folds case: `lower()`, ILIKE and names alike."""
    return text.lower()


def lower_texts(texts: Any) -> Any:
    """`lower` over an Arrow array or scalar."""
    if isinstance(texts, pa.Scalar):
        return text_of_text(texts, lower)
    if is_ascii(texts):
        return pc.ascii_lower(texts)
    return lowered(texts)


def _like_test(tokens: tuple[Token, ...]) -> Callable[[Any], Any]:
    match tokens:
        case ():
            return lambda texts: pc.equal(texts, "")
        case (str(literal),):
            return lambda texts: pc.equal(texts, literal)
        case (str(literal), Wildcard.MANY):
            return lambda texts: pc.starts_with(texts, literal)
        case (Wildcard.MANY, str(literal)):
            return lambda texts: pc.ends_with(texts, literal)
        case (Wildcard.MANY, str(literal), Wildcard.MANY):
            return lambda texts: pc.match_substring(texts, literal)
        case _:
            return _regex_test(tokens)


def _regex_test(tokens: tuple[Token, ...]) -> Callable[[Any], Any]:
    made: list[str] = []  # when it is first run: of thousands of patterns few have candidates

    def test(texts: Any) -> Any:
        if not made:
            made.append(r"(?s)\A" + "".join(map(_regex_part, tokens)) + r"\z")
        return pc.match_substring_regex(texts, made[0])

    return test


def _regex_part(token: Token) -> str:
    match token:
        case Wildcard.ONE:
            return "."
        case Wildcard.MANY:
            return ".*"
        case _:
            return "".join(rf"\x{{{ord(c):x}}}" if not c.isalnum() else c for c in token)
