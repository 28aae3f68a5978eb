"""TUMBLE, HOP and SESSION in FROM: what they are given, in any of the accepted spellings.

    TUMBLE(s, 10 SEC)    TUMBLE(s, ts, INTERVAL '10' SECOND)    TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '10' SECOND))
    HOP(s, slide, size)                                         SESSION(s PARTITION BY k, gap)

A comma does not tell the keys of a session from the arguments after them: the last argument is the gap, a DESCRIPTOR before
it the event time, and everything before that a key.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.bind.expression import bind_expression
from cqc.compiler.bind.literals import duration_us, interval_of
from cqc.compiler.bind.operators import typed
from cqc.compiler.diagnostics.suggest import did_you_mean
from cqc.compiler.meaning.bound import WINDOW_COLUMNS, Decision, TableWindow, WindowKind
from cqc.compiler.meaning.catalog import Column, fold
from cqc.compiler.meaning.durations import SECOND_US
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.bound import Decided, Expression, Query
    from cqc.compiler.meaning.catalog import Relation

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
        if kind is not WindowKind.SESSION:
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
    is_descriptor = isinstance(node, syntax.Call) and node.name.text.upper() == "DESCRIPTOR"
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
