"""What names mean inside one query: its FROM items, their columns, the functions, and where an aggregate may be.

Binding reports into the scope and goes on: a part that could not be bound is None, and whoever meets None says nothing,
because the mistake is already reported. That is how one run shows every mistake and no mistake shows twice.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.diagnostics.suggest import did_you_mean
from cqc.compiler.meaning.bound import ColumnRef
from cqc.compiler.meaning.catalog import fold

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.functions.registered import UserFunction
    from cqc.compiler.meaning.bound import Expression
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.types import ColumnType
    from cqc.compiler.syntax import tree as syntax

# Folded column name -> position and type.
Columns = dict[str, tuple[int, "ColumnType"]]

_NO_COLUMNS: Columns = {}
_LISTED = 20  # names in "columns of ...": more than that helps nobody


class Environment:
    """What all queries of a program share: relations with their columns by folded name, and functions."""

    __slots__ = ("_columns", "broken", "functions", "lost", "queries", "relations")

    def __init__(
        self,
        relations: Mapping[str, Relation],
        functions: Mapping[str, UserFunction],
        broken: Mapping[str, Relation | None],
        lost: frozenset[str] = frozenset(),
        queries: Container[str] = (),
    ) -> None:
        self.relations = relations
        self.functions = functions
        self.broken = broken  # declared with a mistake: known by name, with columns where possible
        self.lost = lost  # folded names whose declaration did not even parse
        self.queries = queries  # folded names of queries, which FROM cannot name
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
        "by_alias",
        "columns",
        "diagnostics",
        "environment",
        "first_aggregate",
        "grouped",
        "has_unknown",
        "inside_aggregate",
        "numeric_time",
        "output_names",
        "outputs",
        "relations",
        "shaky",
    )

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.diagnostics: list[Diagnostic] = []
        self.aliases: list[str] = []
        self.relations: list[Relation | None] = []
        self.columns: list[Columns | None] = []  # None where the relation is unknown
        self.shaky: list[bool] = []  # the declaration has a mistake: its event time is a guess
        self.by_alias: dict[str, int] = {}
        self.has_unknown = False
        self.numeric_time = False
        self.aggregate_forbidden: str | None = None  # the clause we are in, where none may be
        self.inside_aggregate: str | None = None
        self.first_aggregate: Span | None = None
        self.output_names = OutputNames.HIDDEN
        self.outputs: dict[str, Expression | None] = {}
        self.grouped: frozenset[Expression] | None = None  # None: the query has no groups

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

    def is_event_time(self, column: ColumnRef) -> bool:
        relation = self.relations[column.item]
        return relation is not None and relation.event_time == column.column

    def show(self, column: ColumnRef) -> str:
        """`alias.column` of a bound column."""
        relation = self.relations[column.item]
        name = "?" if relation is None else relation.columns[column.column].name
        return f"{self.aliases[column.item]}.{name}"


def bind_column(scope: Scope, node: syntax.ColumnName) -> Expression | None:
    """The column (or the output) that a name means."""
    if node.qualifier is not None:
        return _qualified(scope, node, node.qualifier)
    if len(scope.columns) == 1 and scope.output_names is OutputNames.HIDDEN:
        # The usual query, by the shortest way: a name in lower case is its own folded form.
        known = (scope.columns[0] or _NO_COLUMNS).get(node.column.text)
        if known is not None:
            return ColumnRef(0, known[0], known[1], node.span)
    name = fold(node.column.text)
    outputs_seen = scope.output_names is not OutputNames.HIDDEN and scope.inside_aggregate is None
    if outputs_seen and scope.output_names is OutputNames.FIRST and name in scope.outputs:
        return scope.outputs[name]
    found: list[int] = [
        at for at, columns in enumerate(scope.columns) if columns is not None and name in columns
    ]
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


def _qualified(scope: Scope, node: syntax.ColumnName, qualifier: syntax.Name) -> ColumnRef | None:
    item = scope.by_alias.get(fold(qualifier.text))
    if item is None:
        report_unknown_alias(scope, qualifier)
        return None
    columns = scope.columns[item]
    if columns is None:
        return None
    found = columns.get(fold(node.column.text))
    if found is None:
        _report_unknown_in_item(scope, node, item)
        return None
    return ColumnRef(item, found[0], found[1], node.span)


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
    bare = {c.name for relation in scope.relations if relation for c in relation.columns}
    names = sorted(bare) + sorted(scope.outputs)
    scope.report(
        "CQ031",
        node.span,
        place=scope.aliases[0] if len(scope.aliases) == 1 else "FROM",
        column=node.column.text,
        detail=" ".join(_columns_of(scope, at) for at in range(len(scope.relations))) or None,
        hint=_unquoted_text_hint(node) or did_you_mean(node.column.text, names),
    )


def _report_unknown_in_item(scope: Scope, node: syntax.ColumnName, item: int) -> None:
    relation = scope.relations[item]
    names = [] if relation is None else [c.name for c in relation.columns]
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
        detail=f"FROM has {_join(scope.aliases, 'and')}." if scope.aliases else None,
        hint=hint,
    )


def _columns_of(scope: Scope, item: int) -> str:
    relation = scope.relations[item]
    if relation is None:
        return ""
    names = [column.name for column in relation.columns]
    shown = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
    return f"Columns of {scope.aliases[item]}: {shown}."


def _join(words: list[str], last: str) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"
