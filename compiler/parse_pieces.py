"""Pieces: what the parser makes of a shape, and the small steps their makers share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cqc.compiler.diagnostics import InternalError
from cqc.compiler.source import Span
from cqc.compiler.syntax import Name

if TYPE_CHECKING:
    from lark import Token

    from cqc.compiler.tokens import Tokens

# A maker gives the node type of its rule; the grammar guarantees that the pieces fit, types cannot say so.
Make = Callable[["Tokens"], Any]


class Piece:
    """A part of a shape: how to make its node, its first and last token, and how deep it is nested.

    `deepest` is the token that its longest chain of nesting leads to.
    """

    __slots__ = ("deepest", "depth", "first", "last", "make")

    def __init__(self, make: Make, first: int, last: int, inner: Sequence[Piece] = ()) -> None:
        self.make = make
        self.first = first
        self.last = last
        self.depth = 1
        self.deepest = first
        for piece in inner:
            if piece.depth >= self.depth:
                self.depth = piece.depth + 1
                self.deepest = piece.deepest


def leaf(at: int, make: Make) -> Piece:
    """The piece of a single token."""
    return Piece(make, at, at)


def number_of(token: Piece | Token) -> int:
    """Which token of the statement this is: shapes are written one token a line."""
    if isinstance(token, Piece) or token.line is None:
        raise InternalError("a token of the grammar has no line")
    return token.line - 1


def maker_of(piece: Piece | None) -> Make | None:
    """The maker of a piece that may have been left out."""
    return None if piece is None else piece.make


def span_of(t: Tokens, first: int, last: int) -> Span:
    """The place of some tokens of a statement."""
    return Span(t.source, t.starts[first], t.ends[last])


def name_at(t: Tokens, at: int) -> Name:
    """The name that a token says, without its quotes."""
    text = t.texts[at]
    span = Span(t.source, t.starts[at], t.ends[at])
    quote = text[0]
    if quote != '"' and quote != "`":
        return Name(text, span)
    return Name(text[1:-1].replace(quote + quote, quote), span, True)


def text_of(t: Tokens, at: int) -> str:
    """The text that a string token says."""
    return t.texts[at][1:-1].replace("''", "'")


def make_all(makes: Sequence[Make], t: Tokens) -> tuple[Any, ...]:
    """The nodes of several pieces."""
    return tuple([make(t) for make in makes])


def make_optional(make: Make | None, t: Tokens) -> Any:
    """The node of a piece, or None where there is none."""
    return None if make is None else make(t)
