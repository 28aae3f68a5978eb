"""The FROM clause: which relations a query reads, under which names and with which windows of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.bind.literals import duration_us, whole_number
from cqc.compiler.bind.table_functions import bind_table_function, bind_unnest, kind_of, widened
from cqc.compiler.diagnostics.diagnostic import Severity
from cqc.compiler.diagnostics.suggest import did_you_mean
from cqc.compiler.meaning.bound import Item
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.meaning.window_columns import of_relation
from cqc.compiler.wording.expressions import name_text

if TYPE_CHECKING:
    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.syntax import tree as syntax


def bind_from(
    scope: Scope, nodes: tuple[syntax.FromItem, ...], joins: tuple[syntax.Join, ...] = ()
) -> list[Item] | None:
    """Fill the scope with the FROM items; None when something in them is wrong."""
    found = _errors(scope)
    items: list[Item] = []
    unnested = 0
    for at, node in enumerate(nodes):
        if node.unnest is not None:
            unnested += 1
            join = joins[at - 1] if 0 < at <= len(joins) else None
            bind_unnest(scope, node, join, items)
            continue
        item = _item(scope, node)
        if item is not None:
            items.append(item)
    _check_streams(scope, nodes, items)
    complete = len(items) + unnested == len(nodes) and _errors(scope) == found
    return items if complete and not scope.has_unknown else None


def _errors(scope: Scope) -> int:
    """How many errors there are so far; a query in FROM may have warnings."""
    return sum(each.severity is Severity.ERROR for each in scope.diagnostics)


def _item(scope: Scope, node: syntax.FromItem) -> Item | None:
    name = node.relation if node.alias is None else node.alias
    if node.query is not None:
        relation = _sub_query(scope, node, node.query)
    else:
        relation = scope.environment.relations.get(fold(node.relation.text))
    broken = relation is None
    if relation is None and node.query is None:
        relation = _find_broken(scope, node.relation)
    alias = fold(name.text)
    if scope.by_alias.get(alias, -1) >= scope.own_from:
        hint = f"Give it another name: `{node.relation.text} AS {name.text}2`."
        scope.report("CQ033", name.span, alias=name.text, hint=hint)
        return None
    scope.by_alias[alias] = len(scope.aliases)
    scope.aliases.append(name.text)
    scope.relations.append(relation)
    scope.windows.append(None)
    scope.passed.append({} if relation is None else of_relation(relation))
    scope.shaky.append(broken)
    scope.spans.append(node.span)
    scope.columns.append(None if relation is None else scope.environment.columns(relation))
    if node.function is not None:
        return _windowed(scope, node, relation, name.text)
    range_us, rows = _extent(scope, node, relation)
    return None if relation is None else Item(name.text, relation, range_us, rows, node.span)


def _windowed(
    scope: Scope, node: syntax.FromItem, relation: Relation | None, alias: str
) -> Item | None:
    """An item inside TUMBLE, HOP or SESSION: from here on it has the columns of its windows too."""
    assert node.function is not None
    kind = kind_of(scope, node.function)
    if kind is None:
        scope.columns[-1] = None
        scope.has_unknown = True
        return None
    if relation is None:
        return None
    window = bind_table_function(scope, node, relation, kind)
    if window is None:
        scope.columns[-1] = None
        scope.has_unknown = True
        return None
    wide = widened(relation, window)
    scope.relations[-1] = wide
    scope.windows[-1] = window
    scope.columns[-1] = {fold(c.name): (at, c.type) for at, c in enumerate(wide.columns)}
    return Item(alias, relation, None, None, node.span, window)


def _sub_query(scope: Scope, node: syntax.FromItem, query: syntax.Select) -> Relation | None:
    """The stream that a query in FROM makes; None after saying what is wrong with it."""
    if not node.relation.text:
        hint = "Write `(SELECT ...) AS name`."
        scope.report("CQ106", node.span, hint=hint)
    relation = scope.bind_view(node.relation, query)
    scope.has_unknown |= relation is None
    return relation


def _find_broken(scope: Scope, name: syntax.Name) -> Relation | None:
    """A relation whose declaration has a mistake, as far as it is known; reports a name never declared."""
    scope.has_unknown = True
    environment = scope.environment
    folded = fold(name.text)
    if folded in environment.broken:
        return environment.broken[folded]
    if folded not in environment.lost:
        detail, hint = _about_unknown(scope, name.text)
        scope.report("CQ030", name.span, name=name.text, detail=detail, hint=hint)
    return None


def _about_unknown(scope: Scope, name: str) -> tuple[str, str | None]:
    """What there is instead of an unknown stream, and what to do."""
    environment = scope.environment
    if fold(name) in environment.queries:
        detail = f"{name} is a query; queries read streams, tables and views."
        return detail, f"Make it a view: `CREATE VIEW {name_text(name)} AS SELECT ...`."
    names = [relation.name for relation in environment.relations.values()]
    if not names and not environment.broken and not environment.lost:
        hint = f"Add `CREATE STREAM {name_text(name)} (ts TIMESTAMP, ...)`, or name the file that declares it as well."
        return "No stream or table is declared.", hint
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    detail = f"Declared are {shown}." if names else "No other stream or table is declared."
    return detail, did_you_mean(name, names)


def _extent(
    scope: Scope, node: syntax.FromItem, relation: Relation | None
) -> tuple[int | None, int | None]:
    """RANGE and ROWS of an item."""
    if node.range is None and node.rows is None:
        return None, None
    range_us = None if node.range is None else duration_us(scope, node.range)
    rows = None if node.rows is None else whole_number_at_least(scope, node.rows, "ROWS", 1)
    if rows is not None and relation is not None and relation.view is not None and node.rows:
        hint = "Write `[RANGE 5 MINUTES]`, or ROWS on a stream inside the view."
        scope.report("CQ102", node.rows.span, view=node.relation.text, hint=hint)
    elif relation is not None and not relation.is_stream:
        extent = node.range or node.rows
        assert extent is not None
        clause = "RANGE" if node.range is not None else "ROWS"
        scope.report("CQ055", extent.span, clause=clause, table=relation.name)
    elif range_us is not None and range_us < 0 and node.range is not None:
        scope.report("CQ053", node.range.span, clause="RANGE", requirement="that is not negative")
    return range_us, rows


def whole_number_at_least(
    scope: Scope, node: syntax.NumberLiteral, clause: str, least: int
) -> int | None:
    """The count of ROWS or LIMIT."""
    value = whole_number(node.text) if node.text.isdecimal() else None
    if value is None or value < least:
        scope.report("CQ054", node.span, clause=clause, requirement=f"of at least {least}")
        return None
    return value


def _check_streams(scope: Scope, nodes: tuple[syntax.FromItem, ...], items: list[Item]) -> None:
    """There is a stream, and all streams count time in the same way."""
    streams = [item for item in items if item.relation.is_stream]
    if not streams:
        views = [item.relation.view for item in items if item.relation.is_windowed]
        is_asked = any(view is None or view.numeric_time is not None for view in views)
        may = scope.may_have_no_stream or scope.is_inner
        if not scope.has_unknown and items and not is_asked and not may:
            span = nodes[0].span.to(nodes[-1].span)
            detail = "Tables never change, so nothing would ever start this query."
            scope.report("CQ056", span, detail=detail)
        return
    known = [item for item in streams if not scope.shaky[scope.by_alias[fold(item.alias)]]]
    if not known:
        return
    first = known[0]
    if not scope.is_inner:
        scope.numeric_time = first.relation.time_type is not ColumnType.TIMESTAMP
    for item in known:
        if (item.relation.time_type is not ColumnType.TIMESTAMP) != scope.numeric_time:
            _report_mixed_time(scope, first, item)
            return


def _report_mixed_time(scope: Scope, first: Item, other: Item) -> None:
    scope.report(
        "CQ051",
        other.span,
        left=first.alias,
        right=other.alias,
        detail=f"The event time of {first.alias} is {first.relation.time_type.value}, "
        f"that of {other.alias} is {other.relation.time_type.value}.",
        hint="Declare both as TIMESTAMP, or both as numbers of seconds.",
        more=(first.span,),
    )
