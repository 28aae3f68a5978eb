"""A shell over this process: each SELECT runs to the end of its input on the local engine, over what was declared so far.

Declarations are kept as texts and compiled again with each statement, a matter of milliseconds. So whatever a program file can
say can be typed in, and a statement with a mistake leaves everything as it was.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from cqc.cli.interrupts import Interrupts
from cqc.cli.progress import Progress
from cqc.cli.report import counted
from cqc.cli.running import drive
from cqc.cli.shell.collected import Collected
from cqc.cli.shell.entered_text import typed_mistakes
from cqc.cli.shell.session import Names, ShellError, Table
from cqc.compiler import compile_sources
from cqc.compiler.diagnostics.diagnostic import CompileError, Diagnostic, render_text
from cqc.compiler.diagnostics.source import SourceFile
from cqc.compiler.emit.explain import emit as explain
from cqc.compiler.graph.derive import declared_beneath
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.parse.parser import parse
from cqc.compiler.syntax.tree import (
    CreateInstance,
    CreateQuery,
    CreateRelation,
    CreateView,
    Describe,
    Drop,
    Show,
)
from cqc.compiler.wording.expressions import duration_text, name_text
from cqc.runtime.options import RunOptions
from cqc.runtime.run.finite_run import LocalRun
from cqc.runtime.sources.connections import is_connection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler import Program
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.syntax.tree import Statement

Source = tuple[SourceFile, str]
TYPED = "<shell>"
_RUNNABLE = re.compile(r"[^\W\d]\w*")


class LocalSession:
    """Streams, tables and queries of this shell.

    Args:
        sources: the program files to begin with, each with its folder.
        binds: streams and tables that are read from elsewhere than their declaration says.

    Raises:
        CompileError: when the files have errors.
    """

    def __init__(self, sources: Sequence[Source], binds: dict[str, str]) -> None:
        self._declarations: list[Source] = []
        self._queries: dict[
            str, tuple[str, Source]
        ] = {}  # by folded name: as written, and its text
        self._binds = dict(binds)
        program = compile_sources(sources)
        self._keep(sources, program)
        self._program = compile_sources(self._declarations)

    @property
    def binds(self) -> dict[str, str]:
        """Which streams and tables are read from elsewhere."""
        return self._binds

    @property
    def program(self) -> Program:
        """What is declared, without the queries."""
        return self._program

    def execute(self, statement: str, limit: int | None) -> Table | str:
        """Run a SELECT, or keep a declaration or a named query."""
        source = SourceFile(TYPED, statement)
        parsed, diagnostics = parse(source)
        node = parsed.statements[0] if len(parsed.statements) == 1 and not diagnostics else None
        match node:
            case CreateQuery(name=None):
                return self._answer((source, "."), limit)
            case Drop(name=name_):
                return self.drop(name_.text)
            case Describe(name=name_):
                return self.describe(name_.text)
            case Show():
                return self.describe(None)
            case _:
                pass
        added = [*self._declarations, (source, ".")]
        program = compile_sources(added)
        warnings = render_text(each for each in program.warnings if each.span.source is source)
        if isinstance(node, CreateQuery | CreateInstance) and node.name and _has_results(node):
            name = node.name.text
            known = fold(name) in self._queries
            self._queries[fold(name)] = name, (source, ".")
            how = f"query {name} {'is replaced' if known else 'is kept'}; \\run {name} shows its results"
            return f"{warnings}\n{how}" if warnings else how
        new = program.catalog.relations.keys() - self._program.catalog.relations.keys()
        self._declarations, self._program = added, program
        return warnings or _declared([program.catalog.relations[name] for name in new])

    def run(self, name: str, limit: int | None) -> Table | str:
        """Run a query that was kept."""
        return self._answer(self._query(name), limit)

    def describe(self, name: str | None) -> Table | str:
        """All streams, tables and queries, or one of them."""
        if name is None:
            return self._overview()
        relation = self._program.catalog.find(name)
        if relation is not None:
            return _columns(relation, self._binds)
        text = self._query(name)[0].text.strip()
        return f"{text};" if text[:6].upper() == "CREATE" else f"CREATE QUERY {name} AS\n{text};"

    def plan(self, query: str) -> str:
        """Explain a query as `cqc compile` does."""
        source = (
            self._query(query) if _RUNNABLE.fullmatch(query) else (SourceFile(TYPED, query), ".")
        )
        return explain(compile_sources([*self._declarations, source]))

    def drop(self, name: str) -> str:
        """Forget a query, or a stream or table that nothing else needs."""
        if self._queries.pop(fold(name), None) is not None:
            return f"query {name} is forgotten"
        rest = [each for each in self._declarations if not _declares(each[0], name)]
        if len(rest) == len(self._declarations):
            raise self._unknown(name)
        self._program = compile_sources(rest)
        self._declarations = rest
        return f"{name} is forgotten"

    def bind(self, name: str, path: str) -> str:
        """Read a stream or table from another place."""
        relation = self._program.catalog.find(name)
        if relation is None:
            raise self._unknown(name)
        self._binds[relation.name] = path
        return f"{relation.name} is read from {path}"

    def diagnose(self, text: str) -> Sequence[Diagnostic]:
        """The mistakes of a text that is not entered yet."""
        source = SourceFile(TYPED, text)
        try:
            compile_sources([*self._declarations, (source, ".")])
        except CompileError as error:
            return typed_mistakes(error.diagnostics, source)
        return []

    def names(self) -> Names:
        """What can be completed."""
        relations = self._program.catalog.relations.values()
        columns = {each.name: tuple(column.name for column in each.columns) for each in relations}
        return Names(columns, tuple(name for name, _ in self._queries.values()))

    def _keep(self, sources: Sequence[Source], program: Program) -> None:
        """Take the statements of program files apart: what is declared, and what is asked."""
        for source, folder in sources:
            for node in parse(source)[0].statements:
                if not _has_results(node):
                    span = node.span
                    before = re.sub(
                        r"[^\n]", " ", source.text[: span.start]
                    )  # places stay as they are
                    self._declarations.append((SourceFile(source.name, before + span.text), folder))
        for node_ in program.graph.queries.values():
            text = node_.span.text
            if text[:6].upper() != "CREATE":  # else it would get another name here
                text = f"CREATE QUERY {name_text(node_.name)} AS\n{text}"
            source = SourceFile(node_.span.source.name, text)
            self._queries[fold(node_.name)] = node_.name, (source, ".")

    def _query(self, name: str) -> Source:
        found = self._queries.get(fold(name))
        if found is None:
            raise self._unknown(name)
        return found[1]

    def _unknown(self, name: str) -> ShellError:
        return ShellError(f"there is no {name} here (\\d lists what there is)")

    def _answer(self, source: Source, limit: int | None) -> Table:
        program = compile_sources([*self._declarations, source])
        self._refuse_endless(program)
        results = Collected(limit)
        run = LocalRun(program, RunOptions(binds=self._binds), sink=results)
        shown = Progress(enabled=sys.stderr.isatty())
        with Interrupts(deferred=True, give_up=run.give_up) as interrupts:
            try:
                drive(run, shown, interrupts)
            finally:
                shown.end()
                interrupts.now_closing()
                summary = run.close()
        notes = ["stopped"] if interrupts.asked else []
        for name, count in summary.streams.items():
            notes += [f"{name}: {count.late:,} late"] if count.late else []
            notes += [
                f"{name}: {number:,} rejected: {why}" for why, number in count.reasons.items()
            ]
        return results.table("; ".join([*notes, *summary.warnings]))

    def _refuse_endless(self, program: Program) -> None:
        for node in program.graph.queries.values():
            for relation in declared_beneath(node.body.relations):
                if relation.is_stream and is_connection(relation, self._binds):
                    format_ = relation.options["format"]
                    raise ShellError(
                        f"{relation.name} comes from {format_} and has no end: `cqc run --follow` or `cqc serve` follow it,"
                        f" and \\bind {relation.name}=PATH reads recorded rows here"
                    )

    def _overview(self) -> Table:
        rows: list[tuple[str, str, str]] = []
        for relation in self._program.catalog.relations.values():
            kind = "stream" if relation.is_stream else "table"
            rows.append((relation.name, kind, ", ".join(each.name for each in relation.columns)))
        views = self._program.catalog.views.values()
        rows += [(each.name, "view", ", ".join(c.name for c in each.columns)) for each in views]
        for name, (source, _) in self._queries.values():
            rows.append((name, "query", " ".join(source.text.split())))
        return Table(("name", "kind", "columns or text"), rows, (False, False, False))


def _columns(relation: Relation, binds: dict[str, str]) -> Table:
    rows = []
    for at, column in enumerate(relation.columns):
        note = ""
        if at == relation.event_time:
            delay = duration_text(relation.delay_us) if relation.delay_us else ""
            note = f"event time{f', up to {delay} late' if delay else ''}"
        rows.append((column.name, column.type.value, note))
    place = binds.get(relation.name) or relation.options.get("path")
    note = (
        "no data: give its WITH clause a path, or use \\bind"
        if place is None
        else f"read from {place}"
    )
    if place is None and "format" in relation.options:
        note = f"comes from {relation.options['format']}"
    return Table(("column", "type", ""), rows, (False, False, False), note=note)


def _declared(relations: Sequence[Relation]) -> str:
    """What a statement added; one that only sets or defines something adds no relation."""
    kinds = (("stream" if each.is_stream else "table", each) for each in relations)
    texts = [f"{kind} {each.name}, {counted(len(each.columns), 'column')}" for kind, each in kinds]
    return "; ".join(texts) or "done"


def _has_results(node: Statement) -> bool:
    """Whether it is a query; one with parameters has no results of its own, others are made of it."""
    if isinstance(node, CreateQuery):
        return not node.parameters
    return isinstance(node, CreateInstance)


def _declares(source: SourceFile, name: str) -> bool:
    """Whether a statement is the declaration of this name."""
    node = parse(source)[0].statements[0]
    return isinstance(node, CreateRelation | CreateView) and fold(node.name.text) == fold(name)
