"""LIKE and ILIKE by walking text and pattern together."""

from __future__ import annotations

from itertools import groupby

ANY_ONE = 1
ANY_MANY = 2
Token = str | int


def like(text: str, pattern: str, escape: str, *, fold_case: bool) -> bool | None:
    """Whether the whole text is what the pattern says; NULL for a pattern that escapes nothing."""
    tokens = parse(pattern, escape)
    if tokens is None:
        return None
    if fold_case:
        return walk(text.lower(), lowered(tokens))
    return walk(text, tokens)


def parse(pattern: str, escape: str) -> list[Token] | None:
    tokens: list[Token] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, None)
            if escaped is None or escaped not in ("_", "%", escape):
                return None
            tokens.append(escaped)
        elif character == "_":
            tokens.append(ANY_ONE)
        elif character == "%":
            tokens.append(ANY_MANY)
        else:
            tokens.append(character)
    return tokens


def lowered(tokens: list[Token]) -> list[Token]:
    """Literal stretches are lowered as a whole: the lower case of a letter may depend on its neighbours."""
    result: list[Token] = []
    for literal, run in groupby(tokens, key=lambda token: isinstance(token, str)):
        part = list(run)
        result.extend("".join(map(str, part)).lower() if literal else part)
    return result


def walk(text: str, tokens: list[Token]) -> bool:
    """Which prefixes of the text the pattern so far can stand for, one token at a time."""
    reached = [True] + [False] * len(text)
    for token in tokens:
        following = [False] * (len(text) + 1)
        for at in range(len(text) + 1):
            if token == ANY_MANY:
                following[at] = reached[at] or (at > 0 and following[at - 1])
            elif at > 0:
                fits = token == ANY_ONE or text[at - 1] == token
                following[at] = reached[at - 1] and fits
        reached = following
    return reached[len(text)]
