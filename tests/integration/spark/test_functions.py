"""Every built-in function means what it means in Spark: the SQL that cqc emits for Spark, asked of Spark itself.

Many calls are one SELECT, so that Spark plans seldom. They are made from the registry: a new function needs no line here.
"""

from __future__ import annotations

import math
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING

import cqc
from cqc.compiler.emit.sql import query_sql
from cqc.compiler.functions.aggregates import AGGREGATES, EXAMPLE_COLUMNS, EXAMPLE_ROWS
from cqc.compiler.functions.registry import SCALAR_FAMILIES
from cqc.compiler.functions.sql_forms import Refused
from cqc.compiler.meaning.types import ColumnType
from tests.property.random_calls import (
    COLUMNS,
    STREAM,
    by_engine,
    random_call,
    random_rows,
    same,
    with_moments,
)
from tests.support.duckdb_judge import plain

if TYPE_CHECKING:
    from cqc.runtime.spark.session.session import Session
    from tests.support.oracle.scalars import Row, Value

ENTRIES = [
    entry
    for family in SCALAR_FAMILIES.values()
    for entry in family
    if not isinstance(entry.spark, Refused)
]
COLUMNS_OF_S = [("ts", ColumnType.BIGINT), *COLUMNS]
ROWS = 400
CALLS = 5
AT_ONCE = 100  # calls in one SELECT: Spark compiles large ones slowly

# Where these fail, Spark stops the whole query and has no `try_` form. So they get arguments with which they do not fail.
STOPPING = {
    "conv": [
        "conv(little_1, 10, 16)",
        "conv('-10', 16, -10)",
        "conv(text_1, 36, 2)",
        "conv('zz', 36, 10)",
    ],
    "format_string": [
        "format_string('%s and %s', text_1, real_1)",
        "format_string('%5d|%-6d|%x|%,d', whole_1, little_1, whole_2, whole_1)",
        "format_string('%08.2f|%e|%.3e|%+d', 2.675, 12345.678, 0.000123456, little_1)",
        "format_string('%s %b %S', flag_1, flag_2, text_2)",
        "format_string('%2$s %1$s %%', whole_1, text_1)",
    ],
    "unbase64": ["unbase64(base64(text_1))", "unbase64('YWI=')"],
    "split": ["split(text_1, 'a|X')", "split(text_2, '[A-Z]', 2)"],
    "regexp_extract_all": [
        "regexp_extract_all(text_1, '(a)(b)?', 1)",
        "regexp_extract_all(text_2, '[A-Z]', 0)",
    ],
    "slice": ["slice(array(little_1, 2, 3), 2, 2)", "slice(array(little_1, 2, 3), -2, 1)"],
    "flatten": ["flatten(array(array(little_1), array(1, 2)))"],
    "map": ["map('a', little_1)", "map('a', little_1, 'b', NULL)"],
    "map_keys": ["map_keys(map('a', little_1, 'b', 2))"],
    "map_values": ["map_values(map('a', little_1, 'b', 2))"],
    "size": ["size(array(little_1, NULL))", "size(map('a', little_1))"],
    "date_add": [
        "date_add(DATE '2023-01-01', pmod(little_1, 1000))",
        "date_add(TIMESTAMP '2024-02-29', 1)",
    ],
    "date_sub": ["date_sub(DATE '2023-01-01', pmod(little_1, 1000))", "date_sub(day_1, NULL)"],
    "add_months": [
        "add_months(DATE '2023-01-31', pmod(little_1, 100))",
        "add_months(TIMESTAMP '2024-02-29', -12)",
    ],
    "next_day": [
        "next_day(DATE '2023-01-31', 'Mon')",
        "next_day(TIMESTAMP '2024-02-29', 'sunday')",
    ],
    "timestampadd": [
        "timestampadd(WEEK, -13, TIMESTAMP '2024-02-29')",
        "timestampadd(YEAR, pmod(little_1, 100), TIMESTAMP '2024-02-29 12:00:00')",
    ],
    "make_date": ["make_date(2024, 2, 29)", "make_date(1900, pmod(little_1, 12) + 1, 28)"],
    "make_timestamp": [
        "make_timestamp(2024, 2, 29, 23, 59, 59.999999)",
        "make_timestamp(2024, 3, 31, 3, 0, 0, 'Europe/Berlin')",
    ],
    "timestamp_seconds": ["timestamp_seconds(little_1)", "timestamp_seconds(0.25)"],
    "to_timestamp": ["to_timestamp('29.02.2024', 'dd.MM.yyyy')", "to_timestamp(moment_1)"],
    "to_date": ["to_date('29.02.2024', 'dd.MM.yyyy')", "to_date(day_1)"],
    "from_unixtime": [
        "from_unixtime(pmod(whole_1, 4000000000))",
        "from_unixtime(pmod(whole_1, 4000000000), 'yy ''Q''q D')",
    ],
    "unix_timestamp": [
        "unix_timestamp('29.02.2024', 'dd.MM.yyyy')",
        "unix_timestamp(TIMESTAMP '2024-02-29')",
    ],
    "from_utc_timestamp": ["from_utc_timestamp(TIMESTAMP '2024-03-31 01:30:00', 'Europe/Berlin')"],
    "to_utc_timestamp": ["to_utc_timestamp(TIMESTAMP '2024-03-31 01:30:00', 'Europe/Berlin')"],
    "regexp_like": ["regexp_like(text_1, 'a|X')", "regexp_like(text_2, '[A-Z]')"],
    "regexp_extract": [
        "regexp_extract(text_1, '(a)(b)?', 2)",
        "regexp_extract(text_1, '[A-Z]', 0)",
        "regexp_extract(text_2, '(\\w+) ')",
    ],
    "regexp_replace": [
        "regexp_replace(text_1, '(a)', '<$1>')",
        "regexp_replace(text_2, '[A-Z]', '$0$0', 2)",
        "regexp_replace(text_2, 'a|X', '\\$')",
    ],
}


