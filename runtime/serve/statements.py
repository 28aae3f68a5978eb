"""The queries of a program or of a file in a folder, each as a text that can be registered by itself."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.diagnostic import CompileError, Diagnostic, order
from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.diagnostics.source import SourceFile, Span
from cqc.compiler.parse.parser import parse
from cqc.compiler.syntax.tree import CreateInstance, CreateQuery

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from cqc.compiler import Program
    from cqc.runtime.serve.registry import Entry

_GIVEN_NAME = re.compile(r"q[0-9]+")


@dataclass(frozen=True, slots=True)
class Statement:
    """One query: the name it gives itself (None: any will do), its text, and where it is written."""

    name: str | None
    text: str
    span: Span | None = None

    def as_placed(self) -> str:
        """The text at the line and column where it is written, so that diagnostics point there."""
        if self.span is None:
            return self.text
        line, column = self.span.source.line_and_column(self.span.start)
        return "\n" * (line - 1) + " " * (column - 1) + self.text

    def explain(self, error: CompileError) -> CompileError:
        """The diagnostics of `as_placed` with the name of the file."""
        if self.span is None:
            return error
        source = SourceFile(self.span.source.name, self.as_placed())
        return CompileError([_in_file(each, source) for each in error.diagnostics])


def statements_of_program(program: Program, others: Container[str] = ()) -> list[Statement]:
    """The queries of a compiled program; one called q1, q2, ... makes way for another query (folded name) of that name."""
    return [
        Statement(
            None if key in others and _GIVEN_NAME.fullmatch(key) else node.name,
            program.text_of(node.name),
        )
        for key, node in program.graph.queries.items()
    ]


def statements_of_file(source: SourceFile) -> list[Statement]:
    """The queries of a file that holds nothing else.

    Raises:
        CompileError: when the file has errors, or declares something.
    """
    program, diagnostics = parse(source)
    found: list[Statement] = []
    for node in program.statements:
        if isinstance(node, CreateQuery | CreateInstance):
            name = None if node.name is None else node.name.text
            found.append(Statement(name, node.span.text, node.span))
        else:
            diagnostics = [*diagnostics, _not_a_query(node.span)]
    if diagnostics:
        raise CompileError(order(diagnostics))
    return found


def name_in(text: str) -> str | None:
    """The name that a query gives itself; None where it has none, or is no query."""
    program, _ = parse(SourceFile("<query>", text))
    node = program.statements[0] if len(program.statements) == 1 else None
    return (
        node.name.text
        if isinstance(node, CreateQuery | CreateInstance) and node.name is not None
        else None
    )


def _not_a_query(span: Span) -> Diagnostic:
    return make("CQ001", span, expected="a query", found="another statement")


def _in_file(diagnostic: Diagnostic, source: SourceFile) -> Diagnostic:
    more = tuple(replace(span, source=source) for span in diagnostic.more)
    return replace(diagnostic, span=replace(diagnostic.span, source=source), more=more)


def compare_statements(
    entries: Sequence[Entry], statements: Sequence[Statement]
) -> tuple[list[Entry], list[Statement]]:
    """The entries that no statement stands for any more, and the statements that are new."""
    by_text: dict[str, list[Entry]] = {}
    for entry in entries:
        by_text.setdefault(entry.text, []).append(entry)
    coming: list[Statement] = []
    for statement in statements:
        same = by_text.get(statement.text, [])
        matching = [each for each in same if statement.name in (None, each.name)]
        if matching:
            same.remove(matching[0])
        else:
            coming.append(statement)
    return [entry for same in by_text.values() for entry in same], coming
