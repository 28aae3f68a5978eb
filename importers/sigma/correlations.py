"""Correlation rules as views: exact sliding spans per group, each group reported once per crossing.

Every event of the rules that are referenced goes into one view, with its group and what is counted. A window that ends at the
event and reaches back the whole span says whether the condition holds there; a group is reported where it holds and did not at
the event before, or where that one is out of the span: what is over is not still going on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sigma.correlations import (
    CorrelationConditionAND,
    CorrelationConditionNOT,
    CorrelationConditionOR,
    SigmaCorrelationConditionOperator,
    SigmaCorrelationRule,
    SigmaCorrelationType,
    SigmaExtendedCorrelationCondition,
    SigmaRuleReference,
)
from sigma.exceptions import SigmaFeatureNotSupportedByBackendError

from cqc.compiler.meaning.catalog import fold
from cqc.importers.program_text import identifier, text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cqc.importers.streams import Stream

_SIGNS = {
    SigmaCorrelationConditionOperator.LT: "<",
    SigmaCorrelationConditionOperator.LTE: "<=",
    SigmaCorrelationConditionOperator.GT: ">",
    SigmaCorrelationConditionOperator.GTE: ">=",
    SigmaCorrelationConditionOperator.EQ: "=",
    SigmaCorrelationConditionOperator.NEQ: "<>",
}
_NUMBERS = {
    SigmaCorrelationType.VALUE_SUM: "SUM(_value)",
    SigmaCorrelationType.VALUE_AVG: "AVG(_value)",
    SigmaCorrelationType.VALUE_MEDIAN: "median(_value)",
}
_SEPARATOR = "\x1f"


@dataclass
class Matches:
    """Where the events that match a rule can be read: a view, over a stream or with columns of its own."""

    view: str
    stream: Stream | None = None
    columns: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """Whether its events have a field; those of a stream have all."""
        return self.stream is not None or fold(name) in map(fold, self.columns)

    def has_any(self, names: Sequence[str]) -> bool:
        """Whether its events have one of some fields."""
        return any(self.has(each) for each in names)

    def field(self, name: str) -> str:
        """The expression that reads a field of its events."""
        if self.stream is not None:
            return self.stream.column(name)
        known = {fold(column): column for column in self.columns}
        if fold(name) not in known:
            raise SigmaFeatureNotSupportedByBackendError(
                f"the correlation {self.view} has no field {name} (it has {', '.join(self.columns)})"
            )
        return identifier(known[fold(name)])


@dataclass
class Correlated:
    """The views of a correlation rule, what its result has, and where it is read from."""

    views: list[str]
    select: str
    columns: tuple[str, ...]
    groups: tuple[str, ...]


def correlate(
    rule: SigmaCorrelationRule, name: str, matches: Callable[[SigmaRuleReference], Matches]
) -> Correlated:
    """The views and the reading query of a correlation rule."""
    return _Correlation(rule, name, matches).made()


class _Correlation:
    def __init__(
        self,
        rule: SigmaCorrelationRule,
        name: str,
        matches: Callable[[SigmaRuleReference], Matches],
    ) -> None:
        self.rule, self.name, self.matches = rule, name, matches
        self.groups: list[str] = list(dict.fromkeys(rule.group_by or ()))
        self.result = rule.type.name.lower()
        self.views: list[str] = []
        self.events = self._name("events")

    def made(self) -> Correlated:
        self._make_events()
        last, shown, condition = self._conditions()
        columns = [identifier(group) for group in self.groups]
        select = (
            f"SELECT {', '.join(['ts', *columns, *shown])}\nFROM   {last}\n"
            f"QUALIFY ({condition}) AND (ts - LAG(CASE WHEN {condition} THEN ts END) "
            f"OVER ({self._partition('ORDER BY ts')}) <= {self._seconds()}) IS NOT TRUE"
        )
        return Correlated(self.views, select, ("ts", *self.groups, *shown), tuple(self.groups))

    # The events

    def _make_events(self) -> None:
        branches = [self._branch(reference) for reference in self.rule.referenced_rules]
        if not branches:
            raise SigmaFeatureNotSupportedByBackendError("it references no rules")
        self._view(self.events, "\nUNION ALL\n".join(branches))

    def _branch(self, reference: SigmaRuleReference) -> str:
        source = self.matches(reference)
        columns = ["ts"]
        for group in self.groups:
            field = self._field_of(group, reference)
            columns.append(f"{source.field(field)} AS {identifier(group)}")
        value = self._value(source, reference)
        if value is not None:
            columns.append(f"{value} AS _value")
        columns.append(f"{self._tag(reference.reference)} AS _rule")
        return f"SELECT {', '.join(columns)}\nFROM   {identifier(source.view)}"

    def _tag(self, name: str) -> int:
        """The number of a referenced rule; numbers and not names, so that correlations of one kind look alike and are answered together."""
        return 1 + [each.reference for each in self.rule.referenced_rules].index(name)

    def _field_of(self, group: str, reference: SigmaRuleReference) -> str:
        """The field of a rule's events that an alias stands for, or the field itself."""
        alias = self.rule.aliases.aliases.get(group)
        if alias is None:
            return group
        for known, field in alias.mapping.items():
            others = (str(reference.rule.id), getattr(reference.rule, "name", None))
            if known.reference == reference.reference or known.reference in others:
                return str(field)
        raise SigmaFeatureNotSupportedByBackendError(
            f"the alias {group} names no field of {reference.reference}"
        )

    def _value(self, source: Matches, reference: SigmaRuleReference) -> str | None:
        """What is counted or computed with, if anything is."""
        fields = getattr(self.rule.condition, "fieldref", None)
        if fields is None or self.rule.type is SigmaCorrelationType.EVENT_COUNT:
            return None
        names = [fields] if isinstance(fields, str) else list(fields)
        columns = [source.field(self._field_of(each, reference)) for each in names]
        if self.rule.type is SigmaCorrelationType.VALUE_COUNT:
            if len(columns) == 1:
                return columns[0]
            parts = f", {text(_SEPARATOR)}, ".join(f"coalesce({each}, '')" for each in columns)
            return f"concat({parts})"
        if len(columns) > 1:
            raise SigmaFeatureNotSupportedByBackendError(
                f"{self.result} is computed of one field, not of {len(columns)}"
            )
        return f"TRY_CAST({columns[0]} AS DOUBLE)"

    # Where the condition holds

    def _conditions(self) -> tuple[str, list[str], str]:
        """The view to read, the columns to show beside the groups, and the condition."""
        condition = self.rule.condition
        ordered = self.rule.type is SigmaCorrelationType.TEMPORAL_ORDERED
        if ordered:
            return self._in_order()
        if isinstance(condition, SigmaExtendedCorrelationCondition):
            return self._extended(condition)
        counted = self._name("spans")
        self._view(
            counted, self._over(self.events, f"{self._aggregate()} {self._span()} AS {self.result}")
        )
        return counted, [self.result], f"{self.result} {self._threshold()}"

    def _aggregate(self) -> str:
        match self.rule.type:
            case SigmaCorrelationType.EVENT_COUNT:
                return "COUNT(*)"
            case SigmaCorrelationType.VALUE_COUNT:
                return "COUNT(DISTINCT _value)"
            case SigmaCorrelationType.TEMPORAL:
                return "COUNT(DISTINCT _rule)"
            case SigmaCorrelationType.VALUE_PERCENTILE:
                percent = self.rule.condition.percentile
                if percent is None:
                    raise SigmaFeatureNotSupportedByBackendError(
                        "the condition names no percentile"
                    )
                return f"percentile(_value, {percent / 100})"
            case kind:
                return _NUMBERS[kind]

    def _threshold(self) -> str:
        return f"{_SIGNS[self.rule.condition.op]} {self.rule.condition.count}"

    def _extended(self, condition: SigmaExtendedCorrelationCondition) -> tuple[str, list[str], str]:
        """AND, OR and NOT over which rules matched in the span."""
        seen = [
            f"COUNT_IF(_rule = {self._tag(name)}) {self._span()} > 0 AS {self._seen(name)}"
            for name in condition.get_referenced_rules()
        ]
        spans = self._name("spans")
        self._view(spans, self._over(self.events, *seen))
        return spans, [], self._formula(condition.parsed)

    def _formula(self, part: Any) -> str:
        match part:
            case SigmaRuleReference():
                return self._seen(part.reference)
            case CorrelationConditionNOT():
                return f"NOT {self._formula(part.args[0])}"
            case CorrelationConditionAND():
                return "(" + " AND ".join(map(self._formula, part.args)) + ")"
            case CorrelationConditionOR():
                return "(" + " OR ".join(map(self._formula, part.args)) + ")"
            case _:
                raise SigmaFeatureNotSupportedByBackendError(
                    f"the condition has {type(part).__name__}"
                )

    def _seen(self, name: str) -> str:
        return identifier(f"_has_{name}")

    def _in_order(self) -> tuple[str, list[str], str]:
        """Steps one after the other: each view carries how late the best chain so far began."""
        steps, absent = self._steps()
        before, began = self.events, "ts"
        for number, rules in enumerate(steps, 1):
            listing = ", ".join(str(self._tag(each)) for each in rules)
            value = f"CASE WHEN _rule IN ({listing}) THEN {began} END"
            step = self._name(f"step_{number}")
            began = f"_began_{number}"
            self._view(
                step,
                self._over(before, f"MAX({value}) {self._span()} AS {began}", carried=["_rule"]),
            )
            before = step
        shown = f"ts - {began} <= {self._seconds()}"
        extra = [
            f"COUNT_IF(_rule = {self._tag(each)}) {self._span()} = 0 AS {identifier('_no_' + each)}"
            for each in absent
        ]
        if extra:
            with_absence = self._name("spans")
            self._view(with_absence, self._over(before, *extra, carried=[began]))
            before = with_absence
            shown = " AND ".join([shown, *(identifier("_no_" + each) for each in absent)])
        done = self._name("done")
        columns = ", ".join(["ts", *map(identifier, self.groups)])
        self._view(done, f"SELECT {columns}, {shown} AS _in_order\nFROM   {before}")
        return done, [], "_in_order"

    def _steps(self) -> tuple[list[list[str]], list[str]]:
        """The rules of each step in order, and those that must not match in the span."""
        condition = self.rule.condition
        references = [each.reference for each in self.rule.referenced_rules]
        if not isinstance(condition, SigmaExtendedCorrelationCondition):
            is_all = _SIGNS[condition.op] in (">=", "=") and condition.count == len(references)
            if not is_all:
                raise SigmaFeatureNotSupportedByBackendError(
                    f"temporal_ordered over {len(references)} rules wants all of them, not {self._threshold()}"
                )
            return [[each] for each in references], []
        parsed = condition.parsed
        parts = parsed.args if isinstance(parsed, CorrelationConditionAND) else [parsed]
        steps: list[list[str]] = []
        absent: list[str] = []
        for part in parts:
            inner = part.args[0] if isinstance(part, CorrelationConditionNOT) else part
            rules = inner.args if isinstance(inner, CorrelationConditionOR) else [inner]
            if not all(isinstance(each, SigmaRuleReference) for each in rules):
                raise SigmaFeatureNotSupportedByBackendError(
                    "an ordered condition is AND over rules, NOT of rules, and OR of rules"
                )
            names = [each.reference for each in rules]
            if inner is part:
                steps.append(names)
            else:
                absent += names
        if not steps:
            raise SigmaFeatureNotSupportedByBackendError(
                "an ordered condition needs a rule that matches"
            )
        return steps, absent

    # Text

    def _over(self, source: str, *values: str, carried: Sequence[str] = ()) -> str:
        columns = ["ts", *map(identifier, self.groups), *carried, *values]
        return f"SELECT {', '.join(columns)}\nFROM   {source}"

    def _span(self) -> str:
        frame = f"ORDER BY ts RANGE BETWEEN {self._seconds()} PRECEDING AND CURRENT ROW"
        return f"OVER ({self._partition(frame)})"

    def _seconds(self) -> str:
        return f"{self.rule.timespan.seconds} SECONDS"

    def _partition(self, rest: str) -> str:
        if not self.groups:
            return rest
        return f"PARTITION BY {', '.join(map(identifier, self.groups))} {rest}"

    def _view(self, name: str, body: str) -> None:
        self.views.append(f"CREATE VIEW {name} AS\n{body};\n")

    def _name(self, ending: str) -> str:
        return identifier(f"{self.name}_{ending}")
