"""Random bound expressions over one item with two columns of every type, and rows full of edge cases."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.source import SourceFile, Span
from cqc.compiler.meaning import bound
from cqc.compiler.meaning.bound import ArithmeticOp, ComparisonOp, Expression, PatternKind
from cqc.compiler.meaning.types import ColumnType as T

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

Value = int | float | str | bool | None
SPAN = Span(SourceFile("test", ""), 0, 0)
TYPES = (T.BIGINT, T.DOUBLE, T.STRING, T.BOOLEAN, T.TIMESTAMP, T.DATE)
COLUMN_TYPES = (*TYPES, *TYPES)

VALUES: dict[T, tuple[Value, ...]] = {
    T.BIGINT: (0, 1, -1, 2, 3, 7, -10, 15, 2**53 + 1, 2**62, -(2**63), 2**63 - 1, 4999, 5000),
    T.DOUBLE: (
        *(0.0, -0.0, 1.0, -1.5, 0.5, 2.5, 2.675, 1e-3, 9999999.5, 1e7, 1e16, 1e300, -1e308, 5e-324),
        *(math.nan, math.inf, -math.inf, 9007199254740993.0, 0.1, 123456.789, 9.223372036854775e18),
    ),
    T.STRING: (
        *("", "a", "A", "ab", "aB%", "a_b", "12", " 7 ", "-3.5", "1e3", "NaN", "inf", "true", "no"),
        *(
            "x\ny",
            "é",
            "ÉA",
            "Straße",
            "ΑΣ",
            "2024-01-01",
            "2024-01-01 10:00:00.5+01:00",
            "1d",
            "0x1",
        ),
        *("9223372036854775808", "+5", "\t1\n", "-Infinity", "2024", "2024-2-30", "a\\b", "İ"),
    ),
    T.BOOLEAN: (True, False),
    T.TIMESTAMP: (0, 1, -1, 1_704_067_200_000_000, 1_704_067_200_500_000, -59_011_459_200_000_000),
    T.INTERVAL: (0, 1, -1, 1_500_000, 3_600_000_000, -7_000_001),
    T.DATE: (0, 1, -1, 19_723, 19_782, -683_003, 2_932_896, -719_162),
}
PATTERNS = (
    "",
    "a",
    "a%",
    "%b",
    "%a%",
    "_",
    "a_b",
    "%_%",
    "a\\_b",
    "A%b",
    "\\%",
    "é%",
    "a\\",
    "%.%",
)
REGEXES = ("", "a", "^a", "b$", "[0-9]+", "(?i)A", "a.b", "\\d", "^$")


def random_rows(random: Random, count: int) -> list[tuple[Value, ...]]:
    return [tuple(random_value(random, type_) for type_ in COLUMN_TYPES) for _ in range(count)]


def random_value(random: Random, type_: T) -> Value:
    return None if random.random() < 0.15 else random.choice(VALUES[type_])


def random_expression(random: Random, type_: T, depth: int) -> Expression:
    if depth == 0 or random.random() < 0.1:
        return leaf(random, type_)
    return random.choice(MAKERS[type_])(random, depth - 1)


def leaf(random: Random, type_: T) -> Expression:
    if type_ is not T.INTERVAL and random.random() < 0.7:
        column = TYPES.index(type_) + random.choice((0, len(TYPES)))
        return bound.ColumnRef(0, column, type_, SPAN)
    value = random_value(random, type_)
    if value is None and random.random() < 0.3:
        return bound.Literal(None, T.NULL, SPAN)
    return bound.Literal(value, type_, SPAN)


def arithmetic(
    *types: tuple[T, T, T, tuple[ArithmeticOp, ...]],
) -> Callable[[Random, int], Expression]:
    def make(random: Random, depth: int) -> Expression:
        left, right, result, ops = random.choice(types)
        return bound.Arithmetic(
            random.choice(ops),
            random_expression(random, left, depth),
            random_expression(random, right, depth),
            result,
            SPAN,
        )

    return make


def negated(type_: T) -> Callable[[Random, int], Expression]:
    return lambda random, depth: bound.Negate(random_expression(random, type_, depth), type_, SPAN)


def casting(target: T, *sources: T) -> Callable[[Random, int], Expression]:
    def make(random: Random, depth: int) -> Expression:
        source = random.choice(sources)
        # Arithmetic can lead out of the calendar, where the oracle has no text for an instant.
        beyond = (T.TIMESTAMP, T.STRING), (T.DATE, T.STRING), (T.TIMESTAMP, T.DATE)
        reach = 0 if (source, target) in beyond else depth
        return bound.Cast(random_expression(random, source, reach), target, SPAN)

    return make


def calling(name: str, result: T, *arguments: T) -> Callable[[Random, int], Expression]:
    def make(random: Random, depth: int) -> Expression:
        made = tuple(random_expression(random, argument, depth) for argument in arguments)
        return bound.FunctionCall(name, made, result, SPAN)

    return make


def rounding(type_: T) -> Callable[[Random, int], Expression]:
    def make(random: Random, depth: int) -> Expression:
        operand = random_expression(random, type_, depth)
        digits = bound.Literal(random.choice((-19, -2, -1, 0, 1, 2, 5)), T.BIGINT, SPAN)
        arguments = (operand,) if random.random() < 0.3 else (operand, digits)
        return bound.FunctionCall("round", arguments, type_, SPAN)

    return make


def choosing(type_: T) -> Callable[[Random, int], Expression]:
    """CASE, coalesce, least and greatest; DOUBLE may mix with BIGINT."""

    def part(random: Random, depth: int) -> Expression:
        mixed = T.BIGINT if type_ is T.DOUBLE and random.random() < 0.3 else type_
        return random_expression(random, mixed, depth)

    def make(random: Random, depth: int) -> Expression:
        if random.random() < 0.5:
            branches = tuple(
                (
                    random_expression(random, T.BOOLEAN, depth),
                    random_expression(random, type_, depth),
                )
                for _ in range(random.randint(1, 2))
            )
            return bound.Case(branches, random_expression(random, type_, depth), type_, SPAN)
        name = random.choice(("coalesce", "least", "greatest"))
        arguments = tuple(part(random, depth) for _ in range(random.randint(2, 3)))
        return bound.FunctionCall(name, arguments, type_, SPAN)

    return make


def alike(random: Random, depth: int, count: int) -> list[Expression]:
    type_ = random.choice((*TYPES, T.INTERVAL))
    types = (T.BIGINT, T.DOUBLE) if type_.is_numeric else (type_,)
    return [random_expression(random, random.choice(types), depth) for _ in range(count)]


def comparison(random: Random, depth: int) -> Expression:
    left, right = alike(random, depth, 2)
    if random.random() < 0.2:
        return bound.IsDistinct(left, right, SPAN)
    return bound.Comparison(left, random.choice(list(ComparisonOp)), right, SPAN)


def logic(random: Random, depth: int) -> Expression:
    operands = tuple(
        random_expression(random, T.BOOLEAN, depth) for _ in range(random.randint(2, 3))
    )
    kind = random.randrange(5)
    if kind == 0:
        return bound.Not(operands[0], SPAN)
    if kind == 1:
        return bound.IsTruth(operands[0], random.random() < 0.5, SPAN)
    return bound.And(operands, SPAN) if kind < 4 else bound.Or(operands, SPAN)


def membership(random: Random, depth: int) -> Expression:
    operand, *values = alike(random, depth if random.random() < 0.5 else 0, random.randint(2, 4))
    if random.random() < 0.5:
        values = [literal_like(random, value) for value in values]
    return bound.InList(operand, tuple(values), SPAN)


def literal_like(random: Random, expression: Expression) -> Expression:
    if expression.type is T.NULL:
        return expression
    return bound.Literal(random_value(random, expression.type), expression.type, SPAN)


def matching(random: Random, depth: int) -> Expression:
    operand = random_expression(random, T.STRING, depth)
    if random.random() < 0.3:
        return bound.Match(PatternKind.RLIKE, operand, random.choice(REGEXES), "\\", SPAN)
    kind = random.choice((PatternKind.LIKE, PatternKind.ILIKE))
    pattern = None if random.random() < 0.05 else random.choice(PATTERNS)
    return bound.Match(kind, operand, pattern, random.choice(("\\", "\\", "!")), SPAN)


def null_test(random: Random, depth: int) -> Expression:
    return bound.IsNull(random_expression(random, random.choice(TYPES), depth), SPAN)


def substring(random: Random, depth: int) -> Expression:
    numbers = [
        bound.Literal(random.randint(-4, 5), T.BIGINT, SPAN)
        if random.random() < 0.7
        else bound.Arithmetic(
            ArithmeticOp.MODULO,
            random_expression(random, T.BIGINT, 0),
            bound.Literal(5, T.BIGINT, SPAN),
            T.BIGINT,
            SPAN,
        )
        for _ in range(random.randint(1, 2))
    ]
    text = random_expression(random, T.STRING, depth)
    return bound.FunctionCall("substring", (text, *numbers), T.STRING, SPAN)


ADD, SUBTRACT = ArithmeticOp.ADD, ArithmeticOp.SUBTRACT
MULTIPLY, DIVIDE, MODULO = ArithmeticOp.MULTIPLY, ArithmeticOp.DIVIDE, ArithmeticOp.MODULO
WHOLE = (ADD, SUBTRACT, MULTIPLY, MODULO)

MAKERS: dict[T, tuple[Callable[[Random, int], Expression], ...]] = {
    T.BIGINT: (
        arithmetic((T.BIGINT, T.BIGINT, T.BIGINT, WHOLE)),
        arithmetic((T.BIGINT, T.BIGINT, T.BIGINT, WHOLE)),
        negated(T.BIGINT),
        casting(T.BIGINT, T.DOUBLE, T.STRING, T.BOOLEAN, T.TIMESTAMP),
        calling("abs", T.BIGINT, T.BIGINT),
        calling("floor", T.BIGINT, T.DOUBLE),
        calling("ceil", T.BIGINT, T.DOUBLE),
        calling("length", T.BIGINT, T.STRING),
        rounding(T.BIGINT),
        choosing(T.BIGINT),
    ),
    T.DOUBLE: (
        arithmetic(
            (T.DOUBLE, T.DOUBLE, T.DOUBLE, (*WHOLE, DIVIDE)),
            (T.BIGINT, T.DOUBLE, T.DOUBLE, (*WHOLE, DIVIDE)),
            (T.DOUBLE, T.BIGINT, T.DOUBLE, (*WHOLE, DIVIDE)),
            (T.BIGINT, T.BIGINT, T.DOUBLE, (DIVIDE,)),
        ),
        negated(T.DOUBLE),
        casting(T.DOUBLE, T.BIGINT, T.STRING, T.BOOLEAN, T.TIMESTAMP),
        calling("abs", T.DOUBLE, T.DOUBLE),
        rounding(T.DOUBLE),
        choosing(T.DOUBLE),
    ),
    T.STRING: (
        casting(T.STRING, T.BIGINT, T.DOUBLE, T.BOOLEAN, T.TIMESTAMP, T.DATE),
        calling("lower", T.STRING, T.STRING),
        calling("upper", T.STRING, T.STRING),
        calling("concat", T.STRING, T.STRING, T.STRING),
        substring,
        choosing(T.STRING),
    ),
    T.BOOLEAN: (
        *(comparison, comparison, logic, logic, membership, matching, null_test),
        casting(T.BOOLEAN, T.BIGINT, T.DOUBLE, T.STRING),
        choosing(T.BOOLEAN),
    ),
    T.TIMESTAMP: (
        arithmetic((T.TIMESTAMP, T.INTERVAL, T.TIMESTAMP, (ADD, SUBTRACT))),
        casting(T.TIMESTAMP, T.BIGINT, T.DOUBLE, T.STRING, T.DATE),
        choosing(T.TIMESTAMP),
    ),
    T.DATE: (
        casting(T.DATE, T.STRING, T.TIMESTAMP),
        arithmetic((T.DATE, T.BIGINT, T.DATE, (ADD, SUBTRACT))),
        choosing(T.DATE),
    ),
    T.INTERVAL: (
        arithmetic(
            (T.TIMESTAMP, T.TIMESTAMP, T.INTERVAL, (SUBTRACT,)),
            (T.INTERVAL, T.INTERVAL, T.INTERVAL, (ADD, SUBTRACT)),
            (T.INTERVAL, T.BIGINT, T.INTERVAL, (MULTIPLY, DIVIDE)),
            (T.INTERVAL, T.DOUBLE, T.INTERVAL, (MULTIPLY, DIVIDE)),
        ),
    ),
}
