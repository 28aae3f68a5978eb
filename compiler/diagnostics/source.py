"""Source text and positions in it.

Every node that comes from a program carries a `Span` of character offsets. Lines and columns are worked
out only when a diagnostic is shown, so that a span costs two integers and a reference.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property

from cqc.compiler.diagnostics.record import record


@record
class BadByte:
    """The first byte of a file that is not UTF-8: at which character it is, and its value."""

    at: int
    value: int


@dataclass(frozen=True, eq=False)
class SourceFile:
    """One program file: its name as the user knows it, and its whole text."""

    name: str
    text: str = field(repr=False)
    bad_byte: BadByte | None = None  # the text is not all of the file, then

    @cached_property
    def line_starts(self) -> list[int]:
        """Offsets at which the lines begin."""
        return [0, *(line_end.end() for line_end in re.finditer("\n", self.text))]

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """The 1-based line and column (in characters) of an offset."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line_text(self, line: int) -> str:
        """The text of a 1-based line, without its line end."""
        start = self.line_starts[line - 1]
        end = self.line_starts[line] if line < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


@record
class Span:
    """The characters `start` up to but not including `end` of a source file."""

    source: SourceFile
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def place(self) -> str:
        """Where it begins, as diagnostics write it: `alarms.cq:4:8`."""
        line, column = self.source.line_and_column(self.start)
        return f"{self.source.name}:{line}:{column}"

    def to(self, other: Span) -> Span:
        """The span from the beginning of this one to the end of the other."""
        return Span(self.source, self.start, other.end)
