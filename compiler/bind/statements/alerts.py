"""CREATE ALERT: its clauses, and what an alert cannot have.

An alert is a push query over one stream or view; what is left of a query that it cannot have is a matter for a view.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.bind.expression import bind_condition
from cqc.compiler.bind.literals import duration_us
from cqc.compiler.bind.outputs import bind_outputs
from cqc.compiler.diagnostics.suggest import did_you_mean, listed
from cqc.compiler.meaning.alerts import FIELDS, PENDING, Alert, Text
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.bound import Expression, Item, Output

_VIEW = "Make it a view, and let the alert read that."


def check_alert(scope: Scope, node: syntax.CreateQuery) -> bool:
    """Whether the query has only what an alert can have; what is too much is reported."""
    found = len(scope.diagnostics)
    select = node.select
    for what, span in _too_much(select):
        scope.report("CQ171", span, what=what, hint=_VIEW)
    if len(select.items) != 1 or select.items[0].function is not None:
        item = select.items[-1]
        detail = "Its tuples are the observations of the alert."
        scope.report("CQ172", item.span, detail=detail, hint=_VIEW)
    elif select.items[0].range is not None or select.items[0].rows is not None:
        scope.report("CQ171", select.items[0].span, what="[RANGE] or [ROWS]", hint="Leave it out.")
    return len(scope.diagnostics) == found


def _too_much(select: syntax.Select) -> Iterator[tuple[str, Span]]:
    if select.union:
        yield "UNION ALL", select.union[0].span
    if select.distinct:
        yield "DISTINCT", select.outputs[0].span
    clauses: list[
        tuple[
            str,
            tuple[
                syntax.Expression
                | syntax.WindowEnd
                | syntax.OrderItem
                | syntax.GroupingSets
                | None,
                ...,
            ],
        ]
    ]
    clauses = [
        ("GROUP BY", select.group_by[:1]),
        ("HAVING", (select.having,)),
        ("QUALIFY", (select.qualify,)),
        ("ORDER BY", select.order_by[:1]),
        ("LIMIT", (select.limit,)),
        ("BEGIN-END", (select.begin,)),
        ("EVERY", (select.every,)),
        ("WINDOW", (select.window,)),
        ("MAXWINDOW", (select.max_window,)),
    ]
    for what, (*given,) in clauses:
        yield from ((what, each.span) for each in given if each is not None)
    if select.unbounded:
        yield "MAXWINDOW", select.span
    alert = select.alert
    conditions = (select.outputs, select.where, None if alert is None else (alert.clear, alert.per))
    for part in syntax.nodes_of(tuple(each for each in conditions if each is not None)):
        if isinstance(part, syntax.Exists):
            yield "EXISTS", part.span
        elif isinstance(part, syntax.InSelect):
            yield "IN (SELECT ...)", part.span
        elif isinstance(part, syntax.Over):
            yield "OVER", part.span


def bind_alert(
    scope: Scope, node: syntax.CreateQuery, items: list[Item], outputs: tuple[Output, ...] | None
) -> Alert | None:
    """The alert of a query whose FROM and SELECT are bound; None when something is wrong."""
    found = len(scope.diagnostics)
    clauses = node.select.alert
    if scope.first_aggregate is not None:
        scope.report("CQ171", scope.first_aggregate, what="an aggregate", hint=_VIEW)
    scope.aggregate_forbidden = "an alert"
    keys: tuple[Output, ...] | None = ()
    clear: Expression | None = None
    if clauses is not None:
        shown = scope.outputs
        keys = bind_outputs(scope, clauses.per) if clauses.per else ()
        scope.outputs = shown
        clear = (
            None if clauses.clear is None else bind_condition(scope, clauses.clear, "CLEAR WHEN")
        )
    scope.aggregate_forbidden = None
    durations = [
        None if each is None else _above_zero(scope, word, each)
        for word, each in _durations(clauses)
    ]
    texts, tells_pending = _texts(scope, node, outputs)
    if len(scope.diagnostics) > found or keys is None or outputs is None:
        return None
    hold_us, keep_us, once_us, no_data_us = durations
    return Alert(
        None if node.severity is None else node.severity.value,
        keys,
        hold_us,
        clear,
        keep_us,
        once_us,
        no_data_us,
        texts,
        tells_pending,
        items[0].relation.view is not None,
    )


def _durations(
    clauses: syntax.AlertClauses | None,
) -> tuple[tuple[str, syntax.Duration | None], ...]:
    words = ("FOR", "KEEP FIRING", "ONCE EVERY", "NO DATA AFTER")
    if clauses is None:
        return tuple((word, None) for word in words)
    given = (clauses.hold, clauses.keep, clauses.once, clauses.no_data)
    return tuple(zip(words, given, strict=True))


def warn_of_silence(scope: Scope, name: str, alert: Alert, span: Span) -> None:
    """A key that fires and is never heard of again fires for ever."""
    if alert.no_data_us is None:
        detail = (
            "It fires until an observation of the key ends that, and a key that is silent has none."
        )
        hint = "Add `NO DATA AFTER 15 MINUTES`."
        scope.report("CQ176", span, name=name, detail=detail, hint=hint)


def _above_zero(scope: Scope, clause: str, node: syntax.Duration) -> int | None:
    us = duration_us(scope, node)
    if us is not None and us <= 0:
        scope.report("CQ053", node.span, clause=clause, requirement="above 0")
        return None
    return us


# WITH (summary = '{room} is at {temperature}', pending = true)


def _texts(
    scope: Scope, node: syntax.CreateQuery, outputs: tuple[Output, ...] | None
) -> tuple[tuple[Text, ...], bool]:
    texts: list[Text] = []
    seen: set[str] = set()
    tells_pending = False
    for option in node.options:
        key = fold(option.key.text)
        if key in seen:
            scope.report("CQ026", option.key.span, key=option.key.text)
        elif key in FIELDS:
            detail = f"`alert` of a result has {', '.join(FIELDS)} already."
            hint = "Give the text another name."
            scope.report("CQ174", option.key.span, name=option.key.text, detail=detail, hint=hint)
        elif key == PENDING:
            if not isinstance(option.value, syntax.BooleanLiteral):
                hint = "Write `pending = true`."
                scope.report(
                    "CQ175", option.value.span, name="pending", expected="true or false", hint=hint
                )
            else:
                tells_pending = option.value.value
        elif not isinstance(option.value, syntax.StringLiteral):
            hint = f"Write `{option.key.text} = '...'`."
            scope.report(
                "CQ175", option.value.span, name=option.key.text, expected="a text", hint=hint
            )
        elif outputs is not None:
            text = _text(scope, option.key.text, option.value, outputs)
            texts += [] if text is None else [text]
        seen.add(key)
    return tuple(texts), tells_pending


def _text(
    scope: Scope, name: str, node: syntax.StringLiteral, outputs: tuple[Output, ...]
) -> Text | None:
    """A text with its columns found; None after saying what is wrong with it."""
    numbers = {fold(output.name): at for at, output in enumerate(outputs)}
    pieces, chosen = [""], []
    text, at = node.value, 0
    while at < len(text):
        here = text[at]
        if here in "{}" and text[at : at + 2] == here * 2:
            pieces[-1] += here
            at += 2
        elif here == "}":
            _bad_text(scope, node, name, "A single `}` closes nothing.")
            return None
        elif here == "{":
            end = text.find("}", at)
            if end < 0:
                _bad_text(scope, node, name, "A `{` is never closed.")
                return None
            column = text[at + 1 : end]
            if fold(column.strip()) not in numbers:
                known = [output.name for output in outputs]
                detail = (
                    f"`{{{column}}}` is no output of the SELECT list, which has {listed(known)}."
                )
                _bad_text(scope, node, name, detail, did_you_mean(column, known))
                return None
            chosen.append(numbers[fold(column.strip())])
            pieces.append("")
            at = end + 1
        else:
            pieces[-1] += here
            at += 1
    return Text(name, tuple(pieces), tuple(chosen))


def _bad_text(
    scope: Scope, node: syntax.StringLiteral, name: str, detail: str, hint: str | None = None
) -> None:
    hint = hint or "`{column}` is an output; `{{` and `}}` are braces."
    scope.report("CQ173", node.span, name=name, detail=detail, hint=hint)
