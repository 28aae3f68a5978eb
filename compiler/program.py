"""A compiled program: what was declared, the queries, and the shared graph they became.

A program of a hundred thousand queries keeps of each its text, its place and its share of the graph. The bound form is
made again from the text when somebody asks for it: few do, and it is larger than everything else together.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, overload

from cqc.compiler.bind.scope import Environment
from cqc.compiler.bind.statements.bind_program import (
    bind_query,
    bind_views,
    ready_query,
)
from cqc.compiler.bind.statements.views import has_errors
from cqc.compiler.diagnostics.arguments import expect
from cqc.compiler.diagnostics.diagnostic import (
    CompileError,
    Diagnostic,
    InternalError,
    Severity,
    order,
)
from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.diagnostics.source import SourceFile, Span
from cqc.compiler.functions.registered import user_functions
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.parameters.declared import python_values, unused
from cqc.compiler.parse.parser import parse
from cqc.compiler.pipeline import check_query, check_view
from cqc.compiler.syntax.tree import CreateInstance, CreateQuery, CreateView
from cqc.compiler.view_texts import ViewTexts

if TYPE_CHECKING:
    from cqc.compiler.graph.graph import Graph
    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.bound import Query
    from cqc.compiler.meaning.catalog import Catalog, Relation, Settings
    from cqc.compiler.meaning.normal import NormalQuery

_MOST_KEPT = 1_000  # bound queries that are kept as they are


class Queries(Sequence["Query"]):
    """The queries of a program in their order, each as bound query; by position or, in any case, by name.

    Example:
        [query.name for query in program.queries], program.queries["pressure_alarm"], "q1" in program.queries
    """

    def __init__(self, program: Program) -> None:
        self._program = program

    @property
    def names(self) -> list[str]:
        """The names, as written, without binding anything."""
        return [node.name for node in self._program.graph.queries.values()]

    def keys(self) -> list[str]:
        """The names, so that `dict(program.queries)` is the queries by name."""
        return self.names

    def items(self) -> Iterator[tuple[str, Query]]:
        """Names with queries."""
        return ((query.name, query) for query in self)

    def values(self) -> Iterator[Query]:
        """The queries."""
        return iter(self)

    def __len__(self) -> int:
        return len(self._program.graph.queries)

    def __contains__(self, query: object) -> bool:
        name = query if isinstance(query, str) else getattr(query, "name", None)
        return isinstance(name, str) and fold(name) in self._program.graph.queries

    def __iter__(self) -> Iterator[Query]:
        for node in list(self._program.graph.queries.values()):
            yield self._program.bound(node.name)

    @overload
    def __getitem__(self, key: int | str) -> Query: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Query]: ...
    def __getitem__(self, key: int | str | slice) -> Query | Sequence[Query]:
        """A query by its position or its name."""
        if isinstance(key, slice):
            return [self._program.bound(name) for name in self.names[key]]
        expect(key, int | str, "program.queries", "the name of a query, or its position")
        return self._program.bound(key if isinstance(key, str) else self.names[key])

    def __repr__(self) -> str:
        return f"Queries({self.names!r})"


class Relations(Sequence["Relation"]):
    """Declared streams or tables in their order; by position or, in any case, by name."""

    def __init__(self, relations: Sequence[Relation]) -> None:
        self._relations = tuple(relations)

    @property
    def names(self) -> list[str]:
        """The names as declared."""
        return [relation.name for relation in self._relations]

    def __len__(self) -> int:
        return len(self._relations)

    def __contains__(self, relation: object) -> bool:
        name = relation if isinstance(relation, str) else getattr(relation, "name", None)
        return isinstance(name, str) and fold(name) in map(fold, self.names)

    @overload
    def __getitem__(self, key: int | str) -> Relation: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Relation]: ...
    def __getitem__(self, key: int | str | slice) -> Relation | Sequence[Relation]:
        """A relation by its position or its name."""
        if isinstance(key, int | slice):
            return self._relations[key]
        expect(key, str, "program.streams", "the name of a stream or table, or its position")
        for relation in self._relations:
            if fold(relation.name) == fold(key):
                return relation
        known = ", ".join(self.names)
        raise KeyError(f"there is no {key} among {known}" if known else f"there is no {key}")

    def __repr__(self) -> str:
        return f"Relations({self.names!r})"


class Program:
    """What `compile` makes of a text.

    Attributes:
        catalog: Everything a query can name.
        graph: The shared operator graph: `nodes`, `edges`, `to_json()`, `to_dot()`.
        warnings: What the user should know although the program compiles.
        queries: The queries, by position or name.

    Example:
        >>> import cqc
        >>> program = cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT); CREATE QUERY big AS SELECT x FROM s WHERE x > 10")
        >>> [query.name for query in program.queries], [node.id for node in program.graph.nodes]
        (['big'], ['source:s', 'filter:s.x', 'deliver:big'])
    """

    def __init__(self, catalog: Catalog, graph: Graph, warnings: Sequence[Diagnostic]) -> None:
        self.catalog = catalog
        self.graph = graph
        self.warnings = tuple(warnings)
        self.queries = Queries(self)
        self._bound: dict[str, Query] = {}
        self._view_texts: ViewTexts | None = None

    @property
    def settings(self) -> Settings:
        """The SET statements."""
        return self.catalog.settings

    @property
    def streams(self) -> Relations:
        """The declared streams."""
        return Relations([each for each in self.catalog.relations.values() if each.is_stream])

    @property
    def tables(self) -> Relations:
        """The declared tables."""
        return Relations([each for each in self.catalog.relations.values() if not each.is_stream])

    def to_svg(self) -> str:
        """The shared graph as an SVG picture."""
        return self.graph.to_svg()

    def to_sql(self, query: str | None = None, *, dialect: str = "duckdb") -> str:
        """A query, or all of them, as batch SQL over the same tables: any SQL engine can check an answer with it.

        Args:
            query: the name of one; each stands under a comment with its name without it.
            dialect: `duckdb` or `spark`.

        Example:
            >>> import cqc
            >>> program = cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT); SELECT x FROM s WHERE x > 1")
            >>> print(program.to_sql("q1"))
            SELECT "s"."x" AS "x"
            FROM   "s" AS "s"
            WHERE  ("s"."ts" IS NOT NULL)
              AND  ("s"."x" > 1)
        """
        from cqc.compiler.emit.sql import DIALECTS, emit_sql, query_sql  # few need it

        expect(query, str | None, "program.to_sql", "the name of a query")
        if dialect not in DIALECTS:
            raise ValueError(f"the dialect is {' or '.join(DIALECTS)}, not {dialect!r}")
        return emit_sql(self, dialect) if query is None else query_sql(self.bound(query), dialect)

    def _repr_html_(self) -> str:
        """The shared graph, for notebooks."""
        return self.to_svg()

    def bound(self, name: str) -> Query:
        """A query of the program, bound. KeyError when there is none of this name."""
        expect(name, str, "a program", "the name of a query")
        key = fold(name)
        if key not in self.graph.queries:
            raise KeyError(f"there is no query {name}")
        query = self._bound.get(key)
        if query is None:  # threads that ask at once both bind it, and find the same
            query = self._bind_again(self.graph.queries[key])
            if len(self._bound) < _MOST_KEPT:
                query = self._bound.setdefault(key, query)
        return query

    def normal(self, name: str) -> NormalQuery:
        """A query of the program with its conditions classified. KeyError when there is none of this name."""
        return self.graph.normal(name)

    def keep(self, query: Query) -> None:
        """Remember a bound query, while there are few."""
        if len(self._bound) < _MOST_KEPT:
            self._bound[fold(query.name)] = query

    def bind_one(
        self,
        text: str,
        name: str | None = None,
        taken: Container[str] | None = None,
        parameters: Mapping[str, object] | None = None,
    ) -> Query:
        """Bind one more query against what is declared, for a running engine. The program stays as it is.

        Args:
            text: A SELECT or a CREATE QUERY.
            name: What to call it; else the name it gives itself, else the next free q1, q2, ...
            taken: The folded names that are in use; those of the program's queries when not given.
            parameters: Values of its parameters by name.

        Raises:
            CompileError: when the text has errors, is no query, or takes a name that is in use.
            TypeError: when the text or the name is none.
        """
        return self.bind_with_warnings(text, name, taken, parameters)[0]

    def bind_with_warnings(
        self,
        text: str,
        name: str | None = None,
        taken: Container[str] | None = None,
        parameters: Mapping[str, object] | None = None,
    ) -> tuple[Query, list[Diagnostic]]:
        """The same, and what its author should know of the query (`bind_one`)."""
        expect(text, str, "register", "the text of a query")
        expect(name, str | None, "register", "the name of the query")
        source = SourceFile("<query>", text)
        program, diagnostics = parse(source)
        node = program.statements[0] if len(program.statements) == 1 else None
        if not diagnostics and not isinstance(node, CreateQuery | CreateInstance):
            diagnostics = [_not_one_query(source, len(program.statements))]
        if diagnostics or not isinstance(node, CreateQuery | CreateInstance):
            raise CompileError(order(diagnostics))
        in_use = self.graph.queries if taken is None else taken
        chosen = name or (_free_name(in_use) if node.name is None else node.name.text)
        if fold(chosen) in in_use:
            span = node.span if node.name is None else node.name.span
            hint = "Unregister the other one first, or give this one a name of its own."
            raise CompileError([make("CQ029", span, name=chosen, hint=hint)])
        node, select = self._ready(node, parameters)
        query, warnings = _bind(node, self.catalog, chosen, in_use, select)
        _, found = check_query(query)
        if any(each.severity is Severity.ERROR for each in found):
            raise CompileError(order(found))
        return query, order([*warnings, *found])

    def _ready(
        self, node: CreateQuery | CreateInstance, parameters: Mapping[str, object] | None
    ) -> tuple[CreateQuery, Span | None]:
        """The query with constants in the places of its parameters."""
        found: list[Diagnostic] = []
        values = python_values(parameters or {}, found)
        ready = ready_query(node, self.catalog, found, values)
        if not found and parameters and isinstance(node, CreateInstance):
            hint = "Write them in the call: `name => value`."
            found.append(make("CQ165", node.span, query=node.name.text, name="s", hint=hint))
        if not found and isinstance(node, CreateQuery) and not node.parameters:
            found += unused(values, node)
        if found or ready is None:
            raise CompileError(order(found))
        return ready

    def text_of(self, name: str) -> str:
        """The text of a query as it can be registered by itself.

        Over views it ends with a comment that changes with what they are, so that one can see whether it still means the same.
        """
        node = self.graph.queries[fold(name)]
        if not self.catalog.views:
            return node.span.text
        if self._view_texts is None:
            self._view_texts = ViewTexts(self.catalog.views)
        found = self._view_texts.read_by(node.span.text)
        if not found:
            return node.span.text
        content = "\n".join(" ".join(found[each].split()) for each in sorted(found))
        return f"{node.span.text} /* views {sha256(content.encode()).hexdigest()[:12]} */"

    def with_views(self, changes: Mapping[str, CreateView | None]) -> Program:
        """The same program with other views: by folded name what declares each, None for one that goes.

        Raises:
            CompileError: when a view has errors, or one that reads it has then.
        """
        kept = {
            name: each.view.declaration
            for name, each in self.catalog.views.items()
            if each.view is not None
        }
        nodes = [node for node in {**kept, **changes}.values() if node is not None]
        environment = Environment(self.catalog.relations, user_functions(), {})
        _, views, found = bind_views(environment, nodes)
        if not has_errors(found):
            found += [
                each for view in views.values() for each in check_view(view, is_declared=True)
            ]
        if has_errors(found):
            raise CompileError(order(found))
        return Program(replace(self.catalog, views=views), self.graph, self.warnings)

    def _bind_again(self, node: QueryNode) -> Query:
        program, diagnostics = parse(SourceFile(node.span.source.name, node.span.text))
        statement = program.statements[0] if program.statements else None
        if diagnostics or not isinstance(statement, CreateQuery):
            raise InternalError(f"query {node.name} no longer parses")
        return _bind(statement, self.catalog, node.name)[0]


def _not_one_query(source: SourceFile, statements: int) -> Diagnostic:
    found = {0: "nothing", 1: "another statement"}.get(statements, f"{statements} statements")
    span = Span(source, 0, len(source.text.rstrip()))
    return make("CQ001", span, expected="one query", found=found)


def _free_name(taken: Container[str]) -> str:
    """The next free q1, q2, ...: by doubling and halving, since a hundred thousand may be taken."""
    high = 1
    while f"q{high}" in taken:
        high *= 2
    low = high // 2  # taken, or 0
    while high - low > 1:
        middle = (low + high) // 2
        if f"q{middle}" in taken:
            low = middle
        else:
            high = middle
    return f"q{high}"


def _bind(
    node: CreateQuery,
    catalog: Catalog,
    name: str,
    others: Container[str] = (),
    select: Span | None = None,
) -> tuple[Query, list[Diagnostic]]:
    query, diagnostics = bind_query(node, catalog, name, user_functions(), others)
    is_whole = bool(node.into or node.options or node.is_alert)  # its text is the statement
    if query is not None and select is not None and not is_whole:
        query = replace(query, span=select)
    if query is None or any(each.severity is Severity.ERROR for each in diagnostics):
        raise CompileError(order(diagnostics))
    return query, diagnostics
