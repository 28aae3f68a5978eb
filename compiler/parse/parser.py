"""Text to syntax tree.

Every statement is parsed on its own, so that all mistakes of a file are found in one run. Statements of the same shape
(`tokens.py`) are parsed by Lark once: what it makes of the shape then makes the nodes of each of them. A file of
100,000 queries has a few dozen shapes.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.diagnostics.source import Span
from cqc.compiler.parse.collector import COLLECTOR
from cqc.compiler.parse.mistakes.mend import mend, parses_but_is_wrong
from cqc.compiler.parse.mistakes.quotes import close_quotes
from cqc.compiler.syntax import tree as syntax
from cqc.compiler.syntax.tables import Failure, forget_tables, read_kinds
from cqc.compiler.syntax.tokens import tokenize_in_parts

if TYPE_CHECKING:
    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.diagnostics.source import BadByte, SourceFile
    from cqc.compiler.syntax.pieces import Make
    from cqc.compiler.syntax.tokens import Tokens

_DECLARATION = re.compile(r"""\bCREATE\s+(?:STREAM|TABLE)\s+(\w+|"[^"]*"|`[^`]*`)""", re.IGNORECASE)
_LONGEST_KEPT = 200
"""Tokens of a statement worth keeping: a query of dozens of conditions is hardly ever repeated."""


def parse(source: SourceFile) -> tuple[syntax.Program, list[Diagnostic]]:
    """The statements of a file, and everything wrong with its syntax.

    Statements whose mistakes leave no doubt about what was meant are in the program too, so that one run reports what is
    wrong with their meaning as well.

    Example:
        program, diagnostics = parse(SourceFile("alarms.cq", "SELECT * FROM B;"))
    """
    if source.bad_byte is not None:
        return _undecoded(source, source.bad_byte)
    with COLLECTOR.is_still():
        return _parse(source)


def _undecoded(source: SourceFile, bad: BadByte) -> tuple[syntax.Program, list[Diagnostic]]:
    """A file that is not text in UTF-8: nothing of it but the names that it seems to declare."""
    span = Span(source, bad.at, bad.at + 1)
    character, hint = f"of byte 0x{bad.value:02X}", "Save the file as UTF-8."
    names = frozenset(found[1].strip('"`') for found in _DECLARATION.finditer(source.text))
    return syntax.Program((), names), [make("CQ016", span, character=character, hint=hint)]


def _parse(source: SourceFile) -> tuple[syntax.Program, list[Diagnostic]]:
    statements: list[syntax.Statement] = []
    diagnostics: list[Diagnostic] = []
    broken: set[str] = set()
    for part in tokenize_in_parts(source):
        found, unclosed = close_quotes(source, part) if part.strange else (part, [])
        diagnostics += unclosed
        for tokens in found.statements:
            make = _find_maker(tokens.kinds)
            if make is not None:
                statements.append(make(tokens))
                continue
            mended, mistakes = mend(tokens)
            statements += mended
            diagnostics += [each for each in mistakes if not _follows(each, tokens, unclosed)]
            broken |= _declared_names(tokens) if not mended else set()
    return syntax.Program(tuple(statements), frozenset(broken)), diagnostics


def _find_maker(kinds: list[str]) -> Make | None:
    """What makes the nodes of all statements with these kinds, or None when there is a mistake in them."""
    if len(kinds) > _LONGEST_KEPT:
        return _maker(kinds)
    return _kept_maker("\n".join(kinds))


@lru_cache(maxsize=1024)  # 10 KB each
def _kept_maker(shape: str) -> Make | None:
    return _maker(shape.split("\n"))


def forget_shapes() -> None:
    """Give back what is kept for the next text, 30 MB after thousands of queries: there will hardly be one, and it would be made anew."""
    _kept_maker.cache_clear()
    forget_tables()


def _maker(kinds: list[str]) -> Make | None:
    piece = read_kinds(kinds)
    if isinstance(piece, Failure) or parses_but_is_wrong(kinds, piece):
        return None
    return piece.make


def _follows(diagnostic: Diagnostic, tokens: Tokens, unclosed: list[Diagnostic]) -> bool:
    """Whether a mistake only follows from a quote in the same statement that was closed by guessing."""
    starts = [each.span.start for each in unclosed]
    inside = [start for start in starts if tokens.starts[0] <= start <= tokens.end]
    span = diagnostic.span
    return bool(inside) and not span.start < span.end <= inside[0]


def _declared_names(tokens: Tokens) -> set[str]:
    """The name that a broken CREATE would have declared."""
    if tokens.kinds[0] != "CREATE" or len(tokens.kinds) < 3:
        return set()
    return {tokens.texts[2].strip('"`')}