def by_spark(
    session: Session, select: str, columns: list[tuple[str, ColumnType]], rows: list[Row]
) -> list[list[Value]]:
    """The answer of a query, in the order of its first output."""
    schema = ", ".join(f"{name} {type_.value}" for name, type_ in columns)
    typed = with_moments([type_ for _, type_ in columns], rows)
    session.spark.createDataFrame(typed, schema).createOrReplaceTempView("s")
    program = cqc.compile(f"CREATE STREAM s ({schema}); {select};")
    answer = session.spark.sql(query_sql(program.queries["q1"], "spark"))
    # Python has no year 0, and Spark hands timestamps over as Python's: microseconds have no such limit.
    numbers = answer.selectExpr(
        *(
            f"unix_micros(`{name}`) AS `{name}`" if type_ == "timestamp" else f"`{name}`"
            for name, type_ in answer.dtypes
        )
    )
    found = [list(row) for row in numbers.collect()]
    values = [
        [each if isinstance(each, Decimal | bytes) else plain(each) for each in row]
        for row in found
    ]
    return sorted(values, key=lambda row: row[0] or 0)  # type: ignore[arg-type, return-value]  # a number


def test_the_examples_give_what_the_documentation_says(session: Session) -> None:
    calls = ", ".join(f"{entry.example[0]} AS v{at}" for at, entry in enumerate(ENTRIES))
    ((_, *found),) = by_spark(
        session, f"SELECT ts, {calls} FROM s", [("ts", ColumnType.BIGINT)], [(0,)]
    )
    wrong = [
        f"{entry.example[0]}: {value!r}"
        for entry, value in zip(ENTRIES, found, strict=True)
        if not same(value, entry.example[1])
    ]
    assert not wrong


def test_random_calls_give_what_the_engine_gives(session: Session) -> None:
    random = Random(4)
    calls = [
        call
        for entry in ENTRIES
        for call in STOPPING.get(entry.name) or [random_call(random, entry) for _ in range(CALLS)]
    ]
    rows = random_rows(random, ROWS, more_letters="ßΣσİ")
    wrong = []
    for first in range(0, len(calls), AT_ONCE):
        wrong += differences(session, calls[first : first + AT_ONCE], rows)
    assert not wrong, "\n".join(wrong[:20])


