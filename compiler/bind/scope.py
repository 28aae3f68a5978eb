"""What names mean inside one query: its FROM items, their columns, the functions, and where an aggregate may be.

Binding reports into the scope and goes on: a part that could not be bound is None, and whoever meets None says nothing,
because the mistake is already reported. That is how one run shows every mistake and no mistake shows twice.
"""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

from cqc.compiler.bind.nested import fields_of
from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.diagnostics.suggest import clock_hint, did_you_mean
from cqc.compiler.meaning.bound import WINDOW_COLUMNS, ColumnRef
from cqc.compiler.meaning.catalog import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.functions.registered import UserFunction
    from cqc.compiler.meaning.bound import Expression, TableWindow
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.types import ColumnType
    from cqc.compiler.meaning.window_columns import Known
    from cqc.compiler.syntax import tree as syntax

    BindSubQuery = Callable[
        ["Environment", syntax.Name, syntax.Select], tuple[Relation | None, list[Diagnostic]]
    ]

# Folded column name -> position and type.
Columns = dict[str, tuple[int, "ColumnType"]]

_NO_COLUMNS: Columns = {}
_LISTED = 20  # names in "columns of ...": more than that helps nobody


class Environment:
    """What all queries of a program share: relations with their columns by folded name, and functions."""

    __slots__ = ("_columns", "broken", "functions", "key_idle_us", "lost", "queries", "relations")

    def within(self, entries: Mapping[str, Relation | None]) -> Environment:
        """The same with the entries of a WITH clause, which hide what else has their names (None: one with a mistake)."""
        known = {name: each for name, each in entries.items() if each is not None}
        hidden = {name: each for name, each in self.relations.items() if name not in entries}
        broken = {name: None for name, each in entries.items() if each is None}
        return Environment(
            {**hidden, **known},
            self.functions,
            {**{name: self.broken[name] for name in self.broken if name not in known}, **broken},
            self.lost,
            self.queries,
            self.key_idle_us,
        )

    def __init__(
        self,
        relations: Mapping[str, Relation],
        functions: Mapping[str, UserFunction],
        broken: Mapping[str, Relation | None],
        lost: frozenset[str] = frozenset(),
        queries: Container[str] = (),
        key_idle_us: int | None = None,
    ) -> None:
        self.relations = relations
        self.functions = functions
        self.broken = broken  # declared with a mistake: known by name, with columns where possible
        self.lost = lost  # folded names whose declaration did not even parse
        self.queries = queries  # folded names of queries, which FROM cannot name
        self.key_idle_us = key_idle_us  # SET KEY_IDLE
        self._columns: dict[int, Columns] = {}

    def columns(self, relation: Relation) -> Columns:
        """The columns of a relation by folded name."""
        found = self._columns.get(id(relation))
        if found is None:
            found = {fold(c.name): (at, c.type) for at, c in enumerate(relation.columns)}
            self._columns[id(relation)] = found
        return found


class OutputNames(Enum):
    """Whether a bare name may be that of an output: not at all, before input columns, or after them."""

    HIDDEN = 0
    FIRST = 1
    LAST = 2


