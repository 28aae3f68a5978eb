"""Statements for a running engine: CREATE and DROP change what runs, SHOW and DESCRIBE tell of it.

What they tell is a table, the same for the library, the service and the shell.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from cqc.compiler.bind.statements.bind_program import bind_program, names_read
from cqc.compiler.diagnostics.diagnostic import CompileError, order
from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.diagnostics.source import SourceFile
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.parse.parser import parse
from cqc.compiler.syntax import tree as syntax
from cqc.runtime.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.engine.engine import Engine
    from cqc.runtime.engine.query_book import QueryHandle

_TEXT = pa.string()


def statements_in(text: str) -> Sequence[syntax.Statement]:
    """The statements of a text.

    Raises:
        CompileError: when it has syntax errors.
    """
    program, diagnostics = parse(SourceFile("<statement>", text))
    if diagnostics:
        raise CompileError(order(diagnostics))
    return program.statements


def execute(engine: Engine, statement: syntax.Statement) -> pa.Table | QueryHandle | None:
    """Do what one statement says, and what it gives.

    Raises:
        CompileError: when it has errors.
        RunError: when it cannot be done.
    """
    match statement:
        case syntax.Show():
            return show(engine, statement.what)
        case syntax.Describe():
            return describe(engine, statement.name.text)
        case syntax.Drop(what="QUERY" | "ALERT"):
            engine.unregister(statement.name.text)
        case syntax.Drop():
            drop_view(engine, statement.name.text)
        case syntax.CreateView():
            create_view(engine, statement)
        case syntax.CreateRelation():
            engine.declare(_relation(statement))
        case syntax.SetParameter():
            raise RunError("SET belongs to the program that an engine is made of")
        case syntax.CreateInstance():
            return engine.register(statement.span.text)
        case syntax.SetOption():
            raise RunError("SET belongs to the program that an engine is made of")
        case syntax.CreateSink():
            raise RunError("CREATE SINK belongs to the program that an engine is made of")
        case syntax.CreateQuery():
            return _query(engine, statement)
    return None


def create_view(engine: Engine, statement: syntax.CreateView) -> list[str]:
    """Add a view, or with OR REPLACE put it in the place of another; the queries that were registered again.

    Raises:
        CompileError: when it has errors, a query that reads it has then, or its name is taken.
    """
    program = engine.program
    name = fold(statement.name.text)
    is_taken = name in program.catalog.relations or (
        name in program.catalog.views and not statement.replaces
    )
    if is_taken:
        hint = "Write `CREATE OR REPLACE VIEW`." if name in program.catalog.views else None
        found = make("CQ020", statement.name.span, name=statement.name.text, hint=hint)
        raise CompileError([found])
    return engine.change_views(program.with_views({name: statement}).catalog.views)


def drop_view(engine: Engine, name: str) -> None:
    """Remove a view.

    Raises:
        RunError: when there is none, or something reads it.
    """
    views = engine.program.catalog.views
    if fold(name) not in views:
        raise RunError(f"there is no view {name}")
    readers = readers_of(engine, name)
    if readers:
        raise RunError(f"view {name} is read by {', '.join(readers)}: drop what reads it first")
    engine.change_views(engine.program.with_views({fold(name): None}).catalog.views)


def readers_of(engine: Engine, name: str) -> list[str]:
    """The views and queries whose FROM has a view."""
    wanted = fold(name)
    found = []
    for relation in engine.program.catalog.views.values():
        declared = None if relation.view is None else relation.view.declaration
        if declared is not None and wanted in names_read(declared.select):
            found.append(f"view {relation.name}")
    for query, text in engine.query_texts().items():
        nodes = parse(SourceFile(query, text))[0].statements
        selects = [node.select for node in nodes if isinstance(node, syntax.CreateQuery)]
        found += [f"query {query}" for select in selects if wanted in names_read(select)]
    return found


def show(engine: Engine, what: str) -> pa.Table:
    """What there is of a kind, by name."""
    catalog = engine.program.catalog
    match what:
        case "QUERIES":
            kinds = {name: _kind(engine, name) for name in engine.queries}
            texts = engine.query_texts()
            rows = [(name, kinds[name], _shown(texts[name])) for name in kinds]
            return _table(("name", "kind", "text"), rows)
        case "STREAMS":
            relations = catalog.relations.values()
            named = [(each.name, _kind_of(each), _columns(each)) for each in relations]
            return _table(("name", "kind", "columns"), named)
        case "VIEWS":
            return _table(("name", "kind", "columns", "text"), _views(catalog.views))
        case "SINKS":
            sinks = [(each.name, each.type) for each in catalog.sinks.values()]
            return _table(("name", "type"), sinks)
        case _:
            return _alerts(engine)


def _alerts(engine: Engine) -> pa.Table:
    """The alerts with how many of their keys are pending and firing."""
    counts, texts = engine.alert_counts(), engine.query_texts()
    rows = []
    for name, (pending, firing) in counts.items():
        alert = engine.node(name).alert
        assert alert is not None
        rows.append((name, alert.severity or "", str(pending), str(firing), _shown(texts[name])))
    return _table(("name", "severity", "pending", "firing", "text"), rows)


def _shown(text: str) -> str:
    """A query's text in one line, without what `Program.text_of` adds."""
    return re.sub(r" /\* views [0-9a-f]+ \*/$", "", " ".join(text.split()))