def differences(session: Session, calls: list[str], rows: list[Row]) -> list[str]:
    """Where Spark and the engine differ."""
    select = f"SELECT ts, {', '.join(f'{call} AS v{at}' for at, call in enumerate(calls))} FROM s"
    engine = by_engine(cqc.compile(f"{STREAM} {select};"), rows)
    spark = by_spark(session, select, COLUMNS_OF_S, rows)
    wrong = []
    for row, values, found in zip(rows, engine, spark, strict=True):
        for call, value, right in zip(calls, values[1:], found[1:], strict=True):
            if not same(value, right):
                wrong.append(f"{call}: {value!r}, Spark {right!r}, with {named(row)}")
    return wrong


def named(row: Row) -> dict[str, Value]:
    return dict(zip([name for name, _ in COLUMNS_OF_S], row, strict=True))


# What depends on the order of rows can be said in SQL of DISTINCT values at most, which no example has.
SPOKEN = [
    entry for entry in AGGREGATES if not isinstance(entry.spark, Refused) and not entry.needs_time
]


def test_the_aggregates_examples_give_what_the_documentation_says(session: Session) -> None:
    calls = ", ".join(f"{entry.example[0]} AS v{at}" for at, entry in enumerate(SPOKEN))
    columns = [("ts", ColumnType.BIGINT), *EXAMPLE_COLUMNS.items()]
    rows: list[Row] = [(at, *row) for at, row in enumerate(EXAMPLE_ROWS)]
    (found,) = by_spark(session, f"SELECT {calls} FROM s BEGIN 0 END NOW", columns, rows)
    wrong = [
        f"{entry.example[0]}: {value!r}"
        for entry, value in zip(SPOKEN, found, strict=True)
        if not same(value, entry.example[1])
    ]
    assert not wrong


def test_aggregates_of_random_groups_are_those_of_the_engine(session: Session) -> None:
    random = Random(9)
    rows = random_rows(random, ROWS)
    calls = [
        *(f"{name}({kind})" for name in MOMENTS for kind in ("little_1", "real_3")),
        *(f"{name}(little_1, real_3)" for name in ("corr", "covar_samp", "covar_pop")),
        *(f"{name}(little_1, real_3)" for name in ("corr", "covar_samp", "covar_pop")),
        "percentile(little_1, 0.3)",
        "percentile(DISTINCT little_1, 0.3)",
        "percentile_cont(0.7) WITHIN GROUP (ORDER BY little_1 DESC)",
        "percentile_disc(0.7) WITHIN GROUP (ORDER BY little_1 DESC)",
        "percentile_disc(0.3) WITHIN GROUP (ORDER BY little_1)",
        "count_if(flag_1) FILTER (WHERE little_1 > 0)",
        "SUM(little_1) FILTER (WHERE flag_1)",
        "bool_and(flag_1)",
    ]
    calls = [call.replace("real_3", "little_2 * 0.25") for call in dict.fromkeys(calls)]
    shown = ", ".join(f"{call} AS v{at}" for at, call in enumerate(calls))
    select = f"SELECT ts % 7 AS g, {shown} FROM s BEGIN 0 END NOW GROUP BY ts % 7"
    program = cqc.compile(f"{STREAM} CREATE QUERY q1 AS {select};")
    engine = cqc.Engine(program)
    names = [name for name, _ in COLUMNS_OF_S]
    typed = with_moments([type_ for _, type_ in COLUMNS_OF_S], rows)
    engine.push("s", [dict(zip(names, row, strict=True)) for row in typed])
    found = sorted(list(row.values()) for row in engine.invoke("q1").to_pylist())
    judged = by_spark(session, select, COLUMNS_OF_S, rows)
    wrong = [
        f"{call}: {value!r}, Spark {right!r}"
        for values, rights in zip(found, judged, strict=True)
        for call, value, right in zip(calls, values[1:], rights[1:], strict=True)
        if not close(value, right)
    ]
    assert not wrong, "\n".join(wrong[:20])


MOMENTS = ("stddev", "stddev_pop", "variance", "var_pop", "skewness", "kurtosis", "median")


def close(left: Value, right: Value) -> bool:
    """Sums of doubles in another order differ in their last digits."""
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)
    return left == right
