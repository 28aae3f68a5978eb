"""Pieces: what the parser makes of a shape, and the small steps their makers share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cqc.compiler.diagnostics.diagnostic import InternalError
from cqc.compiler.diagnostics.source import Span
from cqc.compiler.syntax.tree import Name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cqc.compiler.syntax.tokens import Tokens

# A maker gives the node type of its rule; the grammar guarantees that the pieces fit, types cannot say so.
Make = Callable[["Tokens"], Any]


class Piece:
    """A part of a shape: how to make its node, its first and last token, and how deep it is nested.

    `deepest` is the token that its longest chain of nesting leads to.
    """

    __slots__ = ("deepest", "depth", "first", "last", "make")
    level = 1  # what it adds to the depth of what is in it

    def __init__(self, make: Make, first: int, last: int, inner: Sequence[Piece] = ()) -> None:
        self.make = make
        self.first = first
        self.last = last
        self.depth = 1
        self.deepest = first
        for piece in inner:
            if piece.depth + self.level > self.depth:
                self.depth = piece.depth + self.level
                self.deepest = piece.deepest


Part = Piece | int | None
"""What a rule's method is given for a rule, a token, or something left out."""


class Clause(Piece):
    """A clause of a query and the keyword it begins with."""

    __slots__ = ("keyword",)
    level = 0

    def __init__(self, keyword: str, word: int, content: Piece) -> None:
        super().__init__(content.make, word, content.last, (content,))
        self.keyword = keyword

    def is_first_in(self, given: dict[str, Make]) -> bool:
        """Whether no clause of this keyword was given before; then it is now."""
        return given.setdefault(self.keyword, self.make) is self.make


class Group(Piece):
    """Something in parentheses; several pairs of them around one thing are one group."""

    __slots__ = ("inner",)

    def __init__(self, make: Make, first: int, last: int, inner: Piece) -> None:
        super().__init__(make, first, last, (inner,))
        self.inner = inner


class Chain(Piece):
    """An AND or OR chain. A chain of the same word in parentheses is part of it, however deep it is nested.

    So a rule of thousands of conditions may be written with a pair of parentheses around each step.
    """

    __slots__ = ("operands", "word")

    def __init__(
        self, make: Make, first: int, last: int, word: str, operands: Sequence[Piece]
    ) -> None:
        super().__init__(make, first, last, operands)
        self.word = word
        self.operands = operands

    @staticmethod
    def flattened(word: str, operands: Iterable[Piece]) -> list[Piece]:
        """The operands of a chain of a word, with those of the chains in parentheses among them."""
        flat: list[Piece] = []
        for operand in operands:
            inner = operand.inner if isinstance(operand, Group) else operand
            if isinstance(inner, Chain) and inner.word == word:
                flat.extend(inner.operands)
            else:
                flat.append(operand)
        return flat


class SelectPiece(Piece):
    """A query, with the clauses that were given once too often."""

    __slots__ = ("repeated",)
    level = 0

    def __init__(
        self, make: Make, first: int, last: int, inner: Sequence[Piece], repeated: list[Clause]
    ) -> None:
        super().__init__(make, first, last, inner)
        self.repeated = repeated


class List(Piece):
    """Several pieces of a list as one that makes a tuple."""

    __slots__ = ("inner",)
    level = 0

    def __init__(self, pieces: Sequence[Piece]) -> None:
        makes = [piece.make for piece in pieces]
        first, last = (pieces[0].first, pieces[-1].last) if pieces else (0, 0)
        super().__init__(lambda t: make_all(makes, t), first, last, pieces)
        self.inner = pieces


def leaf(at: int, make: Make) -> Piece:
    """The piece of a single token."""
    return Piece(make, at, at)


def pieces_of(parts: Iterable[Part]) -> list[Piece]:
    """The pieces among what a rule matched."""
    return [part for part in parts if isinstance(part, Piece)]


def token_of(part: Part) -> int:
    """The token number that a part is known to be."""
    if not isinstance(part, int):
        raise InternalError("a rule of the grammar does not end with a token")
    return part


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
    if quote not in '"`':
        return Name(text, span)
    return Name(text[1:-1].replace(quote + quote, quote), span, True)


def text_of(t: Tokens, at: int) -> str:
    """The text that a string token says."""
    text = t.texts[at][1:-1]
    return text.replace("''", "'") if "'" in text else text


def make_all(makes: Sequence[Make], t: Tokens) -> tuple[Any, ...]:
    """The nodes of several pieces."""
    return tuple([make(t) for make in makes])


def make_optional(make: Make | None, t: Tokens) -> Any:
    """The node of a piece, or None where there is none."""
    return None if make is None else make(t)
