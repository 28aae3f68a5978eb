"""The language's scalar rules in Spark SQL's words, for its ANSI mode.

The language has Spark's semantics, so most of this is the plain function or its `try_` form, which gives NULL where the
plain one fails.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cqc.compiler.emit.sql_nested import nested_type_name
from cqc.compiler.meaning.bound import ArithmeticOp, Literal
from cqc.compiler.meaning.times.instants import format_instant
from cqc.compiler.meaning.types import ArrayType, ColumnType, DecimalType, MapType, StructType

if TYPE_CHECKING:
    from cqc.compiler.functions.entry import FunctionEntry
    from cqc.compiler.functions.sql_forms import SqlForm
    from cqc.compiler.meaning.bound import Expression

_TYPE_NAMES = {
    ColumnType.BIGINT: "BIGINT",
    ColumnType.DOUBLE: "DOUBLE",
    ColumnType.STRING: "STRING",
    ColumnType.BOOLEAN: "BOOLEAN",
    ColumnType.TIMESTAMP: "TIMESTAMP",
    ColumnType.DATE: "DATE",
    ColumnType.INTERVAL: "BIGINT",
}
_TRY = {
    ArithmeticOp.ADD: "try_add",
    ArithmeticOp.SUBTRACT: "try_subtract",
    ArithmeticOp.MULTIPLY: "try_multiply",
    ArithmeticOp.DIVIDE: "try_divide",
    ArithmeticOp.MODULO: "try_mod",
}


class Spark:
    """Spark SQL's words."""

    is_spark = True

    def identifier(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def double(self, value: float) -> str:
        if math.isnan(value) or math.isinf(value):
            return f"CAST('{value}' AS DOUBLE)"
        return f"({value!r}D)" if repr(value).startswith("-") else f"{value!r}D"

    def bigint(self, value: int) -> str:
        return f"({value}L)" if value < 0 else f"{value}L"

    def timestamp(self, us: int) -> str:
        shown = format_instant(us)
        if not shown.endswith("Z"):
            return self.timestamp_of(f"{us}L")
        return f"TIMESTAMP '{shown.replace('T', ' ')}'"

    def type_name(self, type_: ColumnType) -> str:
        nested = nested_type_name(type_, self.type_name, self.identifier, spark=True)
        return _TYPE_NAMES[type_] if nested is None else nested

    def timestamp_us(self, timestamp: str) -> str:
        return f"unix_micros({timestamp})"

    def timestamp_of(self, us: str) -> str:
        return f"timestamp_micros({us})"

    def double_seconds_us(self, seconds: str) -> str:
        return f"CAST(rint({seconds} * 1e6D) AS BIGINT)"

    def arrival(self) -> str:
        return "monotonically_increasing_id()"

    def multiples(self, first: str, last: str, step: int) -> str:
        return f"explode(CASE WHEN {first} <= {last} THEN sequence({first}, {last}, {step}L) END)"

    def bigint_arithmetic(self, op: ArithmeticOp, left: str, right: str) -> str:
        return f"{_TRY[op]}({left}, {right})"

    def double_arithmetic(self, op: ArithmeticOp, left: str, right: str) -> str:
        if op in (ArithmeticOp.DIVIDE, ArithmeticOp.MODULO):
            return f"{_TRY[op]}({left}, {right})"
        return f"({left} {op.value} {right})"

    def decimal_arithmetic(self, op: ArithmeticOp, left: str, right: str, type_: ColumnType) -> str:
        del type_  # Spark's own
        return f"{_TRY[op]}({left}, {right})"

    def move_date(self, date: str, op: ArithmeticOp, days: str) -> str:
        function = "date_add" if op is ArithmeticOp.ADD else "date_sub"
        return f"{function}({date}, try_cast({days} AS INT))"

    def negate_bigint(self, operand: str) -> str:
        return f"try_subtract(0L, {operand})"

    def round_to_bigint(self, operand: str) -> str:
        return f"try_cast(round({operand}) AS BIGINT)"

    def divide_rounding(self, left: str, right: str) -> str:
        size = f"(2 * abs(CAST({left} AS DECIMAL(20, 0))) + abs({right})) div (2 * abs({right}))"
        signed = f"sign({left}) * sign({right}) * ({size})"
        return f"CASE WHEN {right} <> 0 THEN try_cast({signed} AS BIGINT) END"

    def cast(self, operand: str, source: ColumnType, target: ColumnType) -> str:
        match source, target:
            case (ColumnType.STRING, _) | (ColumnType.DOUBLE, ColumnType.BIGINT):
                return f"try_cast({operand} AS {self.type_name(target)})"
            case (_, DecimalType()) | (DecimalType(), _):
                return f"try_cast({operand} AS {self.type_name(target)})"
            case ((ArrayType() | MapType() | StructType()), _):
                return f"try_cast({operand} AS {self.type_name(target)})"
            case ColumnType.INTERVAL, ColumnType.DOUBLE:
                return f"(CAST({operand} AS DOUBLE) / 1e6D)"
            case ColumnType.DOUBLE, ColumnType.TIMESTAMP:
                return f"timestamp_micros(try_cast({operand} * 1e6D AS BIGINT))"
            case ColumnType.BIGINT, ColumnType.TIMESTAMP:
                return f"timestamp_micros(try_multiply({operand}, 1000000L))"
            case _:
                return f"CAST({operand} AS {self.type_name(target)})"

    def like(self, operand: str, pattern: str) -> str:
        return f"({operand} LIKE {self.text(pattern)})"

    def matches_regex(self, operand: str, pattern: str) -> str:
        return f"({operand} RLIKE {pattern})"

    def int_argument(self, operand: str, argument: Expression) -> str:
        """An argument that must be an INT; one beyond 32 bits is NULL."""
        if isinstance(argument, Literal):
            is_int = isinstance(argument.value, int) and -(2**31) <= argument.value < 2**31
            return f"({argument.value})" if is_int else "CAST(NULL AS INT)"
        return f"try_cast({operand} AS INT)"

    def function_form(self, function: FunctionEntry) -> SqlForm:
        return function.spark