def describe(engine: Engine, name: str) -> pa.Table:
    """The columns of a stream, table, view or query.

    Raises:
        RunError: when there is none of this name.
    """
    relation = engine.program.catalog.readable.get(fold(name))
    if relation is not None:
        rows = [
            (column.name, column.type.value, "event time" if at == relation.event_time else "")
            for at, column in enumerate(relation.declared)
        ]
        return _table(("column", "type", "note"), rows)
    if name not in engine.queries:
        known = [query for query in engine.queries if fold(query) == fold(name)]
        if not known:
            raise RunError(f"there is no stream, table, view or query {name}")
        name = known[0]
    outputs = engine.node(name).outputs
    rows = [(output.name, output.expression.type.value, "") for output in outputs]
    return _table(("column", "type", "note"), rows)


def _query(engine: Engine, statement: syntax.CreateQuery) -> pa.Table | QueryHandle:
    select = statement.select
    last = select.union[-1] if select.union else select
    handle = engine.register(statement.span.text)
    if statement.name is not None or last.begin is None or last.every is not None:
        return handle
    try:
        return engine.invoke(handle)
    finally:
        engine.unregister(handle)


def _relation(statement: syntax.CreateRelation) -> Relation:
    bound = bind_program([(syntax.Program((statement,)), statement.span.source, ".")], {})
    if bound.diagnostics:
        raise CompileError(order(bound.diagnostics))
    (relation,) = bound.catalog.relations.values()
    return relation


def _views(views: Mapping[str, Relation]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for relation in views.values():
        declared = None if relation.view is None else relation.view.declaration
        text = "" if declared is None else " ".join(declared.span.text.split())
        rows.append((relation.name, _kind_of(relation), _columns(relation), text))
    return rows


def _kind_of(relation: Relation) -> str:
    if relation.is_windowed:
        return "rows of a window"
    return "stream" if relation.is_stream else "table"


def _kind(engine: Engine, name: str) -> str:
    pull = engine.node(name).pull
    if pull is None:
        return "push" if engine.node(name).alert is None else "alert"
    return "pull" if pull.every_us is None else "every"


def _columns(relation: Relation) -> str:
    return ", ".join(f"{column.name} {column.type.value}" for column in relation.declared)


def _table(names: Sequence[str], rows: Sequence[tuple[str, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in names]
    arrays = [pa.array(column, _TEXT) for column in columns]
    return pa.Table.from_arrays(arrays, names=list(names))
