"""From the shape of a statement to its piece, with Lark.

A shape is the kinds of a statement's tokens, one a line (`tokens.py` says what a kind is). It is itself a statement of the
language, so Lark reads it with the grammar as it stands, and the line of each of Lark's tokens is its number.

Building the parser from the grammar takes a quarter of a second, so its tables are kept in the user's cache folder; where
that cannot be written the parser is built each time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lark import Lark, UnexpectedCharacters, UnexpectedToken
from lark.exceptions import UnexpectedInput

from cqc.compiler.diagnostics import InternalError
from cqc.compiler.parse_build_statements import StatementPieces
from cqc.compiler.parse_pieces import Piece
from cqc.grammar import grammar_text

END = "$END"
"""What Lark calls the end of the statement."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A shape that is no statement: the number of the first token that does not fit, and what would have fitted."""

    at: int
    expected: frozenset[str]


@lru_cache(maxsize=1)
def parser() -> Lark:
    """The parser of single statements."""
    return Lark(
        grammar_text(),
        start="statement",
        parser="lalr",
        lexer="contextual",
        keep_all_tokens=True,
        maybe_placeholders=True,
        transformer=StatementPieces(),
        cache=_cache_file() or False,
    )


def _cache_file() -> str | None:
    """Where the parser's tables are kept: a folder of this user alone, since reading tables runs what is in them."""
    base = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    folder = Path(base) / "cqc"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return str(folder / "grammar.lark-cache") if os.access(folder, os.W_OK) else None


def read_shape(shape: str) -> Piece | Failure:
    r"""Parse a shape.

    Example:
        read_shape("SELECT\n*\nFROM\nx") is a Piece.
    """
    try:
        piece = parser().parse(shape)
    except UnexpectedInput as error:
        return _failure(shape, error)
    if not isinstance(piece, Piece):
        raise InternalError(f"the grammar made a {type(piece).__name__} of a statement")
    return piece


def _failure(shape: str, error: UnexpectedInput) -> Failure:
    match error:
        case UnexpectedToken() if error.token.type == END:
            at = shape.count("\n") + 1 if shape else 0
        case UnexpectedToken() | UnexpectedCharacters():
            at = error.line - 1
        case _:
            raise InternalError(f"the parser failed in an unknown way: {error}") from error
    return Failure(at, accepted_after("\n".join(shape.split("\n")[:at])))


def accepted_after(shape: str) -> frozenset[str]:
    """The grammar's names of the tokens that can follow a beginning that has no mistake."""
    interactive = parser().parse_interactive(shape)
    interactive.exhaust_lexer()
    accepted: set[str] = interactive.accepts()  # type: ignore[no-untyped-call]  # Lark gives it no types
    return frozenset(accepted)
