"""LIKE patterns decided on texts where they lie: no text is copied for it, and no regular expression is made.

A pattern is a row of codes: a byte, ONE (`_`, any one character) or MANY (`%`, any text). After a MANY what follows it is tried
at one place after the other; an earlier MANY is never gone back to, because whatever it could take the later one can.

    '%net_user%'   MANY n e t ONE u s e r MANY
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.expressions.patterns.like_patterns import Wildcard
from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from cqc.runtime.expressions.patterns.like_patterns import Token

ONE, MANY = -1, -2


def like_codes(tokens: Iterable[Token]) -> NDArray[np.int16]:
    """The codes of a pattern."""
    codes: list[int] = []
    for token in tokens:
        if isinstance(token, str):
            codes += token.encode()
        else:
            codes.append(ONE if token is Wildcard.ONE else MANY)
    return np.array(codes, np.int16)


@njit(cache=True, nogil=True)
def matches_like(data, begin, end, codes, first, last):  # type: ignore[no-untyped-def]
    """Whether the text between two places matches the pattern between two others."""
    at, code, many, tried = begin, first, -1, begin
    while at < end:
        if code < last and codes[code] == MANY:
            many, tried = code, at
            code += 1
        elif code < last and codes[code] == ONE:
            at += 1
            while at < end and data[at] & 0xC0 == 0x80:  # the rest of the character
                at += 1
            code += 1
        elif code < last and codes[code] == data[at]:
            at += 1
            code += 1
        elif many >= 0:
            tried += 1
            while tried < end and data[tried] & 0xC0 == 0x80:
                tried += 1
            at, code = tried, many + 1
        else:
            return False
    while code < last and codes[code] == MANY:
        code += 1
    return code == last


@njit(cache=True, nogil=True)
def check_likes(offsets, data, texts, patterns, codes, starts, agrees):  # type: ignore[no-untyped-def]
    """Whether each of some texts matches the pattern beside it; `starts[p]` is where the codes of a pattern begin."""
    for pair in range(len(texts)):
        text, pattern = texts[pair], patterns[pair]
        agrees[pair] = matches_like(
            data, offsets[text], offsets[text + 1], codes, starts[pattern], starts[pattern + 1]
        )
