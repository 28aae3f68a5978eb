"""CREATE STREAM, CREATE TABLE and SET: from statements to the catalog.

A declaration with a mistake is kept as *broken*: its name and columns are known, so that the queries that use it are
still checked, and nothing is reported about them that only follows from the mistake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.bind.literals import bind_number, duration_us, scaled
from cqc.compiler.bind.nested import wrong_type
from cqc.compiler.bind.options.options import bind_options
from cqc.compiler.bind.options.sinks import bind_sink
from cqc.compiler.bind.scope import Environment, Scope
from cqc.compiler.diagnostics.diagnostic import Severity
from cqc.compiler.diagnostics.suggest import did_you_mean, listed
from cqc.compiler.meaning.catalog import Column, Relation, Settings, fold, with_fields
from cqc.compiler.meaning.times.durations import SECOND_US
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.catalog import SinkDeclaration

_TIME_TYPES = (ColumnType.TIMESTAMP, ColumnType.BIGINT, ColumnType.DOUBLE)
_SETTINGS = {
    "RETENTION": "1 HOUR",
    "IDLE": "30 SECONDS",
    "MAX_AHEAD": "1 DAY",
    "KEY_IDLE": "1 DAY",
}  # with an example
_MAY_BE_ZERO = ("RETENTION", "MAX_AHEAD")


class Declarations:
    """The streams, tables and settings of a program, while they are collected."""

    def __init__(self) -> None:
        self.relations: dict[str, Relation] = {}
        self.broken: dict[str, Relation | None] = {}
        self.sinks: dict[str, SinkDeclaration] = {}
        self.broken_sinks: set[str] = set()
        self._chosen: dict[str, int] = {}  # settings
        self._places: dict[str, Span] = {}  # where each name was declared first
        self._scope = Scope(Environment({}, {}, {}))

    @property
    def diagnostics(self) -> list[Diagnostic]:
        return self._scope.diagnostics

    @property
    def settings(self) -> Settings:
        return Settings(*map(self._chosen.get, _SETTINGS))

    def create(self, node: syntax.CreateRelation, folder: str) -> None:
        """Add a stream or table."""
        scope = self._scope
        found = len(scope.diagnostics)
        name = fold(node.name.text)
        declared_before = name in self._places
        self._places.setdefault(name, node.name.span)
        if declared_before:
            hint = "Rename one of the two, or leave one out."
            detail = f"The first one is at {self._places[name].place}."
            scope.report("CQ020", node.name.span, name=node.name.text, detail=detail, hint=hint)
        relation = _relation(scope, node, folder)
        if declared_before:
            return
        errors = [each for each in scope.diagnostics[found:] if each.severity is Severity.ERROR]
        if relation is None or errors:  # a warning leaves it as it is: its queries must run
            self.broken[name] = relation
        else:
            self.relations[name] = relation

    def create_sink(self, node: syntax.CreateSink, folder: str) -> None:
        """Add a sink. Sinks have names of their own: a stream may be called like one."""
        name = fold(node.name.text)
        if name in self.sinks or name in self.broken_sinks:
            hint = "Rename one of the two, or leave one out."
            self._scope.report("CQ020", node.name.span, name=f"sink {node.name.text}", hint=hint)
            return
        sink = bind_sink(self._scope, node, folder)
        if sink is None:
            self.broken_sinks.add(name)
        else:
            self.sinks[name] = sink

    def claim(self, name: syntax.Name) -> bool:
        """Note the name of a view, which no stream, table or other view may have; whether it was free."""
        first = self._places.setdefault(fold(name.text), name.span)
        if first is not name.span:
            hint = "Rename one of the two, or leave one out."
            detail = f"The first one is at {first.place}."
            self._scope.report("CQ020", name.span, name=name.text, detail=detail, hint=hint)
        return first is name.span

    def set(self, node: syntax.SetOption) -> None:
        """Take a SET statement; a later one of the same name wins."""
        scope = self._scope
        name = node.name.text.upper()
        if name not in _SETTINGS:
            *names, last = _SETTINGS
            detail = f"There are {', '.join(names)} and {last}."
            hint = did_you_mean(name, tuple(_SETTINGS))
            scope.report("CQ027", node.name.span, name=node.name.text, detail=detail, hint=hint)
            return
        us = _setting(scope, node, name)
        if us is not None:
            self._chosen[name] = us


def _setting(scope: Scope, node: syntax.SetOption, name: str) -> int | None:
    example = f"`SET {name} = {_SETTINGS[name]}`."
    value = _inner(node.value)
    if not isinstance(value, syntax.Duration):
        scope.report("CQ028", node.value.span, name=name, hint=example)
        return None
    us = duration_us(scope, value)
    least = 0 if name in _MAY_BE_ZERO else 1
    if us is not None and us < least:
        requirement = "greater than 0" if least else "that is not negative"
        scope.report("CQ053", value.span, clause=f"SET {name}", requirement=requirement)
        return None
    return us


def _inner(node: syntax.Expression) -> syntax.Expression:
    while isinstance(node, syntax.Parenthesised):
        node = node.inner
    return node


def _relation(scope: Scope, node: syntax.CreateRelation, folder: str) -> Relation | None:
    columns = _columns(scope, node)
    options = bind_options(scope, node)
    delay_us = 0
    event_time: int | None = None
    if node.is_stream:
        event_time, delay_us = _event_time(scope, node, columns)
        if event_time is None:
            if not columns:
                return None
            event_time = 0  # a guess, so that queries can be checked; the stream is broken
    else:
        _refuse_watermarks(scope, node)
    name = node.name
    return Relation(name.text, columns, event_time, delay_us, options, folder, name.span)


def _columns(scope: Scope, node: syntax.CreateRelation) -> tuple[Column, ...]:
    columns: dict[str, Column] = {}
    for declared in node.columns:
        name = declared.name.text
        if fold(name) in columns:
            scope.report("CQ021", declared.name.span, column=name, relation=node.name.text)
        else:
            columns[fold(name)] = Column(name, declared.type, _path(scope, declared))
            wrong = wrong_type(declared.type)
            if wrong is not None:
                shown = declared.type.value
                scope.report("CQ155", declared.span, type=shown, detail=wrong)
    return with_fields(tuple(columns.values()))


def _path(scope: Scope, declared: syntax.ColumnDeclaration) -> tuple[str, ...] | None:
    """The keys that FROM names, one inside the other."""
    if declared.path is None:
        return None
    keys = tuple(declared.path.value.split("."))
    if all(keys):
        return keys
    scope.report(
        "CQ071",
        declared.path.span,
        key="FROM",
        expected="names with points between them",
        text=declared.path.value,
        hint=f"`{declared.name.text} {declared.type.value} FROM 'Event.System.EventID'`.",
    )
    return None


def _refuse_watermarks(scope: Scope, node: syntax.CreateRelation) -> None:
    for watermark in node.watermarks:
        hint = f"Use `CREATE STREAM {node.name.text}` if its rows arrive over time."
        scope.report("CQ025", watermark.span, table=node.name.text, hint=hint)


def _event_time(
    scope: Scope, node: syntax.CreateRelation, columns: tuple[Column, ...]
) -> tuple[int | None, int]:
    """The position of the event-time column (None after saying what is wrong) and the delay."""
    if node.watermarks:
        return _by_watermark(scope, node, columns)
    names = [fold(column.name) for column in columns]
    timestamps = [at for at, c in enumerate(columns) if c.type is ColumnType.TIMESTAMP]
    if "ts" in names:
        position = names.index("ts")
        return (position if _can_be_time(scope, node, columns[position]) else None), 0
    if len(timestamps) == 1:
        return timestamps[0], 0
    _report_no_event_time(scope, node, columns, timestamps)
    return None, 0


def _report_no_event_time(
    scope: Scope, node: syntax.CreateRelation, columns: tuple[Column, ...], timestamps: list[int]
) -> None:
    if timestamps:
        names = " and ".join(columns[at].name for at in timestamps)
        detail = f"{names} are TIMESTAMP, none is named ts, and no WATERMARK FOR chooses one."
        name = columns[timestamps[0]].name
        hint = f"Add `WATERMARK FOR {name} AS {name} - 2 SECONDS`."
    else:
        detail = "It has no column named ts, no TIMESTAMP column and no WATERMARK FOR."
        hint = "Add `ts TIMESTAMP`, or name a column that counts seconds with WATERMARK FOR."
    scope.report("CQ022", node.name.span, stream=node.name.text, detail=detail, hint=hint)


def _can_be_time(scope: Scope, node: syntax.CreateRelation, column: Column) -> bool:
    if column.type in _TIME_TYPES:
        return True
    if column.type is ColumnType.NULL:  # its type is unknown, and that was said
        return False
    declared = next(c for c in node.columns if fold(c.name.text) == fold(column.name))
    scope.report(
        "CQ023",
        declared.span,
        column=column.name,
        stream=node.name.text,
        type=column.type.value,
        detail="Event time is a TIMESTAMP, or a BIGINT or DOUBLE that counts seconds.",
        hint=f"Declare it `{column.name} TIMESTAMP`.",
    )
    return False


def _by_watermark(
    scope: Scope, node: syntax.CreateRelation, columns: tuple[Column, ...]
) -> tuple[int | None, int]:
    watermark, *others = node.watermarks
    for other in others:
        detail = f"The first one is at {watermark.span.place}."
        scope.report("CQ020", other.span, name=f"the watermark of {node.name.text}", detail=detail)
    names = [column.name for column in columns]
    wanted = fold(watermark.column.text)
    position = next((at for at, name in enumerate(names) if fold(name) == wanted), None)
    if position is None:
        scope.report(
            "CQ031",
            watermark.column.span,
            place=node.name.text,
            column=watermark.column.text,
            detail=f"Columns of {node.name.text}: {listed(names)}.",
            hint=did_you_mean(watermark.column.text, names),
        )
        return None, 0
    if not _can_be_time(scope, node, columns[position]):
        return None, 0
    return position, _delay(scope, node, watermark)


def _delay(scope: Scope, node: syntax.CreateRelation, watermark: syntax.Watermark) -> int:
    """The d of `c - d`."""
    definition = _inner(watermark.definition)
    column = definition
    delay: int | None = 0
    found = len(scope.diagnostics)
    if isinstance(definition, syntax.Binary) and definition.operator == "-":
        column = _inner(definition.left)
        delay = _size_us(scope, _inner(definition.right))
    named = isinstance(column, syntax.ColumnName) and (
        fold(column.column.text) == fold(watermark.column.text)
        and (column.qualifier is None or fold(column.qualifier.text) == fold(node.name.text))
    )
    if delay is not None and delay < 0:
        requirement = "that is not negative"
        scope.report("CQ053", definition.span, clause="WATERMARK", requirement=requirement)
    elif (delay is None or not named) and len(scope.diagnostics) == found:
        name = watermark.column.text
        hint = f"`WATERMARK FOR {name} AS {name} - 2 SECONDS`."
        scope.report(
            "CQ024", watermark.definition.span, stream=node.name.text, column=name, hint=hint
        )
    return delay or 0


def _size_us(scope: Scope, node: syntax.Expression) -> int | None:
    """A duration, or a bare number of seconds."""
    if isinstance(node, syntax.Duration):
        return duration_us(scope, node)
    if isinstance(node, syntax.NumberLiteral) and bind_number(scope, node) is not None:
        return scaled(node.text, SECOND_US)
    return None
