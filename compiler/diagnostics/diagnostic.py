"""A diagnostic is data; text and JSON are two ways to show it.

Codes and message templates are in `errors_catalogue.py`. Whoever finds a mistake makes a `Diagnostic` and
hands it on; nobody prints here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cqc.compiler.diagnostics.source import Span


class Severity(StrEnum):
    """Errors stop a program; warnings do not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing the user should know about their program.

    Example:
        >>> import cqc
        >>> try:
        ...     cqc.compile("CREATE STREAM s (ts TIMESTAMP, x BIGINT); SELECT y FROM s;")
        ... except cqc.CompileError as error:
        ...     [found] = error.diagnostics
        >>> found.line, found.column, found.code, found.severity == "error"
        (1, 50, 'CQ031', True)
    """

    code: str
    severity: Severity
    message: str
    span: Span
    detail: str | None = None
    hint: str | None = None
    more: tuple[Span, ...] = ()  # further places on the same line to underline

    @property
    def file(self) -> str:
        """The file it is about, as it was named."""
        return self.span.source.name

    @property
    def line(self) -> int:
        """The line where it begins, from 1."""
        return self.span.source.line_and_column(self.span.start)[0]

    @property
    def column(self) -> int:
        """The column where it begins, in characters from 1."""
        return self.span.source.line_and_column(self.span.start)[1]

    @property
    def end_line(self) -> int:
        """The line where it ends."""
        return self.span.source.line_and_column(self.span.end)[0]

    @property
    def end_column(self) -> int:
        """The column after its last character."""
        return self.span.source.line_and_column(self.span.end)[1]


def one_sentence(found: Diagnostic) -> str:
    """What it says where there is no place to show the program: its message, and what to do."""
    return found.message if found.hint is None else f"{found.message}: {found.hint}"


class CompileError(Exception):
    """A program has errors; `diagnostics` holds all of them (and the warnings found on the way).

    Example:
        >>> import cqc
        >>> try:
        ...     cqc.compile("SELECT x FROM nowhere")
        ... except cqc.CompileError as error:
        ...     print([each.message for each in error.diagnostics])
        ['there is no stream or table nowhere']
    """

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(render_text(self.diagnostics))


class InternalError(Exception):
    """A bug in cqc: a node was built wrong or a stage broke its promise."""


def order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics by file, place and code, each once."""
    unique = dict.fromkeys(diagnostics)
    return sorted(unique, key=lambda d: (d.span.source.name, d.span.start, d.span.end, d.code))


def render_text(diagnostics: Iterable[Diagnostic]) -> str:
    """All diagnostics for a person, with the source line and the span underlined."""
    return "\n\n".join(_render_one(diagnostic) for diagnostic in diagnostics)


def render_json(diagnostic: Diagnostic) -> str:
    """One diagnostic as one JSON object on one line."""
    return json.dumps(
        {
            "file": diagnostic.file,
            "line": diagnostic.line,
            "column": diagnostic.column,
            "end_line": diagnostic.end_line,
            "end_column": diagnostic.end_column,
            "code": diagnostic.code,
            "severity": diagnostic.severity.value,
            "message": diagnostic.message,
            "hint": diagnostic.hint,
        },
        ensure_ascii=False,
    )


def _render_one(diagnostic: Diagnostic) -> str:
    source = diagnostic.span.source
    line, column = source.line_and_column(diagnostic.span.start)
    number = str(line)
    margin = " " * len(number)
    text, marks = _shown_line(diagnostic, line)
    lines = [
        f"{diagnostic.severity.value}[{diagnostic.code}]: {printable(diagnostic.message)}",
        f"{margin} --> {printable(source.name)}:{line}:{column}",
        f"{margin}  |",
        f" {number} | {text}",
        f"{margin}  | {marks}",
    ]
    if diagnostic.detail:
        lines.append(f"{margin}  = detail: {printable(diagnostic.detail)}")
    if diagnostic.hint:
        lines.append(f"{margin}  = hint: {printable(diagnostic.hint)}")
    return "\n".join(lines)


def printable(text: str) -> str:
    """A text that does nothing to a terminal: control characters and others that cannot be seen are escaped."""
    return text if text.isprintable() else "".join([_visible(character) for character in text])


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    if character.isspace() and character not in _ESCAPED_SPACES:
        return " "  # a tab, or a space of another width: one column, as it is counted
    return character.encode("unicode_escape").decode("ascii")


_ESCAPED_SPACES = "\n\r\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029"
_WIDEST_LINE = 160  # what is wider is shown in part
_BEFORE_CARET = 50
_AFTER_CARET = 80


def _shown_line(diagnostic: Diagnostic, line: int) -> tuple[str, str]:
    """A source line and the carets under it; of a very long line what is around the first caret."""
    text = diagnostic.span.source.line_text(line)
    underlined = _underlined(diagnostic, line, len(text))
    caret = min(underlined, default=0)
    start, end = _window(text, caret)
    pieces = [_visible(character) for character in text[start:end]]
    marks = [
        "^" * len(piece) if at in underlined else " " * len(piece)
        for at, piece in enumerate(pieces, start)
    ]
    marks.append("^" if end == len(text) and end in underlined else "")
    before, after = "..." if start > 0 else "", "..." if end < len(text) else ""
    shown = before + "".join(pieces) + after
    return shown, (" " * len(before) + "".join(marks)).rstrip() or "^"


def _underlined(diagnostic: Diagnostic, line: int, length: int) -> set[int]:
    """The places in a line that are underlined; one past its end is such a place too."""
    start_of_line = diagnostic.span.source.line_starts[line - 1]
    places: set[int] = set()
    for span in (diagnostic.span, *diagnostic.more):
        first = span.start - start_of_line
        last = max(span.end - start_of_line, first + 1)
        places.update(range(max(first, 0), min(last, length + 1)))
    return places


def _window(text: str, caret: int) -> tuple[int, int]:
    """The part of a line that is shown: all of it, or as much around the caret as is comfortable to read."""
    if len(text) <= _WIDEST_LINE and len(printable(text)) <= _WIDEST_LINE:
        return 0, len(text)
    start, room = caret, _BEFORE_CARET
    while start > 0 and room > 0:
        start -= 1
        room -= len(_visible(text[start]))
    end, room = caret, _AFTER_CARET
    while end < len(text) and room > 0:
        room -= len(_visible(text[end]))
        end += 1
    return start, end
