"""EXISTS and IN over an aggregate without GROUP BY that is compared with the query around.

Such a query has one row for each row around it, also where nothing is found: COUNT is 0 there and most others are NULL. Made a query
with groups (`asked_questions`), it would lose that row. So the question becomes two. `rows` has a group for each key; what the group
says is `holds`, what nothing would say is an ordinary condition.

    EXISTS (SELECT COUNT(*) FROM d WHERE d.room = s.room HAVING COUNT(*) < 2)
    NOT EXISTS (SELECT 1 FROM rows WHERE rows."key 0" = s.room AND rows.holds IS NOT TRUE)        the group does not say no
    AND EXISTS (SELECT 1 FROM all WHERE all."key 0" = s.room OR all.nothing AND 0 < 2)            there is one, or nothing says yes

`all` are the keys of the groups and one row more, where `nothing` is TRUE: an aggregate over no rows gives it.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from cqc.compiler.bind.questions.asked_questions import (
    correlated,
    has_aggregates,
    nothing_is_nothing,
)
from cqc.compiler.diagnostics.record import record
from cqc.compiler.functions.registered import user_functions
from cqc.compiler.functions.registry import AGGREGATE_FUNCTIONS
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.diagnostics.source import Span

    Pairs = Sequence[tuple[syntax.Expression, syntax.Expression]]

_ROWS, _HOLDS, _VALUE, _NOTHING = "rows", "holds", "value", "nothing"
_KEY = "key {}"
_ZERO_OF_NOTHING = ("count", "count_if", "approx_count_distinct")
_NOT_NULL_OF_NOTHING = ("collect_list", "array_agg", "collect_set")


@record
class Part:
    """A question that is asked instead, with whether it is negated."""

    node: syntax.Exists
    negated: bool


def parts_of(
    scope: Scope, node: syntax.Exists | syntax.InSelect, *, negated: bool
) -> list[Part] | None:
    """What is asked instead; None where the question can be asked as it is."""
    inner = node.select
    is_in = isinstance(node, syntax.InSelect)
    if inner.group_by or inner.union or inner.entries or inner.limit is not None:
        return None
    if not (inner.having or has_aggregates(inner)) or nothing_is_nothing(inner, is_in, negated):
        return None
    found = correlated(scope, inner)
    if found is None or not found[1] or not _is_known(inner):
        return None
    own, pairs = found
    asked = _Asked(node.span, inner, own, pairs)
    holds: syntax.Expression = asked.column(_HOLDS)
    of_nothing: syntax.Expression = over_nothing(asked.having)
    if isinstance(node, syntax.InSelect):
        first = inner.outputs[0]
        if len(inner.outputs) != 1 or not isinstance(first, syntax.SelectItem):
            return None  # the binder says what is wrong
        holds = _compared(holds, asked.column(_VALUE), node.operand, negated)
        value = over_nothing(first.expression)
        of_nothing = _compared(of_nothing, value, node.operand, negated)
        asked.value = first.expression
    elif negated:
        holds = syntax.Is(holds, "TRUE", True, node.span)
        of_nothing = syntax.Is(of_nothing, "TRUE", True, node.span)
    word = syntax.Name("EXISTS", node.span, False)
    no_group_says_no = syntax.Exists(word, asked.groups_where_not(holds), node.span)
    group_or_nothing = syntax.Exists(word, asked.all_where(of_nothing), node.span)
    return [Part(no_group_says_no, True), Part(group_or_nothing, False)]


def _compared(
    holds: syntax.Expression,
    value: syntax.Expression,
    asked: syntax.Expression,
    negated: bool,
) -> syntax.Expression:
    """Whether `asked [NOT] IN` a set of one value is TRUE; where HAVING is not TRUE the set is empty."""
    span = asked.span
    if not negated:
        return syntax.Logical("AND", (holds, syntax.Binary("=", asked, value, span)), span)
    is_empty = syntax.Is(holds, "TRUE", True, span)
    return syntax.Logical("OR", (is_empty, syntax.Binary("<>", asked, value, span)), span)


class _Asked:
    """The queries that are asked about, made of the one that was written."""

    def __init__(
        self, span: Span, inner: syntax.Select, own: syntax.Expression | None, pairs: Pairs
    ) -> None:
        self.span = span
        self.value: syntax.Expression | None = None
        self._inner = replace(inner, where=own, having=None, distinct=False, order_by=())
        self._pairs = pairs
        self.having = inner.having or self._counted(">=")

    def column(self, name: str) -> syntax.ColumnName:
        rows, column = self._name(_ROWS), self._name(name)
        return syntax.ColumnName(rows, column, self.span)

    def groups_where_not(self, holds: syntax.Expression) -> syntax.Select:
        """The groups of a row around, where they do not hold."""
        shown = [(self.having, _HOLDS)] + ([(self.value, _VALUE)] if self.value else [])
        rows = self._groups([*shown, *self._keys()])
        says_no = syntax.Is(holds, "TRUE", True, self.span)
        return self._reading(rows, syntax.Logical("AND", (*self._equal(), says_no), self.span))

    def all_where(self, of_nothing: syntax.Expression) -> syntax.Select:
        """The groups of a row around, or nothing where that holds."""
        groups = self._groups([(self._counted("<"), _NOTHING), *self._keys()])
        keys = [(self._null_like(key), name) for key, name in self._keys()]
        nothing = replace(
            self._inner, outputs=self._shown([(self._counted(">="), _NOTHING), *keys])
        )
        rows = replace(groups, union=(nothing,))
        here = syntax.Logical("AND", self._equal(), self.span)
        otherwise = syntax.Logical("AND", (self.column(_NOTHING), of_nothing), self.span)
        return self._reading(rows, syntax.Logical("OR", (here, otherwise), self.span))

    def _groups(self, shown: Sequence[tuple[syntax.Expression, str]]) -> syntax.Select:
        keys = tuple(key for key, _ in self._pairs)
        return replace(self._inner, outputs=self._shown(shown), group_by=keys)

    def _keys(self) -> list[tuple[syntax.Expression, str]]:
        return [(key, _KEY.format(at)) for at, (key, _) in enumerate(self._pairs)]

    def _equal(self) -> tuple[syntax.Expression, ...]:
        return tuple(
            syntax.Binary("=", self.column(_KEY.format(at)), other, self.span)
            for at, (_, other) in enumerate(self._pairs)
        )

    def _reading(self, rows: syntax.Select, where: syntax.Expression) -> syntax.Select:
        name, span = self._name(_ROWS), self.span
        one = syntax.SelectItem(syntax.NumberLiteral("1", span), None, span)
        return replace(
            self._inner,
            outputs=(one,),
            items=(syntax.FromItem(name, name, None, None, span, rows),),
            join_conditions=(),
            joins=(),
            where=where,
            window=None,
            max_window=None,
            unbounded=False,
        )

    def _shown(
        self, expressions: Sequence[tuple[syntax.Expression, str]]
    ) -> tuple[syntax.SelectItem, ...]:
        return tuple(
            syntax.SelectItem(each, self._name(name), each.span) for each, name in expressions
        )

    def _counted(self, operator: str) -> syntax.Expression:
        """`COUNT(*) >= 0`, which is always TRUE, or `COUNT(*) < 0`."""
        count = syntax.Call(syntax.Name("COUNT", self.span, False), (), True, False, self.span)
        return syntax.Binary(operator, count, syntax.NumberLiteral("0", self.span), self.span)

    def _null_like(self, key: syntax.Expression) -> syntax.Call:
        """NULL, of the type of a key: an aggregate over no rows."""
        name, never = (
            syntax.Name("any_value", self.span, False),
            syntax.BooleanLiteral(False, self.span),
        )
        return syntax.Call(name, (key,), False, False, self.span, where=never)

    def _name(self, text: str) -> syntax.Name:
        return syntax.Name(text, self.span, True)


# What aggregates say of nothing


def over_nothing(part: Any) -> Any:
    """An expression with what its aggregates are where there is no row."""
    if isinstance(part, syntax.Call) and fold(part.name.text) in AGGREGATE_FUNCTIONS:
        if fold(part.name.text) in _ZERO_OF_NOTHING:
            return syntax.NumberLiteral("0", part.span)
        return syntax.NullLiteral(part.span)
    if isinstance(part, tuple):
        return tuple(over_nothing(each) for each in part)
    if not is_dataclass(part) or isinstance(part, syntax.Name | syntax.Select):
        return part
    changed = {
        each.name: over_nothing(getattr(part, each.name))
        for each in fields(part)
        if each.name != "span"
    }
    return replace(part, **changed)  # type: ignore[type-var]


def _is_known(inner: syntax.Select) -> bool:
    """Whether it can be said what the aggregates are where there is no row."""
    unknown = {each.name for each in user_functions().values() if each.is_aggregate}
    unknown |= set(_NOT_NULL_OF_NOTHING)
    return not any(
        fold(call.name.text) in unknown for call in _calls((inner.outputs, inner.having))
    )


def _calls(part: Any) -> list[syntax.Call]:
    found = [part] if isinstance(part, syntax.Call) else []
    if isinstance(part, tuple):
        inner = part
    elif is_dataclass(part) and not isinstance(part, syntax.Name):
        inner = tuple(getattr(part, each.name) for each in fields(part) if each.name != "span")
    else:
        return found
    return found + [call for each in inner for call in _calls(each)]