class Scope:
    """The names of one query, and everything found wrong in it so far."""

    __slots__ = (
        "aggregate_forbidden",
        "aliases",
        "bind_sub_query",
        "by_alias",
        "columns",
        "diagnostics",
        "element_columns",
        "environment",
        "first_aggregate",
        "grouped",
        "groups_windows",
        "has_unknown",
        "inside_aggregate",
        "inside_over",
        "is_pull",
        "may_have_no_stream",
        "next_item",
        "numeric_time",
        "outer_levels",
        "output_names",
        "outputs",
        "over_allowed",
        "overs",
        "own_from",
        "passed",
        "relations",
        "shaky",
        "spans",
        "variables",
        "windows",
    )

    def __init__(
        self,
        environment: Environment,
        bind_sub_query: BindSubQuery | None = None,
        *,
        may_have_no_stream: bool = False,
    ) -> None:
        self.environment = environment
        self.bind_sub_query = bind_sub_query  # None where FROM cannot have any
        self.may_have_no_stream = may_have_no_stream  # a view over tables alone is a table
        self.diagnostics: list[Diagnostic] = []
        self.aliases: list[str] = []
        self.relations: list[Relation | None] = []
        self.columns: list[Columns | None] = []  # None where the relation is unknown
        self.shaky: list[bool] = []  # the declaration has a mistake: its event time is a guess
        self.spans: list[Span] = []  # where each item is written
        self.by_alias: dict[str, int] = {}
        self.has_unknown = False
        self.numeric_time = False
        self.aggregate_forbidden: str | None = None  # the clause we are in, where none may be
        self.inside_aggregate: str | None = None
        self.first_aggregate: Span | None = None
        self.output_names = OutputNames.HIDDEN
        self.outputs: dict[str, Expression | None] = {}
        self.grouped: frozenset[Expression] | None = None  # None: the query has no groups
        self.windows: list[TableWindow | None] = []  # of each item
        self.element_columns: dict[str, tuple[int, Columns]] = {}  # of UNNEST, by folded alias
        self.variables: list[dict[str, Expression]] = []  # of the lambdas around, by folded name
        self.passed: list[Known] = []  # the window columns that views pass on, of each item
        self.is_pull = False  # has BEGIN-END
        self.groups_windows = False  # has GROUP BY, over windows
        self.inside_over = False
        self.over_allowed = False  # in this clause
        self.overs: list[Span] = []  # where OVER stands
        # Of a query inside EXISTS: where its own items begin, and those of the queries around it, from the inside.
        self.own_from = 0
        self.outer_levels: tuple[range, ...] = ()
        self.next_item: list[int] = [
            0
        ]  # the next free number of the whole query, the same list for all scopes of it

    def report(
        self,
        code: str,
        span: Span,
        *,
        hint: str | None = None,
        detail: str | None = None,
        more: tuple[Span, ...] = (),
        **values: object,
    ) -> None:
        """Add a diagnostic. Returns nothing, so that a binder can end with it: the part is unknown."""
        self.diagnostics.append(make(code, span, hint=hint, detail=detail, more=more, **values))

    @property
    def own_items(self) -> range:
        """The numbers of the items in FROM of this very query."""
        return range(self.own_from, len(self.relations))

    @property
    def is_inner(self) -> bool:
        """Whether this is a query inside EXISTS."""
        return bool(self.outer_levels)

    def bind_view(self, name: syntax.Name, query: syntax.Select) -> Relation | None:
        """The stream that a query in FROM makes; None after saying what is wrong."""
        assert self.bind_sub_query is not None
        relation, found = self.bind_sub_query(self.environment, name, query)
        self.diagnostics += found
        return relation

    def variable(self, name: syntax.Name) -> Expression | None:
        """The variable of a lambda around that has this name, the innermost first."""
        wanted = fold(name.text)
        return next((each[wanted] for each in reversed(self.variables) if wanted in each), None)

    def is_event_time(self, column: ColumnRef) -> bool:
        relation = self.relations[column.item]
        return relation is not None and relation.event_time == column.column

    def is_window_column(self, column: ColumnRef) -> bool:
        """Whether a column says when its window is complete: one of TUMBLE, HOP or SESSION here, or passed on by a view."""
        known = self.passed[column.item].get(column.column)
        return self.is_own_window(column) or (known is not None and known.is_complete)

    def is_own_window(self, column: ColumnRef) -> bool:
        """Whether TUMBLE, HOP or SESSION in this FROM has made a column."""
        relation, window = self.relations[column.item], self.windows[column.item]
        return (
            relation is not None
            and window is not None
            and column.column >= len(relation.columns) - len(WINDOW_COLUMNS)
        )

    def show(self, column: ColumnRef) -> str:
        """`alias.column` of a bound column."""
        relation = self.relations[column.item]
        name = "?" if relation is None else relation.columns[column.column].name
        return f"{self.aliases[column.item]}.{name}"


def bind_column(scope: Scope, node: syntax.ColumnName) -> Expression | None:
    """The column (or the output) that a name means."""
    if node.qualifier is not None:
        return _qualified(scope, node, node.qualifier)
    if scope.variables:
        variable = scope.variable(node.column)
        if variable is not None:
            return variable
    if len(scope.columns) == 1 and scope.output_names is OutputNames.HIDDEN:
        # The usual query, by the shortest way: a name in lower case is its own folded form.
        known = (scope.columns[0] or _NO_COLUMNS).get(node.column.text)
        if known is not None:
            return ColumnRef(0, known[0], known[1], node.span)
    name = fold(node.column.text)
    outputs_seen = scope.output_names is not OutputNames.HIDDEN and scope.inside_aggregate is None
    if outputs_seen and scope.output_names is OutputNames.FIRST and name in scope.outputs:
        return scope.outputs[name]
    found: list[int] = []
    for level in (scope.own_items, *scope.outer_levels):
        found = [at for at in level if name in (scope.columns[at] or _NO_COLUMNS)]
        if found:
            break
    if len(found) == 1:
        column = _reference(scope, found[0], name, node.span)
        hidden = outputs_seen and scope.grouped is not None and column not in scope.grouped
        return scope.outputs[name] if hidden and name in scope.outputs else column
    if outputs_seen and name in scope.outputs:
        return scope.outputs[name]
    if found:
        _report_ambiguous(scope, node, found)
    elif not scope.has_unknown:
        _report_unknown_column(scope, node)
    return None


def _qualified(scope: Scope, node: syntax.ColumnName, qualifier: syntax.Name) -> Expression | None:
    """`alias.column` first, then `column.field`."""
    names = (node.column, *node.fields)
    variable = scope.variable(qualifier)
    if variable is not None:
        return fields_of(scope, variable, names)
    if fold(qualifier.text) in scope.element_columns:
        return _element_column(scope, node, qualifier)
    item = scope.by_alias.get(fold(qualifier.text))
    known = (
        None if item is None else (scope.columns[item] or _NO_COLUMNS).get(fold(node.column.text))
    )
    if item is not None and known is not None:
        span = node.span if not node.fields else qualifier.span.to(node.column.span)
        return fields_of(scope, ColumnRef(item, known[0], known[1], span), node.fields)
    whole = _nested_column(scope, qualifier)
    if whole is not None:
        return fields_of(scope, whole, names)
    if item is None:
        report_unknown_alias(scope, qualifier)
        return None
    columns = scope.columns[item]
    if columns is None:
        return None
    _report_unknown_in_item(scope, node, item)
    return None


