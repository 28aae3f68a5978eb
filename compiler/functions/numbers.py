"""Functions of numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cqc.compiler.functions.argument_rules import (
    ANY_NUMBER,
    AS_DOUBLE,
    NUMBER_OR_DURATION,
    ONE_TYPE,
    WHOLE,
    WHOLE_OR_DECIMAL,
    WRITTEN_DIGITS,
)
from cqc.compiler.functions.constant_forms import fitting, order_key, to_whole
from cqc.compiler.functions.decimal_types import (
    for_digits,
    for_remainder,
    remainder_type,
    rounded_result,
    towards_result,
)
from cqc.compiler.functions.entry import (
    ScalarEntry,
    first_type,
    many,
    one,
    optional,
    shared_type,
)
from cqc.compiler.functions.sql_forms import (
    PLAIN,
    CannotWriteError,
    Refused,
    duckdb_with,
    for_bigint,
)
from cqc.compiler.meaning.types import ColumnType, DecimalType

if TYPE_CHECKING:
    from cqc.compiler.functions.constant_forms import Constant
    from cqc.compiler.functions.sql_forms import SqlCall

_WITHIN_BIGINT = "{0} >= -9.223372036854775808E18D AND {0} < 9.223372036854775808E18D"


def _duckdb_round(call: SqlCall) -> str:
    operand, digits = (*call.arguments, "0")[:2]
    if isinstance(call.type, DecimalType):
        return f"CAST(round({operand}, CAST({digits} AS INTEGER)) AS {call.type.value})"
    if call.type is ColumnType.BIGINT:
        exact = f"round(CAST({operand} AS DECIMAL(38, 0)), CAST({digits} AS INTEGER))"
        return f"TRY_CAST({exact} AS BIGINT)"
    # On the digits shown; numbers of 1e19 and more have no digit after the point.
    exact = f"round(CAST(CAST(v AS VARCHAR) AS DECIMAL(38, 18)), CAST({digits} AS INTEGER))"
    rounded = f"CAST(CAST({exact} AS VARCHAR) AS DOUBLE)"
    return duckdb_with(f"CASE WHEN abs(v) < 1e19 THEN {rounded} ELSE v END", operand)


def _spark_round(call: SqlCall) -> str:
    if len(call.arguments) == 1:
        return PLAIN(call)
    operand, digits = call.arguments
    if call.type is ColumnType.BIGINT:
        exact = f"round(CAST({operand} AS DECIMAL(20, 0)), CAST({digits} AS INT))"
        return f"try_cast({exact} AS BIGINT)"
    return f"round({operand}, CAST({digits} AS INT))"


def _duckdb_towards(call: SqlCall) -> str:
    (operand, *digits), (type_, *_) = call.arguments, call.types
    if digits:
        raise CannotWriteError(f"{call.name}: DuckDB rounds to whole numbers only")
    if type_ is ColumnType.BIGINT:
        return operand
    return f"TRY_CAST({call.name}({operand}) AS {call.type.value})"


def _spark_towards(call: SqlCall) -> str:
    (operand, *digits), (type_, *_) = call.arguments, call.types
    if digits:
        return f"{call.name}({operand}, CAST({digits[0]} AS INT))"
    if type_ is ColumnType.BIGINT:
        return operand
    if isinstance(type_, DecimalType):
        return PLAIN(call)
    return f"CASE WHEN {_WITHIN_BIGINT.format(operand)} THEN {call.name}({operand}) END"


def _spark_div(call: SqlCall) -> str:
    one, other = call.arguments
    if isinstance(call.types[0], DecimalType) or isinstance(call.types[1], DecimalType):
        return f"CASE WHEN {other} <> 0 THEN ({one} div {other}) END"
    fits = f"{other} <> 0 AND NOT ({one} = (-9223372036854775808L) AND {other} = (-1L))"
    return f"CASE WHEN {fits} THEN ({one} div {other}) END"


def _duckdb_div(call: SqlCall) -> str:
    if isinstance(call.types[0], DecimalType) or isinstance(call.types[1], DecimalType):
        raise CannotWriteError("div: DuckDB divides DECIMAL as DOUBLE")
    one, other = call.arguments
    return f"TRY_CAST(CAST({one} AS HUGEINT) // nullif({other}, 0) AS BIGINT)"


def _spark_bround(call: SqlCall) -> str:
    operand, digits = (*call.arguments, "0")[:2]
    if call.type is ColumnType.BIGINT:
        exact = f"bround(CAST({operand} AS DECIMAL(20, 0)), CAST({digits} AS INT))"
        return f"try_cast({exact} AS BIGINT)"
    return f"bround({operand}, CAST({digits} AS INT))"


def _least(*values: Constant) -> Constant:
    return min((value for value in values if value is not None), key=order_key, default=None)


def _greatest(*values: Constant) -> Constant:
    return max((value for value in values if value is not None), key=order_key, default=None)


NUMBERS = (
    ScalarEntry(
        "abs",
        (one("x", NUMBER_OR_DURATION),),
        first_type,
        "The size of x without its sign; fails for the least BIGINT.",
        ("abs(-2.5)", 2.5),
        duckdb=for_bigint("TRY_CAST(abs(CAST({0} AS HUGEINT)) AS BIGINT)"),
        spark=for_bigint("CASE WHEN {0} <> (-9223372036854775808L) THEN abs({0}) END"),
        constant=lambda value: fitting(abs(value)),
    ),
    ScalarEntry(
        "round",
        (one("x", ANY_NUMBER), optional("digits", WRITTEN_DIGITS)),
        first_type,
        "x rounded to so many digits after the point (0 where left out, negative for tens and hundreds), half away from zero.",
        ("round(2.675, 2)", 2.68),
        written=rounded_result,
        duckdb=_duckdb_round,
        spark=_spark_round,
    ),
    ScalarEntry(
        "floor",
        (one("x", ANY_NUMBER), optional("digits", WRITTEN_DIGITS)),
        ColumnType.BIGINT,
        "The largest whole number that is not above x, or with so many digits after the point the largest such DECIMAL; fails "
        "where there is none.",
        ("floor(-2.5)", -3),
        written=towards_result,
        meets=for_digits,
        duckdb=_duckdb_towards,
        spark=_spark_towards,
        constant=to_whole(math.floor),
    ),
    ScalarEntry(
        "ceil",
        (one("x", ANY_NUMBER), optional("digits", WRITTEN_DIGITS)),
        ColumnType.BIGINT,
        "The least whole number that is not below x, or with so many digits after the point the least such DECIMAL; fails "
        "where there is none.",
        ("ceil(2.1)", 3),
        aliases=("ceiling",),
        written=towards_result,
        meets=for_digits,
        duckdb=_duckdb_towards,
        spark=_spark_towards,
        constant=to_whole(math.ceil),
    ),
    ScalarEntry(
        "sign",
        (one("x", AS_DOUBLE),),
        ColumnType.DOUBLE,
        "1.0 for a number above 0, -1.0 for one below; 0 and NaN are their own sign.",
        ("sign(-3)", -1.0),
        aliases=("signum",),
        duckdb="CASE WHEN {0} = 0 OR isnan({0}) THEN {0} ELSE CAST(sign({0}) AS DOUBLE) END",
        constant=lambda x: x if x == 0 or math.isnan(x) else math.copysign(1.0, x),
    ),
    ScalarEntry(
        "mod",
        (one("x", ANY_NUMBER), one("y", ANY_NUMBER)),
        remainder_type,
        "What `x % y` is: the remainder with the sign of x; fails where y is 0.",
        ("mod(-7, 3)", -1),
        duckdb=for_bigint(
            "CAST(CAST({0} AS HUGEINT) % nullif({1}, 0) AS BIGINT)", "({0} % nullif({1}, 0))"
        ),
        spark="try_mod({0}, {1})",
        meets=for_remainder,
    ),
    ScalarEntry(
        "nanvl",
        (one("x", AS_DOUBLE), one("otherwise", AS_DOUBLE)),
        ColumnType.DOUBLE,
        "x, or the other number where x is NaN.",
        ("nanvl(CAST('NaN' AS DOUBLE), 2)", 2.0),
        duckdb="CASE WHEN isnan({0}) THEN {1} ELSE {0} END",
        takes_null=True,
    ),
    ScalarEntry(
        "isnan",
        (one("x", AS_DOUBLE),),
        ColumnType.BOOLEAN,
        "Whether x is NaN; FALSE for NULL.",
        ("isnan(1)", False),
        duckdb="coalesce(isnan({0}), FALSE)",
        takes_null=True,
    ),
    ScalarEntry(
        "least",
        (one("value", ONE_TYPE), many("value", ONE_TYPE)),
        shared_type,
        "The least of the values that are not NULL; NULL where all are. NaN is above every number.",
        ("least(3, NULL, 2)", 2),
        takes_null=True,
        constant=_least,
    ),
    ScalarEntry(
        "greatest",
        (one("value", ONE_TYPE), many("value", ONE_TYPE)),
        shared_type,
        "The greatest of the values that are not NULL; NULL where all are. NaN is above every number.",
        ("greatest(3, NULL, 2)", 3),
        takes_null=True,
        constant=_greatest,
    ),
    ScalarEntry(
        "bround",
        (one("x", ANY_NUMBER), optional("digits", WRITTEN_DIGITS)),
        first_type,
        "x rounded to so many digits after the point (0 where left out, negative for tens and hundreds), half to the even digit.",
        ("bround(2.5)", 2.0),
        duckdb=Refused("DuckDB rounds the binary value, not the digits shown"),
        written=rounded_result,
        spark=_spark_bround,
    ),
    ScalarEntry(
        "pmod",
        (one("x", ANY_NUMBER), one("y", ANY_NUMBER)),
        remainder_type,
        "The remainder of x by y, made positive by adding y once where it is negative; fails where y is 0.",
        ("pmod(-7, 3)", 2),
        duckdb=Refused("DuckDB's remainder has another sign"),
        spark="CASE WHEN {1} <> 0 THEN pmod({0}, {1}) END",
        meets=for_remainder,
    ),
    ScalarEntry(
        "div",
        (one("x", WHOLE_OR_DECIMAL), one("y", WHOLE_OR_DECIMAL)),
        ColumnType.BIGINT,
        "x divided by y without what is after the point; fails where y is 0. `x DIV y` is the same.",
        ("div(-7, 2)", -3),
        duckdb=_duckdb_div,
        spark=_spark_div,
        meets=for_remainder,
    ),
    ScalarEntry(
        "width_bucket",
        (
            one("x", AS_DOUBLE),
            one("least", AS_DOUBLE),
            one("most", AS_DOUBLE),
            one("buckets", WHOLE),
        ),
        ColumnType.BIGINT,
        "In which of so many buckets of one width x lies, counted from 1; 0 is before the first, and one more is after the "
        "last; NULL where there are no such buckets.",
        ("width_bucket(5.3, 0.2, 10.6, 5)", 3),
        duckdb=Refused("DuckDB has no such function"),
    ),
)
