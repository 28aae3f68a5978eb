"""Powers, logarithms and angles: functions of DOUBLE that give DOUBLE.

Processors and libraries round the last digit of some of them differently, so none of those is worked out when a query is
compiled: an answer must not depend on whether an argument is a constant.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.functions.argument_rules import AS_DOUBLE
from cqc.compiler.functions.entry import ScalarEntry, one, optional
from cqc.compiler.functions.sql_forms import PLAIN
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.compiler.functions.constant_forms import Constant
    from cqc.compiler.functions.sql_forms import SqlCall, SqlForm

_NAN = "CAST('nan' AS DOUBLE)"


def _of_finite(call: SqlCall) -> str:
    (x,) = call.arguments
    return f"CASE WHEN isinf({x}) THEN {_NAN} ELSE {call.name}({x}) END"


def _of_ratio(call: SqlCall) -> str:
    (x,) = call.arguments
    return f"CASE WHEN abs({x}) > 1 THEN {_NAN} ELSE {call.name}({x}) END"


def _of_positive(call: SqlCall) -> str:
    (x,) = call.arguments
    return f"CASE WHEN {x} > 0 THEN {call.name}({x}) END"


def _real(
    name: str,
    summary: str,
    example: tuple[str, Constant],
    duckdb: SqlForm = PLAIN,
    constant: Callable[..., Constant] | None = None,
) -> ScalarEntry:
    """A function of one number."""
    return ScalarEntry(
        name,
        (one("x", AS_DOUBLE),),
        ColumnType.DOUBLE,
        summary,
        example,
        duckdb=duckdb,
        constant=constant,
    )


def _duckdb_log(call: SqlCall) -> str:
    if len(call.arguments) == 1:
        return _of_positive(replace(call, name="ln"))
    base, x = call.arguments
    return f"CASE WHEN {base} > 0 AND {x} > 0 THEN ln({x}) / ln({base}) END"


MATHEMATICS = (
    ScalarEntry(
        "pi",
        (),
        ColumnType.DOUBLE,
        "Half the way round a circle of radius 1.",
        ("pi()", math.pi),
        constant=lambda: math.pi,
    ),
    ScalarEntry(
        "e",
        (),
        ColumnType.DOUBLE,
        "The base of the natural logarithm.",
        ("e()", math.e),
        duckdb="exp(1e0)",
        constant=lambda: math.e,
    ),
    _real(
        "sqrt",
        "The square root; NaN for a number below 0.",
        ("sqrt(2.25)", 1.5),
        duckdb=f"CASE WHEN {{0}} < 0 THEN {_NAN} ELSE sqrt({{0}}) END",
        constant=lambda x: math.nan if x < 0 else math.sqrt(x),
    ),
    _real("cbrt", "The cube root.", ("cbrt(-27)", -3.0)),
    ScalarEntry(
        "pow",
        (one("x", AS_DOUBLE), one("y", AS_DOUBLE)),
        ColumnType.DOUBLE,
        "x to the power of y.",
        ("pow(2, 10)", 1024.0),
        aliases=("power",),
        # Java has no value for 1 to the power of NaN or of an infinity, where C has 1.
        duckdb=f"CASE WHEN isnan({{1}}) OR (abs({{0}}) = 1 AND isinf({{1}})) THEN {_NAN} ELSE pow({{0}}, {{1}}) END",
    ),
    _real("exp", "e to the power of x.", ("exp(0)", 1.0)),
    _real(
        "ln",
        "The natural logarithm; NULL, and no failure, for 0 and below.",
        ("ln(1)", 0.0),
        _of_positive,
    ),
    ScalarEntry(
        "log",
        (one("x", AS_DOUBLE), optional("y", AS_DOUBLE)),
        ColumnType.DOUBLE,
        "The natural logarithm of x, or with two arguments the logarithm of y to the base x; NULL, and no failure, for 0 and below.",
        ("log(2, 8)", 3.0),
        duckdb=_duckdb_log,
    ),
    _real(
        "log10",
        "The logarithm to the base 10; NULL, and no failure, for 0 and below.",
        ("log10(1000)", 3.0),
        _of_positive,
    ),
    _real(
        "log2",
        "The logarithm to the base 2; NULL, and no failure, for 0 and below.",
        ("log2(8)", 3.0),
        _of_positive,
    ),
    _real("radians", "Degrees as radians.", ("radians(180)", math.pi)),
    _real("degrees", "Radians as degrees.", ("degrees(pi())", 180.0)),
    _real(
        "sin",
        "The sine of an angle in radians; NaN for an infinite one.",
        ("sin(0)", 0.0),
        _of_finite,
    ),
    _real(
        "cos",
        "The cosine of an angle in radians; NaN for an infinite one.",
        ("cos(0)", 1.0),
        _of_finite,
    ),
    _real(
        "tan",
        "The tangent of an angle in radians; NaN for an infinite one.",
        ("tan(0)", 0.0),
        _of_finite,
    ),
    _real(
        "asin",
        "The angle in radians that has this sine; NaN outside of -1 to 1.",
        ("asin(0)", 0.0),
        _of_ratio,
    ),
    _real(
        "acos",
        "The angle in radians that has this cosine; NaN outside of -1 to 1.",
        ("acos(1)", 0.0),
        _of_ratio,
    ),
    _real("atan", "The angle in radians that has this tangent.", ("atan(0)", 0.0)),
    ScalarEntry(
        "atan2",
        (one("y", AS_DOUBLE), one("x", AS_DOUBLE)),
        ColumnType.DOUBLE,
        "The angle in radians between the x axis and the point (x, y).",
        ("atan2(0, 1)", 0.0),
        # -0.0 counts as 0.0; DuckDB would leave out an addition of 0.
        duckdb="atan2(CASE WHEN {0} = 0 THEN 0e0 ELSE {0} END, CASE WHEN {1} = 0 THEN 0e0 ELSE {1} END)",
    ),
)
