"""Expressions, formulas, durations and time bounds in words, as the language would write them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import (
    FIELD,
    ITEM,
    LAMBDA,
    MATCH_CALLS,
    VARIABLE,
    WINDOW_COLUMNS,
    Aggregate,
    AggregateFunction,
    And,
    Arithmetic,
    Case,
    Cast,
    ColumnRef,
    Comparison,
    EndKind,
    Expression,
    FunctionCall,
    InList,
    IsDistinct,
    IsNull,
    IsTruth,
    Literal,
    Match,
    Negate,
    Not,
    Or,
    Over,
    UserCall,
)
from cqc.compiler.meaning.normal import (
    AllOf,
    AnyOf,
    ElementAtom,
    ExpressionAtom,
    FoldedAtom,
    NetAtom,
    PatternAtom,
    ValueAtom,
)
from cqc.compiler.meaning.sortable import decimal_text
from cqc.compiler.meaning.times.instants import format_day, format_instant
from cqc.compiler.meaning.types import ArrayType, ColumnType, DecimalType, StructType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cqc.compiler.meaning.bound import Frame, FrameEnd
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import Formula, Interval, Value

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")
_MOST_PARTS = 8  # of a long list that are shown
_UNITS = (
    (86_400_000_000, "d"),
    (3_600_000_000, "h"),
    (60_000_000, "min"),
    (1_000_000, "s"),
    (1_000, "ms"),
)


_BIT_OPERATORS = frozenset("&|^")


def duration_text(us: int) -> str:
    """A duration in the largest unit that it is a whole number of: `6 s`, `1.5 s`, `250 ms`."""
    for size, unit in _UNITS:
        if us and us % size == 0:
            return f"{us // size} {unit}"
    if us > 1 and (us + 1) % 1_000 == 0:  # what a strict comparison leaves
        return f"just under {duration_text(us + 1)}"
    if abs(us) >= 1_000_000:
        return f"{us / 1_000_000:.6f}".rstrip("0") + " s"
    return f"{us} us" if us else "0 s"


def constant_text(value: Value | None, type_: ColumnType) -> str:
    """A constant as the language writes it."""
    if value is None:
        return "NULL"
    if type_ is ColumnType.TIMESTAMP and isinstance(value, int):
        return f"TIMESTAMP '{format_instant(value)}'"
    if type_ is ColumnType.DATE and isinstance(value, int):
        return f"DATE '{format_day(value)}'"
    if type_ is ColumnType.INTERVAL and isinstance(value, int):
        return duration_text(value)
    if isinstance(type_, DecimalType) and isinstance(value, str):
        return f"{decimal_text(value, type_.scale)}BD"
    if type_ is ColumnType.BINARY and isinstance(value, str):
        return f"unhex('{value}')"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def name_text(name: str) -> str:
    """A name, quoted where it has to be."""
    return name if _PLAIN_NAME.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def item_names(relations: Sequence[Relation]) -> list[str]:
    """What to call the inputs of a join that has no aliases: `B`, or `B#1` and `B#2` in a self-join."""
    names = [relation.title for relation in relations]
    return [
        name_text(name) + (f"#{names[:at].count(name) + 1}" if names.count(name) > 1 else "")
        for at, name in enumerate(names)
    ]


def expression_text(
    expression: Expression, relations: Sequence[Relation], aliases: Sequence[str] | None = None
) -> str:
    """An expression with its columns named; without aliases by the relations, numbered where one is there twice."""
    names = [name_text(alias) for alias in aliases] if aliases else item_names(relations)

    def write(part: Expression) -> str:
        match part:
            case Literal(value=value, type=type_):
                return constant_text(value, type_)
            case ColumnRef(item=item, column=column):
                return f"{names[item]}.{_column_name(relations[item], column)}"
            case Arithmetic(op=op, left=left, right=right):
                return f"{inner(left)} {op.value} {inner(right)}"
            case Comparison(left=left, op=op, right=right):
                return f"{inner(left)} {op.value} {inner(right)}"
            case Negate(operand=operand):
                return f"-{inner(operand)}"
            case And(operands=operands):
                return shortened([inner(each) for each in operands], " AND ")
            case Or(operands=operands):
                return shortened([inner(each) for each in operands], " OR ")
            case Not(operand=operand):
                return f"NOT {inner(operand)}"
            case InList(operand=operand, values=values):
                return f"{inner(operand)} IN ({shortened([write(v) for v in values], ', ')})"
            case Match(kind=kind, operand=operand, pattern=pattern):
                return f"{inner(operand)} {kind.value} {constant_text(pattern, ColumnType.STRING)}"
            case IsNull(operand=operand):
                return f"{inner(operand)} IS NULL"
            case IsTruth(operand=operand, value=truth):
                return f"{inner(operand)} IS {'TRUE' if truth else 'FALSE'}"
            case IsDistinct(left=left, right=right):
                return f"{inner(left)} IS DISTINCT FROM {inner(right)}"
            case Case(branches=branches, otherwise=otherwise):
                whens = " ".join(
                    f"WHEN {write(when)} THEN {write(then)}" for when, then in branches
                )
                return f"CASE {whens} ELSE {write(otherwise)} END"
            case Cast(operand=operand, type=type_, is_tried=is_tried):
                return f"{'TRY_' if is_tried else ''}CAST({write(operand)} AS {type_.value})"
            case FunctionCall(name="instant", arguments=(column,)):
                return write(column)
            case FunctionCall(name=name, arguments=(operand, pattern, _)) if name in MATCH_CALLS:
                return f"{inner(operand)} {name.upper()} {inner(pattern)}"
            case FunctionCall(name="~", arguments=(operand,)):
                return f"~{inner(operand)}"
            case FunctionCall(name="&" | "|" | "^" as name, arguments=(left, right)):
                return f"{inner(left)} {name} {inner(right)}"
            case FunctionCall(name=name) if name in _NESTED:
                return nested_text(part, write, inner)
            case (
                FunctionCall(name=name, arguments=arguments)
                | UserCall(name=name, arguments=arguments)
            ):
                return f"{name}({', '.join(write(each) for each in arguments)})"
            case Aggregate(function=AggregateFunction.COUNT_ALL):
                return "COUNT(*)"
            case Aggregate(distinct=distinct):
                shown = ", ".join(write(each) for each in (part.argument, *part.more) if each)
                return f"{part.name}({'DISTINCT ' if distinct else ''}{shown})"
            case Over():
                return over_text(part, write)

    def inner(part: Expression) -> str:
        simple = isinstance(part, Literal | ColumnRef | FunctionCall | UserCall | Cast | Aggregate)
        simple = simple and not (isinstance(part, FunctionCall) and part.name in _BIT_OPERATORS)
        return write(part) if simple else f"({write(part)})"

    return write(expression)


def _column_name(relation: Relation, column: int) -> str:
    own = len(relation.columns)
    if column < own:
        return path_text(relation, column)
    name: str = WINDOW_COLUMNS[column - own]
    return name


_NESTED = (FIELD, ITEM, LAMBDA, VARIABLE)


def nested_text(
    call: FunctionCall, write: Callable[[Expression], str], inner: Callable[[Expression], str]
) -> str:
    """A part of a nested value, a lambda or its variable (`x`, `y`, ... from the outside, the places of elements `i`, `j`, ...)."""
    first = call.arguments[0]
    if call.name == FIELD:
        number = call.arguments[1]
        type_ = first.type.element if isinstance(first.type, ArrayType) else first.type
        assert isinstance(type_, StructType)
        assert isinstance(number, Literal)
        assert isinstance(number.value, int)
        return f"{inner(first)}.{name_text(type_.fields[number.value][0])}"
    if call.name == ITEM:
        return f"{inner(first)}[{write(call.arguments[1])}]"
    assert isinstance(first, Literal)
    assert isinstance(first.value, int)
    letter = ("ijk" if first.value % 2 else "xyz")[first.value // 2 % 3]
    if call.name == VARIABLE:
        return letter
    body = write(call.arguments[1])
    return f"{letter} -> {body}"


def path_text(relation: Relation, column: int) -> str:
    """The names that lead to a column, each quoted where it has to be."""
    return ".".join(map(name_text, relation.path(column)))


def over_text(over: Over, write: Callable[[Expression], str]) -> str:
    """A function with OVER, its parts written by somebody else."""
    if over.aggregate is not None:
        called = write(over.aggregate)
    else:
        assert over.function is not None
        called = f"{over.function.value}({', '.join(map(write, over.arguments))})"
    parts = []
    if over.partition:
        parts.append(f"PARTITION BY {', '.join(map(write, over.partition))}")
    if over.by_time or over.order:
        keys = [
            f"{write(each.expression)}{' DESC' if each.descending else ''}" for each in over.order
        ]
        parts.append(f"ORDER BY {', '.join(keys) or 'event time'}")
    if over.frame is not None:
        parts.append(frame_text(over.frame, is_time=over.by_time))
    return f"{called} OVER ({' '.join(parts)})"


def frame_text(frame: Frame, *, is_time: bool) -> str:
    """A frame, its distances as durations where the order is a time."""

    def end_text(end: FrameEnd) -> str:
        if end.kind in (EndKind.BEFORE, EndKind.AFTER):
            by_duration = is_time and not frame.by_rows
            amount = duration_text(int(end.amount)) if by_duration else f"{end.amount:,}"
            return f"{amount} {end.kind.value}"
        return f"{end.kind.value}"

    unit = "ROWS" if frame.by_rows else "RANGE"
    return f"{unit} BETWEEN {end_text(frame.start)} AND {end_text(frame.end)}"


def shortened(parts: Sequence[str], separator: str) -> str:
    """The parts joined, the middle of a long list left out."""
    if len(parts) <= _MOST_PARTS:
        return separator.join(parts)
    left_out = len(parts) - _MOST_PARTS + 1
    return separator.join([*parts[: _MOST_PARTS - 2], f"... {left_out} more ...", parts[-1]])


def formula_text(formula: Formula, relation: Relation) -> str:
    """A formula as a condition: `pressure < 60 AND (temp > 39 OR temp IS NULL)`."""
    match formula:
        case AllOf(parts=()):
            return "TRUE"
        case AnyOf(parts=()):
            return "FALSE"
        case AllOf(parts=parts):
            return shortened([_inner_formula(part, relation) for part in parts], " AND ")
        case AnyOf(parts=parts):
            return shortened([_inner_formula(part, relation) for part in parts], " OR ")
        case (
            ExpressionAtom(expression=expression, negated=negated)
            | ElementAtom(expression=expression, negated=negated)
        ):
            text = expression_text(expression, (relation,))
            return f"({text}) IS NOT TRUE" if negated else text
        case PatternAtom(column=column, kind=kind, pattern=pattern, negated=negated):
            name = path_text(relation, column)
            word = f"NOT {kind.value}" if negated else kind.value
            null = f" OR {name} IS NULL" if formula.matches_null else ""
            return f"{name} {word} {constant_text(pattern, ColumnType.STRING)}{null}"
        case FoldedAtom():
            return _folded_text(formula, path_text(relation, formula.column))
        case NetAtom():
            return _nets_text(formula, path_text(relation, formula.column))
        case ValueAtom():
            return _values_text(formula, path_text(relation, formula.column))


def _inner_formula(formula: Formula, relation: Relation) -> str:
    text = formula_text(formula, relation)
    compound = isinstance(formula, AllOf | AnyOf) or " OR " in text
    return f"({text})" if compound else text


def _folded_text(atom: FoldedAtom, name: str) -> str:
    texts = [constant_text(text, ColumnType.STRING) for text in atom.texts]
    null = f" OR {name} IS NULL" if atom.matches_null else ""
    if len(texts) == 1:
        return f"lower({name}) {'<>' if atom.negated else '='} {texts[0]}{null}"
    word = "NOT IN" if atom.negated else "IN"
    return f"lower({name}) {word} ({shortened(texts, ', ')}){null}"


def _nets_text(atom: NetAtom, name: str) -> str:
    nets = shortened([constant_text(net, ColumnType.STRING) for net in atom.nets], ", ")
    null = f" OR {name} IS NULL" if atom.matches_null else ""
    return f"{'NOT ' if atom.negated else ''}cidr_match({name}, {nets}){null}"


def _values_text(atom: ValueAtom, name: str) -> str:
    intervals = atom.intervals
    points = [each for each in intervals if _is_point(each)]
    gap = _missing_point(atom)
    if gap is not None:
        shown = [f"{name} <> {constant_text(gap, atom.type)}"]
    elif len(points) > 1:
        values = shortened([constant_text(each.low, atom.type) for each in points], ", ")
        others = [
            _interval_text(each, name, atom.type) for each in intervals if not _is_point(each)
        ]
        shown = [f"{name} IN ({values})", *others]
    else:
        shown = [_interval_text(each, name, atom.type) for each in intervals]
    if atom.matches_null:
        shown.append(f"{name} IS NULL")
    return shortened(shown, " OR ")


def _is_point(interval: Interval) -> bool:
    return interval.low is not None and interval.low == interval.high


def _missing_point(atom: ValueAtom) -> Value | None:
    """The one value that is left out, where all others are in."""
    if len(atom.intervals) != 2 or atom.matches_null:
        return None
    below, above = atom.intervals
    if below.low is not None or above.high is not None or below.high is None or above.low is None:
        return None
    if isinstance(below.high, int) and isinstance(above.low, int):
        return below.high + 1 if above.low - below.high == 2 else None
    is_gap = below.high == above.low and not below.high_closed and not above.low_closed
    return below.high if is_gap else None


def _interval_text(interval: Interval, name: str, type_: ColumnType) -> str:
    low, high = interval.low, interval.high
    if low is None and high is None:
        return f"{name} IS NOT NULL"
    if low is not None and low == high:
        return f"{name} = {constant_text(low, type_)}"
    limits = []
    if low is not None:
        limits.append(f"{name} {'>=' if interval.low_closed else '>'} {constant_text(low, type_)}")
    if high is not None:
        limits.append(
            f"{name} {'<=' if interval.high_closed else '<'} {constant_text(high, type_)}"
        )
    if len(limits) == 2 and interval.low_closed and interval.high_closed:
        return f"{name} BETWEEN {constant_text(low, type_)} AND {constant_text(high, type_)}"
    return " AND ".join(limits)