def _element_column(
    scope: Scope, node: syntax.ColumnName, qualifier: syntax.Name
) -> Expression | None:
    """`alias.column` of UNNEST, else a field of its element."""
    item, columns = scope.element_columns[fold(qualifier.text)]
    known = columns.get(fold(node.column.text))
    if known is not None:
        column = ColumnRef(item, known[0], known[1], qualifier.span.to(node.column.span))
        return fields_of(scope, column, node.fields)
    position, type_ = next(iter(columns.values()))
    element = ColumnRef(item, position, type_, qualifier.span)
    return fields_of(scope, element, (node.column, *node.fields))


def _nested_column(scope: Scope, name: syntax.Name) -> Expression | None:
    """The only column of a name, where it has something inside; an output of that name where these are seen."""
    folded = fold(name.text)
    for level in (scope.own_items, *scope.outer_levels):
        found = [at for at in level if folded in (scope.columns[at] or _NO_COLUMNS)]
        if found:
            column = _reference(scope, found[0], folded, name.span)
            return column if len(found) == 1 and column.type.is_nested else None
    if scope.output_names is not OutputNames.HIDDEN and folded in scope.outputs:
        output = scope.outputs[folded]
        return output if output is not None and output.type.is_nested else None
    return None


def _reference(scope: Scope, item: int, name: str, span: Span) -> ColumnRef:
    columns = scope.columns[item]
    assert columns is not None
    position, column_type = columns[name]
    return ColumnRef(item, position, column_type, span)


def _report_ambiguous(scope: Scope, node: syntax.ColumnName, found: list[int]) -> None:
    choices = [f"`{scope.aliases[at]}.{node.column.text}`" for at in found]
    scope.report(
        "CQ032",
        node.span,
        column=node.column.text,
        detail=f"{_join([scope.aliases[at] for at in found], 'and')} have a column of this name.",
        hint=f"Write {_join(choices, 'or')}.",
    )


def _report_unknown_column(scope: Scope, node: syntax.ColumnName) -> None:
    bare = {c.name for relation in scope.relations if relation for c in relation.declared}
    names = sorted(bare) + sorted(scope.outputs)
    scope.report(
        "CQ031",
        node.span,
        place=scope.aliases[0] if len(scope.aliases) == 1 else "FROM",
        column=node.column.text,
        detail=" ".join(filter(None, map(partial(_columns_of, scope), _visible(scope)))) or None,
        hint=_unquoted_text_hint(node)
        or did_you_mean(node.column.text, names)
        or clock_hint(node.column.text),
    )


def _report_unknown_in_item(scope: Scope, node: syntax.ColumnName, item: int) -> None:
    relation = scope.relations[item]
    names = [] if relation is None else [c.name for c in relation.declared]
    hint = did_you_mean(node.column.text, names)
    elsewhere = [
        f"`{scope.aliases[at]}.{node.column.text}`"
        for at, columns in enumerate(scope.columns)
        if columns is not None and fold(node.column.text) in columns
    ]
    if hint is None and elsewhere:
        hint = f"Did you mean {_join(elsewhere, 'or')}?"
    scope.report(
        "CQ031",
        node.column.span,
        place=scope.aliases[item],
        column=node.column.text,
        detail=_columns_of(scope, item),
        hint=hint,
    )


def _unquoted_text_hint(node: syntax.ColumnName) -> str | None:
    """Many people write texts in double quotes, which make identifiers here."""
    if not node.column.quoted or not node.span.text.startswith('"'):
        return None
    text = node.column.text.replace("'", "''")
    return f"Texts are written in single quotes: `'{text}'`."


def report_unknown_alias(scope: Scope, qualifier: syntax.Name) -> None:
    """Say that `qualifier.` names nothing in FROM."""
    for alias, relation in zip(scope.aliases, scope.relations, strict=True):
        if relation is not None and fold(relation.name) == fold(qualifier.text):
            hint: str | None = f"{relation.name} is called `{alias}` in this query."
            break
    else:
        hint = did_you_mean(qualifier.text, scope.aliases)
    scope.report(
        "CQ034",
        qualifier.span,
        qualifier=qualifier.text,
        detail=f"FROM has {_join([scope.aliases[at] for at in _visible(scope)], 'and')}."
        if scope.aliases
        else None,
        hint=hint,
    )


def _visible(scope: Scope) -> list[int]:
    """The items that a name may mean, from the outside."""
    return [at for level in (*scope.outer_levels[::-1], scope.own_items) for at in level]


def _columns_of(scope: Scope, item: int) -> str:
    relation = scope.relations[item]
    if relation is None:
        return ""
    names = [column.name for column in relation.declared]
    shown = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
    return f"Columns of {scope.aliases[item]}: {shown}."


def _join(words: list[str], last: str) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"
