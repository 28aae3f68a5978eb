"""TUMBLE, HOP and SESSION in FROM: what they are given, in any of the accepted spellings.

    TUMBLE(s, 10 SEC)    TUMBLE(s, ts, INTERVAL '10' SECOND)    TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '10' SECOND))
    HOP(s, slide, size)                                         SESSION(s PARTITION BY k, gap)

A comma does not tell the keys of a session from the arguments after them: the last argument is the gap, a DESCRIPTOR before
it the event time, and everything before that a key.

`FROM s, UNNEST(s.items) AS i` reads one view: all columns of s, and after them the element (named like the alias, or by the list after it)
and with WITH ORDINALITY its number from 1. Both aliases lead to that one item. So an element is filtered, joined and grouped like any column.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.bind.expression import bind_expression
from cqc.compiler.bind.literals import duration_us, interval_of
from cqc.compiler.bind.operators import typed
from cqc.compiler.diagnostics.suggest import did_you_mean
from cqc.compiler.meaning.bound import (
    WINDOW_COLUMNS,
    ColumnRef,
    Decision,
    Output,
    Query,
    TableWindow,
    WindowKind,
    children,
)
from cqc.compiler.meaning.catalog import Column, Relation, fold, with_fields
from cqc.compiler.meaning.times.durations import SECOND_US
from cqc.compiler.meaning.types import ArrayType, ColumnType, MapType, struct_of
from cqc.compiler.meaning.views import Unnest, View
from cqc.compiler.rewrites.mentioned_items import substitute
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.bound import Decided, Expression, Item

_SPELLINGS = {
    WindowKind.TUMBLE: "TUMBLE(stream, 10 SEC)",
    WindowKind.HOP: "HOP(stream, 1 MINUTE, 5 MINUTES)",
    WindowKind.SESSION: "SESSION(stream PARTITION BY key, 30 SEC)",
}
_LENGTHS = {WindowKind.TUMBLE: 1, WindowKind.HOP: 2, WindowKind.SESSION: 1}


def widened(relation: Relation, window: TableWindow) -> Relation:
    """A relation with the columns of its windows after its own."""
    added = tuple(Column(name, window.type) for name in WINDOW_COLUMNS)
    return replace(relation, columns=(*relation.columns, *added))


def kind_of(scope: Scope, node: syntax.TableFunction) -> WindowKind | None:
    """Which function is meant; one that there is not is reported."""
    words = [word.text.upper() for word in node.words]
    word = node.words[-1]
    if words[-1] not in WindowKind.__members__:
        names = list(WindowKind.__members__)
        hint = did_you_mean(words[-1], names) or f"Write `{_SPELLINGS[WindowKind.TUMBLE]}`."
        detail = f"There are {', '.join(names[:-1])} and {names[-1]}."
        scope.report("CQ131", word.span, name=word.text, detail=detail, hint=hint)
        return None
    kind = WindowKind[words[-1]]
    around = [*node.words[:-1], *([node.source_word] if node.source_word else [])]
    for other in around:
        if other.text.upper() != "TABLE":
            _refuse(scope, kind, other.span, f"`{other.text}` stands where only TABLE can")
            return None
    return kind


def bind_table_function(
    scope: Scope, node: syntax.FromItem, relation: Relation, kind: WindowKind
) -> TableWindow | None:
    """The windows of an item whose columns the scope knows by now; None when something is wrong."""
    function = node.function
    assert function is not None
    if not relation.is_stream:
        scope.report("CQ055", node.relation.span, clause=kind.value, table=relation.name)
        return None
    taken = [name for name in WINDOW_COLUMNS if relation.position(name) is not None]
    if taken:
        hint = "Rename the column in the declaration, or read the stream without the function."
        scope.report("CQ132", function.span, relation=relation.name, column=taken[0], hint=hint)
        return None
    arguments = list(function.arguments)
    count = _LENGTHS[kind]
    lengths, before = arguments[-count:], arguments[:-count]
    if before and not _takes_time(scope, kind, relation, before[-1]):
        if kind is not WindowKind.SESSION or _is_descriptor(before[-1]):
            return None
    elif before:
        before.pop()
    written = [*([] if function.key is None else [function.key]), *before]
    if len(lengths) < count or (written and kind is not WindowKind.SESSION):
        _refuse(scope, kind, function.span, f"{kind.value} does not take these arguments")
        return None
    if written and function.key is None:
        _refuse(scope, kind, written[0].span, "keys stand after PARTITION BY")
        return None
    sizes = [_length(scope, kind, each) for each in lengths]
    keys = [_key(scope, each) for each in written]
    known = [each for each in keys if each is not None]
    us = [each for each in sizes if each is not None]
    if len(known) < len(keys) or len(us) < len(sizes):
        return None
    slide_us = us[0] if kind is not WindowKind.SESSION else 0
    of_ends = kind is not WindowKind.SESSION and _is_of_ends(relation)
    return TableWindow(
        kind,
        slide_us,
        us[-1],
        _time_type(relation, us),
        tuple(known),
        of_ends,
        of_ends and _ends_come_late(relation),
    )


def _is_of_ends(relation: Relation) -> bool:
    """Whether event times are ends of windows or instants of EVERY: such an end belongs to the stretch before it."""
    return relation.view is not None and all(
        (branch.pull is not None and branch.pull.every_us is not None)
        or (branch.decided is not None and branch.decided.by_window)
        or (_passes_on(branch) and _is_of_ends(_only_stream(branch)))
        for branch in relation.view.branches
    )


def _ends_come_late(relation: Relation) -> bool:
    """Whether rows come when the watermark is greater than their event time: those of EVERY and of sessions."""
    return relation.view is not None and any(
        branch.pull is not None
        or (branch.decided is not None and _sessions_or_late(branch.decided))
        or (_passes_on(branch) and _ends_come_late(_only_stream(branch)))
        for branch in relation.view.branches
    )


def _sessions_or_late(decided: Decided) -> bool:
    of_sessions = decided.decision in (Decision.SESSIONS, Decision.SESSION_ROWS)
    return of_sessions or (decided.by_window and decided.ends_late)


def _passes_on(branch: Query) -> bool:
    """Whether rows have the event time of the one stream that a query reads."""
    if branch.decided is not None and branch.decided.by_window:
        return False
    return branch.pull is None and len(branch.stream_items) == 1


def _only_stream(branch: Query) -> Relation:
    return branch.items[branch.stream_items[0]].relation


def _takes_time(
    scope: Scope, kind: WindowKind, relation: Relation, node: syntax.Expression
) -> bool:
    """Whether an argument names the event time, by DESCRIPTOR or bare; another column is an error unless it is a key."""
    is_descriptor = _is_descriptor(node)
    named = node.arguments[0] if isinstance(node, syntax.Call) and node.arguments else node
    if kind is WindowKind.SESSION and not is_descriptor:
        return False
    if not isinstance(named, syntax.ColumnName):
        _refuse(scope, kind, node.span, f"{kind.value} does not take these arguments")
        return False
    assert relation.event_time is not None
    time = relation.columns[relation.event_time].name
    if fold(named.column.text) != fold(time):
        scope.report(
            "CQ133",
            named.span,
            column=named.column.text,
            relation=relation.name,
            hint=f"Write `{f'DESCRIPTOR({time})' if is_descriptor else time}`.",
        )
        return False
    return True


def _is_descriptor(node: syntax.Expression) -> bool:
    return isinstance(node, syntax.Call) and node.name.text.upper() == "DESCRIPTOR"


def _length(scope: Scope, kind: WindowKind, node: syntax.Expression) -> int | None:
    us: int | None = None
    if isinstance(node, syntax.Duration):
        us = duration_us(scope, node)
        if us is None:
            return None
    elif isinstance(node, syntax.NumberLiteral):
        seconds = interval_of(float(node.text), node.span)
        us = seconds.value if seconds is not None and isinstance(seconds.value, int) else None
    if us is None:
        _refuse(scope, kind, node.span, "a duration is missing here")
        return None
    if us <= 0:
        scope.report("CQ053", node.span, clause=kind.value, requirement="greater than 0")
        return None
    return us


def _key(scope: Scope, node: syntax.Expression) -> Expression | None:
    scope.aggregate_forbidden = "PARTITION BY"
    key = bind_expression(scope, node)
    scope.aggregate_forbidden = None
    return None if key is None else typed(key, ColumnType.BOOLEAN)


def _time_type(relation: Relation, lengths_us: Sequence[int]) -> ColumnType:
    """A numeric bound of a window is BIGINT where event times are, and all lengths whole seconds."""
    if relation.time_type is not ColumnType.BIGINT:
        return relation.time_type
    whole = all(us % SECOND_US == 0 for us in lengths_us)
    return ColumnType.BIGINT if whole else ColumnType.DOUBLE


def _refuse(scope: Scope, kind: WindowKind, span: Span, reason: str) -> None:
    hint = f"Write `{_SPELLINGS[kind]}`."
    scope.report("CQ130", span, function=kind.value, detail=f"{reason}.", hint=hint)


def without_unnests(node: syntax.Select) -> syntax.Select:
    """The query without the items of UNNEST, which are bound with the item before them."""
    if all(item.unnest is None for item in node.items):
        return node
    kept = tuple(item for item in node.items if item.unnest is None)
    pairs = zip(node.items[1:], node.joins, strict=False)
    joins = tuple(join for item, join in pairs if item.unnest is None)
    if all(join.kind == "," for join in joins):
        joins = ()
    return replace(node, items=kept, joins=joins)


def bind_unnest(
    scope: Scope, node: syntax.FromItem, join: syntax.Join | None, items: list[Item]
) -> None:
    """Turn the item that UNNEST speaks of into a view with a row for each element."""
    assert node.unnest is not None
    outer = join is not None and join.kind == "LEFT"
    if join is not None and join.kind not in (",", "LEFT", "INNER", "CROSS"):
        _refuse_unnest(
            scope, node.span, f"{join.kind} JOIN UNNEST would keep elements without a row."
        )
        return
    if outer and not _is_true(join):
        _refuse_unnest(scope, node.span, "The condition of LEFT JOIN UNNEST is ON TRUE.")
        return
    operand = bind_expression(scope, node.unnest.operand)
    if operand is None:
        scope.has_unknown = True
        return
    element = _element_type(operand.type)
    if element is None:
        detail = f"It is {operand.type.value}, and not an ARRAY or MAP."
        _refuse_unnest(scope, node.unnest.operand.span, detail)
        return
    mentioned = {each.item for each in _columns_in(operand)}
    at = next(iter(mentioned), -1)
    place = next((p for p, i in enumerate(items) if scope.by_alias.get(fold(i.alias)) == at), None)
    if len(mentioned) != 1 or place is None or items[place].window is not None:
        _refuse_unnest(
            scope, node.span, "It takes an array of one stream, table or view before it."
        )
        return
    names = _element_names(scope, node)
    if names is None:
        return
    item = items[place]
    relation = _unnested(scope, item, at, operand, element, names, outer=outer)
    items[place] = replace(item, relation=relation)
    scope.relations[at] = relation
    _name_columns(scope, at, relation, node, len(names))


def _is_true(join: syntax.Join | None) -> bool:
    condition = None if join is None else join.condition
    while isinstance(condition, syntax.Parenthesised):
        condition = condition.inner
    return isinstance(condition, syntax.BooleanLiteral) and condition.value


def _element_type(type_: ColumnType) -> ColumnType | None:
    if isinstance(type_, ArrayType):
        return type_.element
    if isinstance(type_, MapType):
        return struct_of([("key", type_.key), ("value", type_.item)])
    return None


def _columns_in(expression: Expression) -> list[ColumnRef]:
    if isinstance(expression, ColumnRef):
        return [expression]
    return [each for child in children(expression) for each in _columns_in(child)]


def _element_names(scope: Scope, node: syntax.FromItem) -> list[str] | None:
    """The names of the element and of its number."""
    assert node.unnest is not None
    alias = "unnest" if node.alias is None else node.alias.text
    usual = [alias, "ordinality"] if node.unnest.ordinality else [alias]
    given = [name.text for name in node.unnest.names]
    if len(given) > len(usual):
        detail = f"There are names for {len(given)} columns, and it has {len(usual)}."
        _refuse_unnest(scope, node.span, detail)
        return None
    return given + usual[len(given) :]


def _unnested(
    scope: Scope,
    item: Item,
    at: int,
    operand: Expression,
    element: ColumnType,
    names: list[str],
    *,
    outer: bool,
) -> Relation:
    own = item.relation
    inner = replace(item, range_us=None, rows=None)
    outputs = [
        Output(column.name, ColumnRef(0, number, column.type, item.span))
        for number, column in enumerate(own.columns)
        if column.inside is None
    ]
    array = substitute(operand, lambda each: replace(each, item=0) if each.item == at else each)
    query = Query(
        "", (inner,), (*outputs, Output(names[0], array)), None, None, None, None, item.span
    )
    types = (element, ColumnType.BIGINT)
    added = tuple(Column(name, type_) for name, type_ in zip(names, types, strict=False))
    declared = tuple(replace(column, path=None) for column in own.declared)
    numeric = None if own.event_time is None else own.time_type is not ColumnType.TIMESTAMP
    view = View(
        (query,), False, own.is_windowed, None, numeric, Unnest(len(outputs), outer, len(names) > 1)
    )
    columns = with_fields((*declared, *added))
    return Relation(own.name, columns, own.event_time, 0, {}, ".", own.span, view)


def _name_columns(
    scope: Scope, at: int, relation: Relation, node: syntax.FromItem, count: int
) -> None:
    """The item's columns by name; those of UNNEST also by its alias."""
    declared = relation.declared
    before = len(declared) - count
    columns = {fold(c.name): (place, c.type) for place, c in enumerate(relation.columns)}
    added = {
        fold(column.name): (before + number, column.type)
        for number, column in enumerate(declared[before:])
    }
    for number, column in enumerate(declared[:before]):  # the row's own columns come first
        columns[fold(column.name)] = (number, column.type)
    scope.columns[at] = columns
    alias = None if node.alias is None else fold(node.alias.text)
    if alias is not None and alias not in scope.by_alias:
        scope.by_alias[alias] = at
        scope.element_columns[alias] = (at, added)
    elif alias is not None:
        hint = f"Give it another name: `UNNEST(...) AS {node.alias.text}2`." if node.alias else None
        scope.report("CQ033", node.span, alias=node.alias.text if node.alias else "", hint=hint)


def _refuse_unnest(scope: Scope, span: Span, detail: str) -> None:
    hint = "Write `FROM s, UNNEST(s.items) AS i`, or `LEFT JOIN UNNEST(s.items) AS i ON TRUE`."
    scope.report("CQ156", span, detail=detail, hint=hint)
    scope.has_unknown = True
