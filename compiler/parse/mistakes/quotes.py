"""Quotes and comments that are opened and never closed.

A quote without its partner pairs with the next one, and everything after reads inside out. So the culprit is looked for
where it most likely is: the first text that goes on over the end of a line, else the quote that has no partner. It is
closed at the end of its line, and the file is read again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.diagnostics.source import Span
from cqc.compiler.syntax.tokens import TokenFile, tokenize

if TYPE_CHECKING:
    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.diagnostics.source import SourceFile

_KINDS = {"'": "a text", '"': "a quoted name", "`": "a quoted name", "/": "a comment"}
# What ends a line after a text rather than belonging to it.
_APOSTROPHE = re.compile(r"'[^'\n]*'\w")
_AFTER_TEXT = re.compile(r"[\s,;)\]]*(?:--.*)?$")


def close_quotes(source: SourceFile, found: TokenFile) -> tuple[TokenFile, list[Diagnostic]]:
    """The file with every unclosed quote and comment closed, and a diagnostic for each."""
    diagnostics: list[Diagnostic] = []
    text = source.text
    while (opened := _first_unclosed(text, found)) is not None:
        start, end = _extent(text, opened, found)
        sign = text[start]
        hint = "Add `*/`." if sign == "/" else f"Add a `{sign}`."
        apostrophe = _APOSTROPHE.search(text, text.rfind("\n", 0, start) + 1, start)
        if sign == "'" and apostrophe:
            start = apostrophe.start()
            hint = "A quote inside a text is written twice, as in `'it''s'`."
        diagnostics.append(make("CQ002", Span(source, start, end), what=_KINDS[sign], hint=hint))
        text = text[:start] + _stand_in(sign, end - start) + text[end:]
        found = tokenize(source, found.start, text)
    return found, diagnostics


def _first_unclosed(text: str, found: TokenFile) -> int | None:
    opening = ("'", '"', "`", "/*")
    return next((at for at in found.strange if text.startswith(opening, at)), None)


def _extent(text: str, opened: int, found: TokenFile) -> tuple[int, int]:
    """Where the unclosed quote is that made the one at `opened` unclosed, and where it should end."""
    sign = text[opened]
    if sign == "/":
        return opened, len(text)
    start = next(
        (
            at
            for statement in found.statements
            for at, token in zip(statement.starts, statement.texts, strict=True)
            if token[0] == sign and "\n" in token and at < opened
        ),
        opened,
    )
    line_end = text.find("\n", start)
    line = text[start : len(text) if line_end < 0 else line_end]
    after = _AFTER_TEXT.search(line, 1)
    return start, start + (len(line) if after is None else after.start())


def _stand_in(sign: str, length: int) -> str:
    """Something of the same kind and length, so that all places stay what they are."""
    if sign == "/" or (sign == "'" and length < 2):
        return " " * length
    return ("''" if sign == "'" else "x").ljust(length)
