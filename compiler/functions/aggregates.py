"""The aggregates. Rows in which the argument is NULL do not count, and DISTINCT goes with each of them.

Examples are over one group of four rows, `EXAMPLE_ROWS`. The kernels are in the runtime, by `bound.AggregateFunction`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.functions.argument_rules import (
    ANY_COLUMN,
    ANY_NUMBER,
    ANY_OR_DURATION,
    AS_DOUBLE,
    AS_TEXT,
    CONDITION,
    NUMBER_OR_DURATION,
    ORDERED,
    ORDERED_OR_DURATION,
    WRITTEN_DIGITS,
    WRITTEN_TEXT,
    ArgumentRule,
)
from cqc.compiler.functions.entry import (
    AggregateEntry,
    first_type,
    mean_type,
    one,
    optional,
    sum_type,
)
from cqc.compiler.functions.sql_forms import Refused, for_bigint, for_duration, write_call
from cqc.compiler.meaning.types import ColumnType, array_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.functions.sql_forms import SqlForm

_BY_ARRIVAL = Refused("it depends on the order of arrival, which SQL does not have")
_ESTIMATE = Refused("its estimate is another")
_DUCKDB_SET = "coalesce(list_sort(list(DISTINCT {0}) FILTER (WHERE {0} IS NOT NULL)), [])"
_SPARK_SET = "sort_array(collect_set({0}))"
_SHARE = ArgumentRule(
    "share",
    "a share between 0 and 1, written out",
    frozenset((ColumnType.BIGINT, ColumnType.DOUBLE)),
    ColumnType.DOUBLE,
    written_out=True,
)


def _list_of(types: Sequence[ColumnType]) -> ColumnType:
    return array_of(types[0])


def _list_form(of_distinct: str) -> SqlForm:
    """Lists go by arrival, but for those of distinct values."""
    return lambda call: write_call(of_distinct, call) if call.distinct else _BY_ARRIVAL(call)


EXAMPLE_COLUMNS = {"x": ColumnType.BIGINT, "name": ColumnType.STRING}
EXAMPLE_ROWS: tuple[tuple[int | None, str], ...] = ((4, "d"), (1, "a"), (4, "e"), (None, "b"))

AGGREGATES = (
    AggregateEntry(
        "count",
        (one("x", ANY_OR_DURATION),),
        ColumnType.BIGINT,
        "How many values are not NULL; `COUNT(*)` counts rows.",
        ("COUNT(x)", 3),
    ),
    AggregateEntry(
        "sum",
        (one("x", NUMBER_OR_DURATION),),
        sum_type,
        "The sum, exact for BIGINT and DECIMAL; NULL where no value is, and where the total does not fit.",
        ("SUM(x)", 9),
        duckdb=for_bigint("TRY_CAST(sum({distinct}{0}) AS BIGINT)"),
        spark=for_bigint("try_cast(sum({distinct}CAST({0} AS DECIMAL(20, 0))) AS BIGINT)"),
    ),
    AggregateEntry(
        "avg",
        (one("x", NUMBER_OR_DURATION),),
        mean_type,
        "The mean; NULL where no value is. That of durations is one, in whole microseconds.",
        ("AVG(x)", 3.0),
        duckdb=for_duration("TRY_CAST(round(avg({distinct}{0})) AS BIGINT)"),
        spark=for_duration("try_cast(round(avg({distinct}{0})) AS BIGINT)"),
    ),
    AggregateEntry(
        "min",
        (one("x", ORDERED_OR_DURATION),),
        first_type,
        "The least value; NULL where no value is. NaN is above every number.",
        ("MIN(name)", "a"),
    ),
    AggregateEntry(
        "max",
        (one("x", ORDERED_OR_DURATION),),
        first_type,
        "The greatest value; NULL where no value is. NaN is above every number.",
        ("MAX(x)", 4),
    ),
    AggregateEntry(
        "count_if",
        (one("condition", CONDITION),),
        ColumnType.BIGINT,
        "How many rows the condition is TRUE for.",
        ("COUNT_IF(x > 1)", 2),
        function="count",
    ),
    AggregateEntry(
        "bool_and",
        (one("condition", CONDITION),),
        ColumnType.BOOLEAN,
        "Whether the condition is TRUE for all rows for which it is not NULL.",
        ("BOOL_AND(x > 1)", False),
        function="min",
    ),
    AggregateEntry(
        "bool_or",
        (one("condition", CONDITION),),
        ColumnType.BOOLEAN,
        "Whether the condition is TRUE for one row.",
        ("BOOL_OR(x > 3)", True),
        function="max",
    ),
    AggregateEntry(
        "first",
        (one("x", ANY_COLUMN),),
        first_type,
        "The value of the first row by event time, then by arrival, NULL or not; with IGNORE NULLS the first that is not.",
        ("FIRST(name)", "d"),
        duckdb=_BY_ARRIVAL,
        spark=_BY_ARRIVAL,
        needs_time=True,
        takes_nulls_clause=True,
    ),
    AggregateEntry(
        "last",
        (one("x", ANY_COLUMN),),
        first_type,
        "The value of the last row by event time, then by arrival, NULL or not; with IGNORE NULLS the last that is not.",
        ("LAST(name)", "b"),
        duckdb=_BY_ARRIVAL,
        spark=_BY_ARRIVAL,
        needs_time=True,
        takes_nulls_clause=True,
    ),
    AggregateEntry(
        "any_value",
        (one("x", ANY_COLUMN),),
        first_type,
        "The first value that is not NULL.",
        ("ANY_VALUE(x)", 4),
        duckdb=_BY_ARRIVAL,
        spark=_BY_ARRIVAL,
        function="first",
        needs_time=True,
    ),
    AggregateEntry(
        "max_by",
        (one("x", ANY_COLUMN), one("key", ORDERED)),
        first_type,
        "The value of the row with the greatest key; of several the earliest by event time, then by arrival.",
        ("MAX_BY(name, x)", "d"),
        aliases=("arg_max",),
        duckdb=_BY_ARRIVAL,
        spark=_BY_ARRIVAL,
        needs_time=True,
    ),
    AggregateEntry(
        "min_by",
        (one("x", ANY_COLUMN), one("key", ORDERED)),
        first_type,
        "The value of the row with the least key; of several the earliest by event time, then by arrival.",
        ("MIN_BY(name, x)", "a"),
        aliases=("arg_min",),
        duckdb=_BY_ARRIVAL,
        spark=_BY_ARRIVAL,
        needs_time=True,
    ),
    AggregateEntry(
        "stddev_samp",
        (one("x", AS_DOUBLE),),
        ColumnType.DOUBLE,
        "The standard deviation of a sample; NULL for less than two values.",
        ("STDDEV_SAMP(x)", 1.7320508075688772),
        aliases=("stddev", "std"),
    ),
    AggregateEntry(
        "stddev_pop",
        (one("x", AS_DOUBLE),),
        ColumnType.DOUBLE,
        "The standard deviation of all there is.",
        ("STDDEV_POP(x)", 1.4142135623730951),
    ),
    AggregateEntry(
        "var_samp",
        (one("x", AS_DOUBLE),),
        ColumnType.DOUBLE,
        "The variance of a sample; NULL for less than two values.",
        ("VAR_SAMP(x)", 3.0),
        aliases=("variance",),
    ),
    AggregateEntry(
        "var_pop",
        (one("x", AS_DOUBLE),),
        ColumnType.DOUBLE,
        "The variance of all there is.",
        ("VAR_POP(x)", 2.0),
    ),
    AggregateEntry(
        "skewness",
        (one("x", AS_DOUBLE),),
        ColumnType.DOUBLE,
        "How far the values lean to one side of their mean; NULL where all are equal.",
        ("SKEWNESS(x)", -0.7071067811865475),
        duckdb=Refused("DuckDB's skewness is that of a sample"),
    ),
    AggregateEntry(
        "kurtosis",
        (one("x", AS_DOUBLE),),
        ColumnType.DOUBLE,
        "How heavy the ends of the distribution are, beyond those of the normal one; NULL where all are equal.",
        ("KURTOSIS(x)", -1.5),
        duckdb=Refused("DuckDB's kurtosis is that of a sample"),
    ),
    AggregateEntry(
        "corr",
        (one("x", AS_DOUBLE), one("y", AS_DOUBLE)),
        ColumnType.DOUBLE,
        "Pearson's correlation; NULL where all x or all y are equal.",
        ("CORR(x, 2 * x)", 1.0),
        duckdb=Refused("DuckDB's correlation of equal values is NaN"),
    ),
    AggregateEntry(
        "covar_samp",
        (one("x", AS_DOUBLE), one("y", AS_DOUBLE)),
        ColumnType.DOUBLE,
        "The covariance of a sample; NULL for less than two pairs.",
        ("COVAR_SAMP(x, 2 * x)", 6.0),
    ),
    AggregateEntry(
        "covar_pop",
        (one("x", AS_DOUBLE), one("y", AS_DOUBLE)),
        ColumnType.DOUBLE,
        "The covariance of all there is.",
        ("COVAR_POP(x, 2 * x)", 4.0),
    ),
    AggregateEntry(
        "median",
        (one("x", AS_DOUBLE),),
        ColumnType.DOUBLE,
        "The value in the middle, or the mean of the two there.",
        ("MEDIAN(x)", 4.0),
    ),
    AggregateEntry(
        "percentile",
        (one("x", AS_DOUBLE), one("share", _SHARE)),
        ColumnType.DOUBLE,
        "The value below which that share lies, between the two nearest values.",
        ("PERCENTILE(x, 0.25)", 2.5),
        duckdb="quantile_cont({distinct}{0}, {1})",
        spark="percentile({distinct}{0}, {1})",
    ),
    AggregateEntry(
        "percentile_cont",
        (one("x", AS_DOUBLE), one("share", _SHARE)),
        ColumnType.DOUBLE,
        "What `percentile` is, with the values in WITHIN GROUP: `percentile_cont(0.25) WITHIN GROUP (ORDER BY x)`.",
        ("PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY x)", 2.5),
        duckdb="percentile_cont({1}) WITHIN GROUP (ORDER BY {0} {2})",
        spark="percentile_cont({1}) WITHIN GROUP (ORDER BY {0} {2})",
        takes_order=True,
    ),
    AggregateEntry(
        "percentile_disc",
        (one("x", AS_DOUBLE), one("share", _SHARE)),
        ColumnType.DOUBLE,
        "The first of the values in WITHIN GROUP at which that share of them is reached.",
        ("PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY x)", 1.0),
        duckdb="percentile_disc({1}) WITHIN GROUP (ORDER BY {0} {2})",
        spark="percentile_disc({1}) WITHIN GROUP (ORDER BY {0} {2})",
        takes_order=True,
    ),
    AggregateEntry(
        "mode",
        (one("x", ANY_COLUMN),),
        first_type,
        "The value that is there most often, the smallest of those.",
        ("MODE(x)", 4),
        duckdb=Refused("of equally frequent values DuckDB takes any"),
        spark=Refused("of equally frequent values Spark takes any"),
    ),
    AggregateEntry(
        "listagg",
        (one("x", AS_TEXT), optional("separator", WRITTEN_TEXT)),
        ColumnType.STRING,
        "The values as texts joined with the separator, in the order of event time or of WITHIN GROUP (ORDER BY ...); those of "
        "DISTINCT in their own order.",
        ("LISTAGG(name, '-')", "d-a-e-b"),
        aliases=("string_agg",),
        duckdb=_BY_ARRIVAL,
        spark=_BY_ARRIVAL,
        needs_time=True,
        takes_order=True,
    ),
    AggregateEntry(
        "collect_list",
        (one("x", ANY_COLUMN),),
        _list_of,
        "The values that are not NULL as an array, in the order of event time, then of arrival; those of DISTINCT in their own order.",
        ("COLLECT_LIST(x)[2]", 4),
        aliases=("array_agg",),
        duckdb=_list_form(_DUCKDB_SET),
        spark=_list_form(_SPARK_SET),
        needs_time=True,
    ),
    AggregateEntry(
        "collect_set",
        (one("x", ANY_COLUMN),),
        _list_of,
        "The distinct values that are not NULL as an array, in their own order.",
        ("COLLECT_SET(name)[3]", "e"),
        duckdb=_DUCKDB_SET,
        spark=_SPARK_SET,
    ),
    AggregateEntry(
        "approx_count_distinct",
        (one("x", ANY_COLUMN),),
        ColumnType.BIGINT,
        "About how many distinct values there are: the CPC sketch of Apache DataSketches with 4,096 registers and MurmurHash3, right to 1.1 % "
        "(standard error).",
        ("APPROX_COUNT_DISTINCT(x)", 2),
        duckdb=_ESTIMATE,
        spark=_ESTIMATE,
    ),
    AggregateEntry(
        "approx_percentile",
        (one("x", ANY_NUMBER), one("share", _SHARE), optional("accuracy", WRITTEN_DIGITS)),
        first_type,
        "About the value at that share: DDSketch, off by at most 1/accuracy of the value (10,000 where it is left out).",
        ("APPROX_PERCENTILE(x, 0.5)", 4),
        aliases=("percentile_approx",),
        duckdb=_ESTIMATE,
        spark=_ESTIMATE,
    ),
)
