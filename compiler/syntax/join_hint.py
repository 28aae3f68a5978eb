"""The shape of a join that a query asks for, in a comment right after its SELECT: `SELECT /*+ JOIN((A B) C) */ A.x ...`.

The names are those of the FROM items. Inside the parentheses of JOIN stands what the last join brings together; a group in
parentheses of its own is joined first and kept. `JOIN(flat)`, `JOIN(left-deep)` and `JOIN(bushy)` name a kind of shape.
A hint changes cost and never an answer, so one that cannot be used is a warning. A comment anywhere else is a comment.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.source import Span
from cqc.compiler.diagnostics.suggest import did_you_mean
from cqc.compiler.meaning.catalog import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.meaning.bound import Item, JoinShape, Pull

KINDS = ("flat", "left-deep", "bushy")
_JOIN = re.compile(r"\s*JOIN\s*(\(.*\))\s*", re.IGNORECASE | re.DOTALL)
_WORD = re.compile(r'[()]|"(?:[^"]|"")*"|`(?:[^`]|``)*`|[^()\s,"`]+|["`]')
_DEEPEST = 64


class HintError(Exception):
    """Why a hint cannot be used, and what to write instead."""

    def __init__(self, detail: str, hint: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = hint


def find_hint(select: Span) -> Span | None:
    """The comment `/*+ ... */` after the word SELECT that the span begins with."""
    text, at = select.source.text, select.start + len("SELECT")
    if text.find("/*+", at, select.end) < 0:
        return None
    while at < select.end:
        if text[at].isspace():
            at += 1
        elif text.startswith("--", at):
            at = (text.find("\n", at) + 1) or select.end
        elif text.startswith("/*", at):
            end = text.index("*/", at + 2) + 2
            if text.startswith("/*+", at):
                return Span(select.source, at, end)
            at = end
        else:
            break
    return None


def read_hint(comment: str, items: Sequence[Item], pull: Pull | None) -> str | JoinShape:
    """What a hint asks for: a kind of shape, or a tree of FROM positions.

    Raises:
        HintError: where it cannot be used.
    """
    found = _JOIN.fullmatch(comment[len("/*+") : -len("*/")])
    if found is None:
        raise HintError(
            "The hint that there is names the shape of a join, as in /*+ JOIN((A B) C) */."
        )
    if len(items) == 1:
        raise HintError("FROM has one item, and there is nothing to join.")
    if pull is not None:
        raise HintError("A query with BEGIN-END is answered by the flat join.")
    if any(item.rows is not None for item in items):
        raise HintError("A query with ROWS is answered by the flat join.")
    words = _WORD.findall(found[1])
    inside = " ".join(words[1:-1]).lower()
    aliases = [fold(item.alias) for item in items]
    if inside in KINDS and inside not in aliases:
        return inside
    shape = _tree(words, aliases, [item.alias for item in items])
    used = _positions(shape)
    missing = [item.alias for at, item in enumerate(items) if at not in used]
    if missing:
        raise HintError(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing.")
    twice = [item.alias for at, item in enumerate(items) if used.count(at) > 1]
    if twice:
        raise HintError(f"{twice[0]} is there twice.")
    return shape


def hint_text(shape: str | JoinShape, names: Sequence[str]) -> str:
    """The hint as one would write it, without the comment around it."""
    if isinstance(shape, str):
        return shape
    if isinstance(shape, int):
        return names[shape]
    return f"({' '.join(hint_text(part, names) for part in shape)})"


def move_shape(shape: str | JoinShape, positions: Sequence[int]) -> str | JoinShape:
    """The shape over other numbers of the same items."""
    return shape if isinstance(shape, str) else _moved(shape, positions)


def _moved(shape: JoinShape, positions: Sequence[int]) -> JoinShape:
    if isinstance(shape, int):
        return positions[shape]
    return tuple(_moved(part, positions) for part in shape)


def _positions(shape: JoinShape) -> list[int]:
    if isinstance(shape, int):
        return [shape]
    return [at for part in shape for at in _positions(part)]


def _tree(words: Sequence[str], aliases: Sequence[str], shown: Sequence[str]) -> JoinShape:
    """The words, which begin with a parenthesis, as a tree."""
    open_parts: list[list[JoinShape]] = [[]]
    for at, word in enumerate(words):
        if word == "(":
            open_parts.append([])
        elif word == ")":
            done = open_parts.pop()
            if not done or not open_parts:
                raise HintError("Its parentheses do not match, or hold nothing.")
            open_parts[-1].append(done[0] if len(done) == 1 else tuple(done))
        else:
            open_parts[-1].append(_position(word, aliases, shown))
        is_whole = len(open_parts) == 1 and at == len(words) - 1
        if (len(open_parts) == 1) is not is_whole or len(open_parts) > _DEEPEST:
            raise HintError("Its parentheses do not match.")
    return open_parts[0][0]


def _position(word: str, aliases: Sequence[str], shown: Sequence[str]) -> int:
    name = word
    if len(word) > 1 and word[0] in '"`':
        name = word[1:-1].replace(word[0] * 2, word[0])
    if fold(name) not in aliases:
        raise HintError(
            f"FROM has no item {name}: it has {', '.join(shown)}.", did_you_mean(name, shown)
        )
    return aliases.index(fold(name))
