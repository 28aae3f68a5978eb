"""A shell over a running service: SELECT with BEGIN-END is asked at once, other queries are followed until Ctrl-C.

What is only asked is registered for the moment of the question, under a name of this shell, and removed again.
"""

from __future__ import annotations

import json
import os
import time
import urllib.parse
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from cqc.cli.report import counted
from cqc.cli.service_connection import Connection, ServiceError
from cqc.cli.shell.entered_text import typed_mistakes
from cqc.cli.shell.session import Names, ShellError, Table
from cqc.cli.tables import cell
from cqc.compiler import compile_sources
from cqc.compiler.diagnostics.diagnostic import CompileError
from cqc.compiler.diagnostics.source import SourceFile
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.parse.parser import parse
from cqc.compiler.syntax.tree import CreateQuery, Describe, Drop, Show

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.syntax.tree import Statement

_NUMBERS = ("BIGINT", "DOUBLE")
_NAMES_S = 5.0  # between two looks at what the service has, for completion


class ServiceSession:
    """Speaks to a service.

    Args:
        connection: how it is reached.
        show: called with each result of a query that is followed; None where nobody could stop following.
    """

    def __init__(self, connection: Connection, show: Callable[[str], None] | None) -> None:
        self._connection = connection
        self._show = show
        self._names = Names()
        self._looked = -_NAMES_S
        self._queries()  # says at once when there is no service
        self._relations = self._schema()

    def execute(self, statement: str, limit: int | None) -> Table | str:
        """Register a query that has a name; ask one that has none."""
        match _only_statement(statement):
            case CreateQuery(name=None):
                return self._ask(statement, limit)
            case CreateQuery():
                answer = self._register(statement, None)
                self._looked = -_NAMES_S
                return f"registered {answer['name']}; \\run {answer['name']} shows its results"
            case Drop(what="QUERY", name=name):
                return self.drop(name.text)
            case Show(what="QUERIES"):
                return self.describe(None)
            case Describe(name=name):
                return self.describe(name.text)
            case Show() | Drop():
                return self._statement(statement)
            case None:
                self._register(statement, None)  # the service says what is wrong
            case _:
                pass
        raise ShellError(
            "a running service takes queries: SELECT, or CREATE QUERY; streams and settings are in the program that it runs"
        )

    def _statement(self, text: str) -> Table | str:
        answer = self._connection.send("POST", "/execute", {"text": text})
        if answer.get("columns") is None:
            return "done"
        rows = [[cell(value) for value in row] for row in answer["rows"]]
        return Table(tuple(answer["columns"]), rows, (False,) * len(answer["columns"]))

    def run(self, name: str, limit: int | None) -> Table | str:
        """The answer of a query with BEGIN-END, or the results of another as they come."""
        info = self._connection.send("GET", _path(name))
        is_pull = info["kind"] == "pull"
        return self._invoke(info["name"], limit) if is_pull else self._follow(name)

    def describe(self, name: str | None) -> Table | str:
        """The streams and queries of the service, or one of them."""
        if name is not None:
            relation = self._relations.get(fold(name))
            if relation is not None:
                return _columns(relation)
            info = self._connection.send("GET", _path(name))
            columns = ", ".join(f"{each['name']} {each['type']}" for each in info["columns"])
            facts = f"{info['kind']}, of {info['owner']}, {info['results']:,} results; delivers {columns}"
            return f"{info['text'].strip().rstrip(';')};\n{facts}"
        rows = [
            (
                each["name"],
                each["kind"],
                "",
                ", ".join(column["name"] for column in each["columns"]),
            )
            for each in self._relations.values()
        ]
        rows += [
            (each["name"], each["kind"], f"{each['results']:,}", " ".join(each["text"].split()))
            for each in self._queries()
        ]
        return Table(
            ("name", "kind", "results", "columns or text"), rows, (False, False, True, False)
        )

    def plan(self, query: str) -> str:
        """How the service would answer a query, or answers it."""
        text = query
        if query.isidentifier():
            text = self._connection.send("GET", _path(query))["text"]
        found = self._connection.send("POST", "/check", {"text": text})
        if not found["ok"]:
            self._register(text, None)  # says what is wrong, and where
        lines = [f"{each['what']:<10}  {each['text']}" for each in found["plan"]]
        return "\n".join([*lines, f"shared with {found['shared_with']:,} other queries"])

    def drop(self, name: str) -> str:
        """Remove a query from the service."""
        self._connection.send("DELETE", _path(name))
        self._looked = -_NAMES_S
        return f"unregistered {name}"

    def bind(self, name: str, path: str) -> str:
        """A service has its data."""
        del path
        raise ShellError(f"{name} is read by the service: `cqc serve --bind` says from where")

    def diagnose(self, text: str) -> Sequence[Diagnostic]:
        """The mistakes of a text that is not entered yet, found here: nobody waits for the service while typing."""
        source = SourceFile("<shell>", text)
        if not self._relations:
            return parse(source)[1]
        try:
            compile_sources([(self._declared(), "."), (source, ".")])
        except CompileError as error:
            return typed_mistakes(error.diagnostics, source)
        return []

    def names(self) -> Names:
        """What can be completed."""
        if time.monotonic() - self._looked > _NAMES_S:
            self._looked = time.monotonic()
            with suppress(ServiceError):  # who types on need not know yet
                columns = {
                    each["name"]: tuple(column["name"] for column in each["columns"])
                    for each in self._relations.values()
                }
                self._names = Names(columns, tuple(each["name"] for each in self._queries()))
        return self._names

    def _schema(self) -> dict[str, dict[str, Any]]:
        """The streams and tables by folded name; none where the service does not tell."""
        try:
            found = self._connection.send("GET", "/schema")["relations"]
        except ServiceError:
            return {}
        return {fold(each["name"]): each for each in found}

    def _declared(self) -> SourceFile:
        """Statements that declare what the service has."""
        texts = []
        for each in self._relations.values():
            parts = [f"{_quoted(column['name'])} {column['type']}" for column in each["columns"]]
            if each["event_time"] is not None:
                time_ = _quoted(each["event_time"])
                parts.append(f"WATERMARK FOR {time_} AS {time_}")
            texts.append(
                f"CREATE {each['kind'].upper()} {_quoted(each['name'])} ({', '.join(parts)});"
            )
        return SourceFile("<service>", "\n".join(texts))

    def _queries(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._connection.send("GET", "/queries")["queries"]
        return found

    def _register(self, text: str, name: str | None) -> dict[str, Any]:
        body = {"text": text, "name": name}
        found: dict[str, Any] = self._connection.send("POST", "/queries", body)
        return found

    def _ask(self, statement: str, limit: int | None) -> Table | str:
        name = f"shell_{os.getpid()}_{time.monotonic_ns()}"
        info = self._register(statement, name)
        try:
            return self._invoke(name, limit) if info["kind"] == "pull" else self._follow(name)
        finally:
            self._connection.send("DELETE", _path(name))

    def _invoke(self, name: str, limit: int | None) -> Table:
        answer = self._connection.send("GET", f"{_path(name)}/invoke")
        titles = [column["name"] for column in answer["columns"]]
        right = [column["type"] in _NUMBERS for column in answer["columns"]]
        rows = [[cell(row[title]) for title in titles] for row in answer["rows"][:limit]]
        notes = [f"at {cell(answer['at'])}", *answer["warnings"]]
        return Table(titles, rows, right, len(answer["rows"]) - len(rows), "; ".join(notes))

    def _follow(self, name: str) -> str:
        """Show results as they come, until somebody stops it."""
        if self._show is None:
            raise ShellError(
                "this query delivers results for as long as it runs: give it BEGIN-END to ask once, or use `cqc watch`"
            )
        shown = 0
        try:
            for event in self._connection.events(f"{_path(name)}/results?since=start", None):
                if event.kind == "result":
                    result = json.loads(event.data)
                    row = "  ".join(f"{key}={cell(value)}" for key, value in result["row"].items())
                    self._show(f"{cell(result.get('ts', result.get('at')))}  {row}")
                    shown += 1
                elif event.kind == "end":
                    break
        except KeyboardInterrupt:
            pass
        return f"stopped after {counted(shown, 'result')}"


def _path(name: str) -> str:
    return f"/queries/{urllib.parse.quote(name, safe='', errors='surrogateescape')}"


def _columns(relation: dict[str, Any]) -> Table:
    rows = [
        (each["name"], each["type"], "event time" if each["name"] == relation["event_time"] else "")
        for each in relation["columns"]
    ]
    return Table(("column", "type", ""), rows, (False, False, False), note=relation["kind"])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _only_statement(text: str) -> Statement | None:
    parsed, diagnostics = parse(SourceFile("<shell>", text))
    return parsed.statements[0] if len(parsed.statements) == 1 and not diagnostics else None
