"""A diagnostic is data; text and JSON are two ways to show it.

Codes and message templates are in `errors_catalogue.py`. Whoever finds a mistake makes a `Diagnostic` and
hands it on; nobody prints here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cqc.compiler.source import Span


class Severity(Enum):
    """Errors stop a program; warnings do not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing the user should know about their program."""

    code: str
    severity: Severity
    message: str
    span: Span
    detail: str | None = None
    hint: str | None = None
    more: tuple[Span, ...] = ()  # further places on the same line to underline


class CompileError(Exception):
    """A program has errors; `diagnostics` holds all of them (and the warnings found on the way)."""

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
    source = diagnostic.span.source
    line, column = source.line_and_column(diagnostic.span.start)
    end_line, end_column = source.line_and_column(diagnostic.span.end)
    return json.dumps(
        {
            "file": source.name,
            "line": line,
            "column": column,
            "end_line": end_line,
            "end_column": end_column,
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
    text = source.line_text(line).replace("\t", " ")
    lines = [
        f"{diagnostic.severity.value}[{diagnostic.code}]: {diagnostic.message}",
        f"{margin} --> {source.name}:{line}:{column}",
        f"{margin}  |",
        f" {number} | {text}",
        f"{margin}  | {_underline(diagnostic, line, text)}",
    ]
    if diagnostic.detail:
        lines.append(f"{margin}  = detail: {diagnostic.detail}")
    if diagnostic.hint:
        lines.append(f"{margin}  = hint: {diagnostic.hint}")
    return "\n".join(lines)


def _underline(diagnostic: Diagnostic, line: int, text: str) -> str:
    source = diagnostic.span.source
    start_of_line = source.line_starts[line - 1]
    marks = [" "] * (len(text) + 1)
    for span in (diagnostic.span, *diagnostic.more):
        first = span.start - start_of_line
        last = max(span.end - start_of_line, first + 1)
        for at in range(max(first, 0), min(last, len(marks))):
            marks[at] = "^"
    return "".join(marks).rstrip() or "^"
