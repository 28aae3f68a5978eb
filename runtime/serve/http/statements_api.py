"""POST /execute: the statements of a running service, DROP, SHOW, DESCRIBE and CREATE QUERY, one after the other.

What SHOW and DESCRIBE tell is the table that `engine.execute` gives. Views and streams belong to the program: DROP VIEW lets go of one
that nothing reads until the program is read again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.program import Program
from cqc.compiler.syntax import tree as syntax
from cqc.runtime.engine.statements import describe, drop_view, show, statements_in
from cqc.runtime.errors import RunError
from cqc.runtime.serve.http.models import Executed
from cqc.runtime.serve.refusal import Refusal, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from cqc.runtime.serve.service import Service

    Remove = Callable[[Service, str], None]


def execute_all(service: Service, text: str, owner: str, remove: Remove) -> Executed:
    """Do what all statements of a text say, and what the last of them gives; the first that cannot be done ends it.

    Args:
        service: in its own thread.
        text: statements with `;` between them.
        owner: of the queries that are registered.
        remove: removes a query, if the caller may.

    Raises:
        CompileError: when a statement has errors.
        Refusal: when it cannot be done.
    """
    found = Executed(statement="")
    for statement in statements_in(text):
        try:
            found = _execute(service, statement, owner, remove)
        except RunError as error:
            raise Refusal(Status.CONFLICT, str(error)) from error
    return found


def _execute(service: Service, statement: syntax.Statement, owner: str, remove: Remove) -> Executed:
    words = " ".join(statement.span.text.split())
    match statement:
        case syntax.Show():
            return _told(words, show(service.engine, statement.what))
        case syntax.Describe():
            return _told(words, describe(service.engine, statement.name.text))
        case syntax.Drop(what="QUERY"):
            remove(service, statement.name.text)
            return Executed(statement=words)
        case syntax.Drop():
            drop_view(service.engine, statement.name.text)
            settled, views = service.program, service.engine.program.catalog.views
            catalog = replace(settled.catalog, views=views)
            service.program = Program(catalog, settled.graph, settled.warnings)
            return Executed(statement=words)
        case syntax.CreateQuery():
            entry = service.register(statement.span.text, None, owner)
            return Executed(statement=words, query=entry.name)
        case _:
            what = words.split("(")[0][:40].strip()
            raise Refusal(
                Status.INVALID, f"{what} belongs to the program that the service was started with"
            )


def _told(words: str, table: pa.Table) -> Executed:
    rows = [
        list(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)
    ]
    return Executed(statement=words, columns=table.column_names, rows=rows)
