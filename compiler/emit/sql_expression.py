"""A bound expression as SQL text that means the same, NULL for NULL and NaN for NaN.

Durations are whole microseconds. `known` gives texts for whole subexpressions: the columns that hold group keys and
aggregates once a query has been grouped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from cqc.compiler.diagnostics.diagnostic import InternalError
from cqc.compiler.emit.sql_nested import NESTED_CALLS, constant, nested_call
from cqc.compiler.functions.registry import AGGREGATE_ENTRIES, SCALAR_FUNCTIONS
from cqc.compiler.functions.sql_forms import CannotWriteError, SqlCall, write_call
from cqc.compiler.meaning import bound
from cqc.compiler.meaning.bound import ArithmeticOp, PatternKind
from cqc.compiler.meaning.times.instants import format_day
from cqc.compiler.meaning.types import ColumnType, DecimalType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.compiler.emit.sql_dialect import Dialect


@dataclass(frozen=True)
class Writer:
    """Writes expressions of one query in one dialect."""

    dialect: Dialect
    items: Sequence[bound.Item]
    known: Mapping[bound.Expression, str] = field(default_factory=dict)

    def write(self, expression: bound.Expression) -> str:
        if (
            self.known and expression in self.known
        ):  # hashing a rule of thousands of parts is not free
            return self.known[expression]
        match expression:
            case bound.Literal():
                return self.literal(expression)
            case bound.ColumnRef():
                return self.column(expression.item, expression.column)
            case bound.Arithmetic():
                return self.arithmetic(expression)
            case bound.Negate():
                return self.negate(expression)
            case bound.Comparison():
                left, right = self.alike([expression.left, expression.right])
                return f"({left} {expression.op.value} {right})"
            case bound.And():
                return "(" + " AND ".join(map(self.write, expression.operands)) + ")"
            case bound.Or():
                return "(" + " OR ".join(map(self.write, expression.operands)) + ")"
            case bound.Not():
                return f"(NOT {self.write(expression.operand)})"
            case bound.InList():
                operand, *values = self.alike([expression.operand, *expression.values])
                return f"({operand} IN ({', '.join(values)}))"
            case bound.Match():
                return self.match(expression)
            case bound.IsNull():
                return f"({self.write(expression.operand)} IS NULL)"
            case bound.IsTruth():
                return f"({self.write(expression.operand)} IS {str(expression.value).upper()})"
            case bound.IsDistinct():
                left, right = self.alike([expression.left, expression.right])
                return f"({left} IS DISTINCT FROM {right})"
            case bound.Case():
                return self.case(expression)
            case bound.Cast():
                return self.cast(expression.operand, expression.type)
            case bound.FunctionCall():
                return self.call(expression)
            case bound.UserCall():
                return f"{expression.name}({', '.join(map(self.write, expression.arguments))})"
            case bound.Aggregate():
                return self.aggregate(expression)
            case bound.Over():
                raise InternalError("OVER is written by whoever knows its rows")
            case _:
                assert_never(expression)

    def column(self, item: int, column: int) -> str:
        """A column by its item's alias."""
        alias = self.dialect.identifier(self.items[item].alias)
        names = self.items[item].column_path(column)
        return ".".join([alias, *map(self.dialect.identifier, names)])

    def literal(self, literal: bound.Literal) -> str:
        special = constant(literal, spark=self.dialect.is_spark)
        if special is not None:
            return special
        match literal.value:
            case None if literal.type is ColumnType.NULL:
                return "NULL"
            case None:
                return f"CAST(NULL AS {self.dialect.type_name(literal.type)})"
            case bool():
                return str(literal.value).upper()
            case int() if literal.type is ColumnType.TIMESTAMP:
                return self.dialect.timestamp(literal.value)
            case int() if literal.type is ColumnType.DATE:
                return f"DATE '{format_day(literal.value)}'"
            case int():
                return self.dialect.bigint(literal.value)
            case float():
                return self.dialect.double(literal.value)
            case str():
                return self.dialect.text(literal.value)

    def cast(self, operand: bound.Expression, target: ColumnType) -> str:
        """The operand as a value of the target type."""
        if operand.type is target or target is ColumnType.NULL:
            return self.write(operand)
        if operand.type is ColumnType.NULL:
            return f"CAST({self.write(operand)} AS {self.dialect.type_name(target)})"
        return self.dialect.cast(self.write(operand), operand.type, target)

    def alike(self, parts: Sequence[bound.Expression]) -> list[str]:
        """The parts as values of one type: DOUBLE as soon as one of them is."""
        if any(part.type is ColumnType.DOUBLE for part in parts):
            return [self.cast(part, ColumnType.DOUBLE) for part in parts]
        return [self.write(part) for part in parts]

    def arithmetic(self, expression: bound.Arithmetic) -> str:
        sides = (expression.left.type, expression.right.type)
        if ColumnType.TIMESTAMP in sides:
            left, right = (self.microseconds(side) for side in (expression.left, expression.right))
            moved = self.dialect.bigint_arithmetic(expression.op, left, right)
            is_instant = expression.type is ColumnType.TIMESTAMP
            return self.dialect.timestamp_of(moved) if is_instant else moved
        if ColumnType.INTERVAL in sides:
            return self.interval_arithmetic(expression)
        if expression.type is ColumnType.DATE:
            return self.dialect.move_date(
                self.write(expression.left), expression.op, self.write(expression.right)
            )
        if expression.type is ColumnType.DOUBLE:
            left = self.cast(expression.left, ColumnType.DOUBLE)
            right = self.cast(expression.right, ColumnType.DOUBLE)
            return self.dialect.double_arithmetic(expression.op, left, right)
        left, right = self.write(expression.left), self.write(expression.right)
        if isinstance(expression.type, DecimalType):
            return self.dialect.decimal_arithmetic(expression.op, left, right, expression.type)
        return self.dialect.bigint_arithmetic(expression.op, left, right)

    def microseconds(self, expression: bound.Expression) -> str:
        written = self.write(expression)
        if expression.type is ColumnType.TIMESTAMP:
            return self.dialect.timestamp_us(written)
        return written

    def interval_arithmetic(self, expression: bound.Arithmetic) -> str:
        left, right = self.write(expression.left), self.write(expression.right)
        if ColumnType.DOUBLE in (expression.left.type, expression.right.type):
            as_double = self.dialect.type_name(ColumnType.DOUBLE)
            left, right = f"CAST({left} AS {as_double})", f"CAST({right} AS {as_double})"
            product = self.dialect.double_arithmetic(expression.op, left, right)
            return self.dialect.round_to_bigint(product)
        if expression.op is ArithmeticOp.DIVIDE:
            return self.dialect.divide_rounding(left, right)
        return self.dialect.bigint_arithmetic(expression.op, left, right)

    def negate(self, expression: bound.Negate) -> str:
        operand = self.write(expression.operand)
        if expression.type is ColumnType.DOUBLE:
            # Not `- x`: DuckDB turns `- x < c` into `x > - c`, which is wrong where c is NaN.
            return self.dialect.double_arithmetic(
                ArithmeticOp.MULTIPLY, self.dialect.double(-1.0), operand
            )
        return self.dialect.negate_bigint(operand)

    def match(self, expression: bound.Match) -> str:
        operand = self.write(expression.operand)
        if expression.pattern is None:
            return f"CAST(NULL AS {self.dialect.type_name(ColumnType.BOOLEAN)})"
        if expression.kind is PatternKind.RLIKE:
            return self.dialect.matches_regex(operand, self.dialect.text(expression.pattern))
        if expression.kind is PatternKind.LIKE:
            pattern = with_backslashes(expression.pattern, expression.escape)
            return self.dialect.like(operand, pattern)
        pattern = with_backslashes(expression.pattern, expression.escape).lower()
        return self.dialect.like(f"lower({operand})", pattern)

    def case(self, expression: bound.Case) -> str:
        branches = [
            f"WHEN {self.write(condition)} THEN {self.cast(value, expression.type)}"
            for condition, value in expression.branches
        ]
        otherwise = self.cast(expression.otherwise, expression.type)
        return f"CASE {' '.join(branches)} ELSE {otherwise} END"

    def call(self, expression: bound.FunctionCall) -> str:
        arguments = expression.arguments
        if expression.name == bound.INSTANT:
            return self.instant(arguments[0])
        if expression.name in bound.MATCH_CALLS:
            return self.match_call(expression)
        if expression.name in NESTED_CALLS:
            identifier, is_spark = self.dialect.identifier, self.dialect.is_spark
            return nested_call(expression, self.write, identifier, spark=is_spark)
        entry = SCALAR_FUNCTIONS[expression.name]
        types = [
            entry.argument_type(at, expression.type) or argument.type
            for at, argument in enumerate(arguments)
        ]
        written = [
            self.dialect.int_argument(self.cast(each, type_), each)
            if entry.rule(at).is_int
            else self.cast(each, type_)
            for at, (each, type_) in enumerate(zip(arguments, types, strict=True))
        ]
        call = SqlCall(entry.name, written, types, expression.type)
        return write_call(self.dialect.function_form(entry), call)

    def match_call(self, expression: bound.FunctionCall) -> str:
        """A match with a pattern that is not written out; one that is not valid is an error here, and NULL in cqc."""
        operand, pattern, escape = map(self.write, expression.arguments)
        kind = bound.MATCH_CALLS[expression.name]
        if kind is PatternKind.RLIKE:
            return self.dialect.matches_regex(operand, pattern)
        if kind is PatternKind.ILIKE:
            operand, pattern = f"lower({operand})", f"lower({pattern})"
        return f"({operand} LIKE {pattern} ESCAPE {escape})"

    def instant(self, column: bound.Expression) -> str:
        """The instant of a numeric event time."""
        seconds = self.write(column)
        if column.type is ColumnType.DOUBLE:
            return self.dialect.timestamp_of(self.dialect.double_seconds_us(seconds))
        return self.dialect.timestamp_of(f"({seconds} * 1000000)")

    def aggregate(self, expression: bound.Aggregate) -> str:
        """The aggregate of a column that `known` names."""
        if expression.argument is None:
            return "count(*)"
        distinct = "DISTINCT " if expression.distinct else ""
        if expression.user:
            raise CannotWriteError(
                f"{expression.user}: it is a registered aggregate, which SQL does not have"
            )
        entry = AGGREGATE_ENTRIES[expression.function.value.lower()]
        inputs = [expression.argument, *expression.more]
        written = [self.write(each) for each in inputs]
        if expression.share is not None:
            written += [self.dialect.double(expression.share)]
            written += ["DESC" if expression.descends else "ASC"]
        types = [each.type for each in inputs]
        call = SqlCall(entry.name, written, types, expression.type, distinct)
        return write_call(self.dialect.function_form(entry), call)


def with_backslashes(pattern: str, escape: str) -> str:
    """A LIKE pattern whose escape character is the backslash."""
    written = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, "")
            written.append("\\" + escaped if escaped in ("%", "_", "\\") else escaped)
        else:
            written.append("\\\\" if character == "\\" else character)
    return "".join(written)
