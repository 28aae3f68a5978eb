"""Dates and instants moved, made, and counted between. Days are days of UTC."""

from __future__ import annotations

from cqc.compiler.functions.argument_rules import (
    AS_DOUBLE,
    CONDITION,
    DAY,
    INT,
    MOMENT,
    NUMBER,
    TEXT,
    WHOLE,
    WRITTEN_TEXT,
)
from cqc.compiler.functions.entry import ScalarEntry, one, optional
from cqc.compiler.functions.sql_forms import Refused, SqlCall
from cqc.compiler.meaning.types import ColumnType

_CALENDAR = Refused("DuckDB counts by rules of its own, and its calendar ends elsewhere")
_UNIT = one("unit", WRITTEN_TEXT)


def _spark_unit(call: SqlCall) -> str:
    """The unit is a bare word in Spark."""
    unit, *others = call.arguments
    return f"{call.name}({unit.strip(chr(39))}, {', '.join(others)})"


TIME_MOVES = (
    ScalarEntry(
        "date_add",
        (one("date", DAY), one("days", INT)),
        ColumnType.DATE,
        "The date so many days later.",
        ("date_add(DATE '2024-02-28', 2)", 19_783),
        aliases=("dateadd",),
        duckdb=_CALENDAR,
    ),
    ScalarEntry(
        "date_sub",
        (one("date", DAY), one("days", INT)),
        ColumnType.DATE,
        "The date so many days earlier.",
        ("date_sub(DATE '2024-03-01', 1)", 19_782),
        duckdb=_CALENDAR,
    ),
    ScalarEntry(
        "datediff",
        (one("end", DAY), one("start", DAY)),
        ColumnType.BIGINT,
        "Days from start to end. `datediff(unit, start, end)` is timestampdiff.",
        ("datediff(DATE '2024-03-01', DATE '2024-02-28')", 2),
        aliases=("date_diff",),
        duckdb="CAST({0} - {1} AS BIGINT)",
        spark="CAST(datediff({0}, {1}) AS BIGINT)",
    ),
    ScalarEntry(
        "add_months",
        (one("date", DAY), one("months", INT)),
        ColumnType.DATE,
        "The same day so many months later, or the last day of that month where it is shorter.",
        ("add_months(DATE '2024-01-31', 1)", 19_782),
        duckdb=_CALENDAR,
    ),
    ScalarEntry(
        "months_between",
        (one("end", MOMENT), one("start", MOMENT), optional("rounds", CONDITION)),
        ColumnType.DOUBLE,
        "Months from start to end: whole where both are the same day of the month or both its last one, else with a fraction "
        "of 31 days, rounded to 8 digits (unless the third argument is FALSE).",
        ("months_between(TIMESTAMP '1997-02-28 10:30:00', DATE '1996-10-30')", 3.94959677),
        duckdb=_CALENDAR,
    ),
    ScalarEntry(
        "next_day",
        (one("date", DAY), one("weekday", TEXT)),
        ColumnType.DATE,
        "The first day after the date that is this day of the week (`MO`, `Mon`, `monday`); fails for another text.",
        ("next_day(DATE '2024-02-03', 'WED')", 19_760),
        duckdb=_CALENDAR,
    ),
    ScalarEntry(
        "timestampadd",
        (_UNIT, one("count", WHOLE), one("time", MOMENT)),
        ColumnType.TIMESTAMP,
        "The time so many units later; the unit is MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, QUARTER or "
        "YEAR. A day beyond its month becomes the last one.",
        ("timestampadd(MONTH, 1, TIMESTAMP '2024-01-31 10:00:00')", 1_709_200_800_000_000),
        duckdb=_CALENDAR,
        spark=_spark_unit,
    ),
    ScalarEntry(
        "timestampdiff",
        (_UNIT, one("start", MOMENT), one("end", MOMENT)),
        ColumnType.BIGINT,
        "Whole units from start to end, by the units of timestampadd.",
        (
            "timestampdiff(HOUR, TIMESTAMP '2024-02-29 10:00:00', TIMESTAMP '2024-03-01 09:59:59')",
            23,
        ),
        duckdb=_CALENDAR,
        spark=_spark_unit,
    ),
    ScalarEntry(
        "make_date",
        (one("year", INT), one("month", INT), one("day", INT)),
        ColumnType.DATE,
        "The date of a year, a month and a day; fails where the calendar has none.",
        ("make_date(2024, 2, 29)", 19_782),
        duckdb=_CALENDAR,
    ),
    ScalarEntry(
        "make_timestamp",
        (
            one("year", INT),
            one("month", INT),
            one("day", INT),
            one("hour", INT),
            one("minute", INT),
            one("second", AS_DOUBLE),
            optional("zone", TEXT),
        ),
        ColumnType.TIMESTAMP,
        "The instant at which clocks (of the zone, else of UTC) show this; fails where none does.",
        ("make_timestamp(2024, 2, 29, 13, 45, 6.5)", 1_709_214_306_500_000),
        duckdb=_CALENDAR,
    ),
    ScalarEntry(
        "timestamp_seconds",
        (one("seconds", NUMBER),),
        ColumnType.TIMESTAMP,
        "The instant so many seconds after the epoch.",
        ("timestamp_seconds(1.5)", 1_500_000),
        duckdb=_CALENDAR,
    ),
    ScalarEntry(
        "timestamp_millis",
        (one("milliseconds", WHOLE),),
        ColumnType.TIMESTAMP,
        "The instant so many milliseconds after the epoch.",
        ("timestamp_millis(1500)", 1_500_000),
        duckdb=_CALENDAR,
    ),
    ScalarEntry(
        "timestamp_micros",
        (one("microseconds", WHOLE),),
        ColumnType.TIMESTAMP,
        "The instant so many microseconds after the epoch.",
        ("timestamp_micros(1500000)", 1_500_000),
        duckdb=_CALENDAR,
    ),
)
