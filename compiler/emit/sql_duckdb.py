"""The language's scalar rules in DuckDB's words.

DuckDB already orders NaN above all numbers, ignores NULL in least and greatest and matches RE2; the work here is to turn
its errors into NULL and to cast and round as Spark does. `[f(v) FOR v IN [x]][1]` names x once for a longer f.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cqc.compiler.emit.sql_nested import decimal_arithmetic, nested_type_name
from cqc.compiler.functions.sql_forms import CannotWriteError, duckdb_with
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
    ColumnType.STRING: "VARCHAR",
    ColumnType.BOOLEAN: "BOOLEAN",
    ColumnType.TIMESTAMP: "TIMESTAMP",
    ColumnType.DATE: "DATE",
    ColumnType.INTERVAL: "BIGINT",
}

_TRIM = r"regexp_replace({0}, '^[\x00-\x20\x7f]+|[\x00-\x20\x7f]+$', '', 'g')"

_TEXT_TO_BIGINT = "CASE WHEN regexp_full_match(v, '[+-]?[0-9]+') THEN TRY_CAST(v AS BIGINT) END"

_TEXT_TO_DOUBLE = (
    r"CASE WHEN regexp_full_match(v, '[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?')"
    " THEN TRY_CAST(rtrim(v, 'dDfF') AS DOUBLE)"
    " WHEN lower(v) IN ('nan', 'inf', '+inf', '-inf', 'infinity', '+infinity', '-infinity')"
    " THEN TRY_CAST(ltrim(v, '+') AS DOUBLE) END"
)

_TEXT_TO_BOOLEAN = (
    "CASE WHEN lower(v) IN ('t', 'true', 'y', 'yes', '1') THEN TRUE"
    " WHEN lower(v) IN ('f', 'false', 'n', 'no', '0') THEN FALSE END"
)

_TEXT_TO_TIMESTAMP = (
    r"CASE WHEN regexp_full_match(v, '\d{4}-\d{1,2}-\d{1,2}"
    r"([ T]\d{1,2}:\d{1,2}(:\d{1,2}(\.\d*)?)?)?')"
    " THEN TRY_CAST(v AS TIMESTAMP)"
    r" WHEN regexp_full_match(v, '\d{4}-\d{1,2}-\d{1,2}"
    r"[ T]\d{1,2}:\d{1,2}(:\d{1,2}(\.\d*)?)?(Z|[+-]\d{2}(:\d{2})?)')"
    " THEN make_timestamp(epoch_us(TRY_CAST(v AS TIMESTAMPTZ))) END"
)

_TEXT_TO_DATE = (
    r"CASE WHEN regexp_full_match(v, '\d{4}-\d{1,2}-\d{1,2}([ T](.|\n)*)?')"
    " THEN TRY_CAST(regexp_extract(v, '^[0-9-]+') AS DATE)"
    r" WHEN regexp_full_match(v, '\d{4}-\d{1,2}') THEN TRY_CAST(v || '-01' AS DATE)"
    r" WHEN regexp_full_match(v, '\d{4}') THEN TRY_CAST(v || '-01-01' AS DATE) END"
)

# As Java writes a double. DuckDB's text has the right digits; d is those digits, e the power of ten of the first.
_DOUBLE_TO_TEXT = (
    "CASE WHEN isnan(v) THEN 'NaN' WHEN isinf(v) THEN CASE WHEN v > 0 THEN 'Infinity' ELSE '-Infinity' END"
    " WHEN v = 0 OR abs(v) >= 1e-3 AND abs(v) < 1e7 THEN CAST(v AS VARCHAR)"
    " ELSE [[CASE WHEN v < 0 THEN '-' ELSE '' END || d[1] || '.' ||"
    " CASE WHEN length(d) > 1 THEN d[2:] ELSE '0' END || 'E' || CASE"
    " WHEN contains(t, 'e') THEN CAST(CAST(split_part(t, 'e', 2) AS INTEGER) AS VARCHAR)"
    " WHEN abs(v) >= 1 THEN CAST(length(split_part(t, '.', 1)) - 1 AS VARCHAR)"
    " ELSE CAST(length(ltrim(split_part(t, '.', 2), '0')) - length(split_part(t, '.', 2)) - 1 AS VARCHAR) END"
    " FOR d IN [trim(replace(split_part(t, 'e', 1), '.', ''), '0')]][1]"
    " FOR t IN [CAST(abs(v) AS VARCHAR)]][1] END"
)


class DuckDb:
    """DuckDB's words."""

    is_spark = False

    def identifier(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def text(self, value: str) -> str:
        return "'" + value.replace("'", "''") + "'"

    def double(self, value: float) -> str:
        if math.isnan(value) or math.isinf(value):
            return f"CAST('{value}' AS DOUBLE)"
        written = repr(value)
        written = written if "e" in written else written + "e0"
        return f"({written})" if written.startswith("-") else written

    def bigint(self, value: int) -> str:
        return f"({value})" if value < 0 else str(value)

    def timestamp(self, us: int) -> str:
        shown = format_instant(us)
        if not shown.endswith("Z"):
            return self.timestamp_of(str(us))
        return f"TIMESTAMP '{shown[:-1].replace('T', ' ')}'"

    def type_name(self, type_: ColumnType) -> str:
        nested = nested_type_name(type_, self.type_name, self.identifier, spark=False)
        return _TYPE_NAMES[type_] if nested is None else nested

    def timestamp_us(self, timestamp: str) -> str:
        return f"epoch_us({timestamp})"

    def timestamp_of(self, us: str) -> str:
        return f"make_timestamp({us})"

    def double_seconds_us(self, seconds: str) -> str:
        return f"CAST({seconds} * 1e6 AS BIGINT)"  # this cast rounds to the nearest, ties to even

    def arrival(self) -> str:
        return "rowid"

    def multiples(self, first: str, last: str, step: int) -> str:
        return f"unnest(generate_series({first}, {last}, {step}))"

    def bigint_arithmetic(self, op: ArithmeticOp, left: str, right: str) -> str:
        if op is ArithmeticOp.MODULO:
            return f"CAST(CAST({left} AS HUGEINT) % nullif({right}, 0) AS BIGINT)"
        return f"TRY_CAST(CAST({left} AS HUGEINT) {op.value} CAST({right} AS HUGEINT) AS BIGINT)"

    def double_arithmetic(self, op: ArithmeticOp, left: str, right: str) -> str:
        if op in (ArithmeticOp.DIVIDE, ArithmeticOp.MODULO):
            return f"({left} {op.value} nullif({right}, 0))"
        return f"({left} {op.value} {right})"

    def decimal_arithmetic(self, op: ArithmeticOp, left: str, right: str, type_: ColumnType) -> str:
        return decimal_arithmetic(op, left, right, type_)

    def move_date(self, date: str, op: ArithmeticOp, days: str) -> str:
        return f"({date} {op.value} TRY_CAST({days} AS INTEGER))"

    def negate_bigint(self, operand: str) -> str:
        return f"TRY_CAST(- CAST({operand} AS HUGEINT) AS BIGINT)"

    def round_to_bigint(self, operand: str) -> str:
        return f"TRY_CAST(round({operand}) AS BIGINT)"

    def divide_rounding(self, left: str, right: str) -> str:
        left, right = f"CAST({left} AS HUGEINT)", f"CAST(nullif({right}, 0) AS HUGEINT)"
        size = f"(2 * abs({left}) + abs({right})) // (2 * abs({right}))"
        return f"TRY_CAST(sign({left}) * sign({right}) * ({size}) AS BIGINT)"

    def cast(self, operand: str, source: ColumnType, target: ColumnType) -> str:
        match source, target:
            case DecimalType(), ColumnType.BIGINT:
                return f"TRY_CAST(trunc({operand}) AS BIGINT)"
            case (_, DecimalType()) | (DecimalType(), _):
                return f"TRY_CAST({operand} AS {self.type_name(target)})"
            case ColumnType.STRING, ColumnType.BINARY:
                return f"encode({operand})"
            case ((ArrayType() | MapType() | StructType()), ColumnType.STRING):
                raise CannotWriteError("CAST: DuckDB writes nested values in its own way")
            case ColumnType.STRING, _:
                return self._cast_text(operand, target)
            case ColumnType.DOUBLE, ColumnType.BIGINT:
                return f"TRY_CAST(trunc({operand}) AS BIGINT)"
            case ColumnType.DOUBLE, ColumnType.STRING:
                return duckdb_with(_DOUBLE_TO_TEXT, operand)
            case ColumnType.INTERVAL, ColumnType.DOUBLE:
                return f"(CAST({operand} AS DOUBLE) / 1e6)"
            case ColumnType.DOUBLE, ColumnType.TIMESTAMP:
                return f"make_timestamp(TRY_CAST(trunc({operand} * 1e6) AS BIGINT))"
            case ColumnType.BIGINT, ColumnType.TIMESTAMP:
                return f"make_timestamp(TRY_CAST(CAST({operand} AS HUGEINT) * 1000000 AS BIGINT))"
            case ColumnType.TIMESTAMP, ColumnType.BIGINT:
                return f"CAST(floor(epoch_us({operand}) / 1e6) AS BIGINT)"
            case ColumnType.TIMESTAMP, ColumnType.DOUBLE:
                return f"(epoch_us({operand}) / 1e6)"
            case _:
                return f"CAST({operand} AS {self.type_name(target)})"

    def _cast_text(self, operand: str, target: ColumnType) -> str:
        forms = {
            ColumnType.BIGINT: _TEXT_TO_BIGINT,
            ColumnType.DOUBLE: _TEXT_TO_DOUBLE,
            ColumnType.BOOLEAN: _TEXT_TO_BOOLEAN,
            ColumnType.TIMESTAMP: _TEXT_TO_TIMESTAMP,
            ColumnType.DATE: _TEXT_TO_DATE,
        }
        return duckdb_with(forms[target], _TRIM.format(operand))

    def like(self, operand: str, pattern: str) -> str:
        escape = r" ESCAPE '\'" if "\\" in pattern else ""
        return f"({operand} LIKE {self.text(pattern)}{escape})"

    def matches_regex(self, operand: str, pattern: str) -> str:
        return f"regexp_matches({operand}, {pattern})"

    def int_argument(self, operand: str, argument: Expression) -> str:
        """An argument that must be an INT; one beyond 32 bits is NULL."""
        if isinstance(argument, Literal) and isinstance(argument.value, int):
            return operand if -(2**31) <= argument.value < 2**31 else "CAST(NULL AS BIGINT)"
        return f"CAST(TRY_CAST({operand} AS INTEGER) AS BIGINT)"

    def function_form(self, function: FunctionEntry) -> SqlForm:
        return function.duckdb
