"""Sequences of EQL as joins of a stream with itself: each event later than the one before, absent ones as NOT EXISTS.

    sequence by k with maxspan=5m [a where x] [b where y] until [c where z]

    SELECT e1.k AS k, e1.ts AS ts_1, e2.ts AS ts_2, ...
    FROM   events AS e1, events AS e2
    WHERE  x of e1 AND y of e2 AND e1.k = e2.k
      AND  NOT EXISTS (SELECT 1 FROM events AS u WHERE z of u AND u.k = e1.k WINDOW u.ts > e1.ts AND u.ts < e2.ts)
    WINDOW e1.ts < e2.ts
    MAXWINDOW 300 SECONDS

`with runs=n` is a view in which an event knows when the n-1 before it of its keys began, so that a run is found once for each event
that ends one, and not once for each choice of n among many.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cqc.importers.eql.conditions import TIMESTAMP, Conditions
from cqc.importers.eql.parse import EqlError
from cqc.importers.eql.syntax import ANY, AllOf, Compared, Field, Literal
from cqc.importers.program_text import duration, identifier

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.importers.eql.syntax import EventQuery, Expression, Sequence, Step
    from cqc.importers.streams import Stream

BEGAN = "_began"  # when the first event of a run was


@dataclass(frozen=True)
class Events:
    """Where the events of a category are, and the condition that picks them."""

    stream: Stream
    category_condition: Expression


@dataclass
class Made:
    """The views of a query and the query itself; columns are what it has to offer."""

    views: list[str]
    select: str
    columns: list[str] = field(default_factory=list)


def event_statement(query: EventQuery, events: Callable[[str], Events]) -> Made:
    """An event query as a SELECT."""
    place = events(query.category)
    where = _conditions(query, place, Conditions(place.stream))
    select = f"SELECT *\nFROM   {identifier(place.stream.name)}"
    return Made([], f"{select}\nWHERE  {' AND '.join(where)}" if where else select)


def sequence_statement(name: str, sequence: Sequence, events: Callable[[str], Events]) -> Made:
    """A sequence as views and a SELECT."""
    return _Joined(name, sequence, events).made()


def _conditions(query: EventQuery, place: Events, conditions: Conditions) -> list[str]:
    condition = query.condition
    inner = condition.parts if isinstance(condition, AllOf) else (condition,)
    parts = [place.category_condition, *inner]
    return [conditions.operand(part) for part in parts if part != Literal(True)]


class _Joined:
    def __init__(self, name: str, sequence: Sequence, events: Callable[[str], Events]) -> None:
        self._name, self._events, self._sequence = name, events, sequence
        self._steps = [step for step in sequence.steps if not step.is_absent]
        self._views: list[str] = []
        self._where: list[str] = []
        self._check()

    def _check(self) -> None:
        sequence = self._sequence
        if not self._steps:
            raise EqlError("a sequence needs an event that comes")
        if sum(step.runs for step in self._steps) + len(sequence.steps) - len(self._steps) < 2:
            raise EqlError("a sequence needs two events")
        every = [*sequence.steps, *([sequence.until] if sequence.until else [])]
        if len({len(step.keys) for step in every}) > 1:
            raise EqlError("the events of a sequence have different numbers of keys")
        if sequence.span_us is None and (len(every) > len(self._steps)):
            raise EqlError("an event that must not come, or `until`, needs maxspan")

    def made(self) -> Made:
        items, shown = [], []
        for number, step in enumerate(self._steps, 1):
            alias = f"e{number}"
            conditions = Conditions(self._events(step.query.category).stream, alias)
            items.append(f"{self._item(number, step, conditions)} AS {alias}")
            if number == 1:
                shown += self._shown_keys(step, conditions)
            shown += self._shown_columns(number, step, conditions)
            self._join(number, step, conditions)
        self._bound_runs()
        self._absences()
        select = f"SELECT {', '.join(shown)}\nFROM   {', '.join(items)}"
        if self._where:
            select += "\nWHERE  " + "\n  AND  ".join(self._where)
        if len(items) > 1:
            orders = [self._order(number) for number in range(1, len(items))]
            select += f"\nWINDOW {' AND '.join(orders)}\nMAXWINDOW {self._span()}"
        columns = [key.name for key in self._steps[0].keys]
        return Made(self._views, select, columns)

    # The events that come

    def _item(self, number: int, step: Step, conditions: Conditions) -> str:
        """What stands in FROM: the stream, or a view of the ends of runs."""
        place = self._events(step.query.category)
        if step.runs == 1:
            self._where += _conditions(step.query, place, conditions)
            return identifier(place.stream.name)
        inner = Conditions(place.stream)
        where = _conditions(step.query, place, inner)
        where += [
            f"{inner.column(key.name)} IS NOT NULL" for key in step.keys if not key.is_optional
        ]
        for name in inner.used:
            conditions.column(name)
        keys = ", ".join(inner.column(key.name) for key in step.keys)
        partition = f"PARTITION BY {keys} " if keys else ""
        view = f"{self._name}_run_{number}"
        began = f"LAG(ts, {step.runs - 1}) OVER ({partition}ORDER BY ts) AS {BEGAN}"
        picked = f"\nWHERE  {' AND '.join(where)}" if where else ""
        self._views.append(
            f"CREATE VIEW {identifier(view)} AS\nSELECT *, {began}\nFROM   {identifier(place.stream.name)}{picked};\n"
        )
        self._where.append(f"e{number}.{BEGAN} IS NOT NULL")
        return identifier(view)

    def _join(self, number: int, step: Step, conditions: Conditions) -> None:
        if number == 1:
            # Keys that are compared are there; alone they have to be.
            if len(self._steps) == 1 and step.runs == 1:
                self._where += [
                    f"{conditions.column(key.name)} IS NOT NULL"
                    for key in step.keys
                    if not key.is_optional
                ]
            return
        self._where += self._same_keys(step, conditions)
        if step.runs > 1:
            self._where.append(f"e{number}.{BEGAN} > e{number - 1}.ts")

    def _same_keys(self, step: Step, conditions: Conditions) -> list[str]:
        first = self._steps[0]
        other = Conditions(self._events(first.query.category).stream, "e1")
        return [
            f"{other.column(mine.name)} {'<=>' if mine.is_optional and key.is_optional else '='} {conditions.column(key.name)}"
            for mine, key in zip(first.keys, step.keys, strict=True)
        ]

    def _order(self, number: int) -> str:
        return f"e{number}.ts < e{number + 1}.ts"

    def _bound_runs(self) -> None:
        """A run reaches back: the span is counted from its first event."""
        span = self._sequence.span_us
        if self._steps[0].runs > 1 and span is not None:
            self._where.append(f"e{len(self._steps)}.ts - e1.{BEGAN} <= {duration(span)}")

    def _span(self) -> str:
        span = self._sequence.span_us
        return "UNBOUNDED" if span is None else duration(span)

    # The events that must not come

    def _absences(self) -> None:
        sequence, last = self._sequence, len(self._steps)
        before = 0
        for step in sequence.steps:
            if not step.is_absent:
                before += 1
                continue
            if before == 0:
                reach = [f"u.ts >= e{last}.ts - {self._span()}", *self._before(1)]
            elif before == last:
                reach = [f"u.ts > e{last}.ts", *self._up_to_span()]
            else:
                reach = [f"u.ts > e{before}.ts", *self._before(before + 1)]
            self._add_absence(step, reach)
        if sequence.until is not None:
            if last == 1 and self._steps[0].runs == 1:
                raise EqlError("until needs two events before it")
            self._add_absence(sequence.until, [self._after_first(), f"u.ts < e{last}.ts"])

    def _before(self, number: int) -> list[str]:
        bound = [f"u.ts < e{number}.ts"]
        return [*bound, f"u.ts < e{number}.{BEGAN}"] if self._steps[number - 1].runs > 1 else bound

    def _after_first(self) -> str:
        if self._steps[0].runs > 1:
            raise EqlError("until with a sequence that begins with runs cannot be said")
        return "u.ts > e1.ts"

    def _up_to_span(self) -> list[str]:
        last = len(self._steps)
        first, span = self._steps[0], self._span()
        if first.runs > 1:
            return [f"u.ts <= e{last}.ts + {span}", f"u.ts - e1.{BEGAN} <= {span}"]
        return [f"u.ts <= e1.ts + {span}"]

    def _add_absence(self, step: Step, reach: list[str]) -> None:
        place = self._events(step.query.category)
        conditions = Conditions(place.stream, "u")
        where = _conditions(step.query, place, conditions)
        where += self._same_keys(step, conditions)
        where += [each for each in reach if BEGAN in each]  # no event time: an ordinary condition
        window = " AND ".join(each for each in reach if BEGAN not in each)
        picked = f" WHERE {' AND '.join(where)}" if where else ""
        source = identifier(place.stream.name)
        self._where.append(f"NOT EXISTS (SELECT 1 FROM {source} AS u{picked} WINDOW {window})")

    # What is shown

    def _shown_keys(self, step: Step, conditions: Conditions) -> list[str]:
        names = dict.fromkeys(key.name for key in step.keys if key.name != TIMESTAMP)
        return [f"{conditions.column(name)} AS {identifier(name)}" for name in names]

    def _shown_columns(self, number: int, step: Step, conditions: Conditions) -> list[str]:
        """When the event was, and what the condition looks at."""
        shown = [f"e{number}.ts AS ts_{number}"]
        if step.runs > 1:
            shown.append(f"e{number}.{BEGAN} AS began_{number}")
        keys = {key.name for key in self._steps[0].keys}
        return shown + [
            f"{conditions.column(name)} AS {identifier(f'{name}_{number}')}"
            for name in conditions.used
            if name not in keys
        ]


def category_condition(field: str, category: str) -> Expression:
    """The condition that an event is of a category."""
    if category == ANY:
        return Literal(True)
    return Compared("==", Field(field), Literal(category))
