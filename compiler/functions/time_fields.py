"""Parts of dates and instants: years, hours, the start of a month. All in UTC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.functions.argument_rules import DAY, MOMENT, TEXT
from cqc.compiler.functions.entry import ScalarEntry, one
from cqc.compiler.functions.sql_forms import CannotWriteError, Refused
from cqc.compiler.meaning.times.time_units import TRUNCATED_TO
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from cqc.compiler.functions.constant_forms import Constant
    from cqc.compiler.functions.sql_forms import SqlCall, SqlForm

_EXAMPLE_DAY = "DATE '2024-02-29'"
_EXAMPLE_TIME = "TIMESTAMP '2024-02-29 13:45:06.5'"


def _duckdb_trunc(call: SqlCall) -> str:
    """DuckDB refuses a word that names no unit, where Spark and cqc have NULL."""
    unit = TRUNCATED_TO.get(call.arguments[0].strip("'").upper())
    if unit is None:
        raise CannotWriteError("date_trunc: DuckDB wants a unit that is written out")
    return f"CAST(date_trunc('{unit}', {call.arguments[1]}) AS TIMESTAMP)"


def _of_day(
    name: str,
    summary: str,
    value: Constant,
    *,
    aliases: tuple[str, ...] = (),
    duckdb: SqlForm = "",
    spark: SqlForm = "",
) -> ScalarEntry:
    return ScalarEntry(
        name,
        (one("date", DAY),),
        ColumnType.BIGINT,
        summary,
        (f"{name}({_EXAMPLE_DAY})", value),
        aliases=aliases,
        duckdb=duckdb or f"CAST({name}({{0}}) AS BIGINT)",
        spark=spark or f"CAST({name}({{0}}) AS BIGINT)",
    )


def _of_time(name: str, summary: str, value: Constant) -> ScalarEntry:
    return ScalarEntry(
        name,
        (one("time", MOMENT),),
        ColumnType.BIGINT,
        summary,
        (f"{name}({_EXAMPLE_TIME})", value),
        duckdb=f"CAST({name}({{0}}) AS BIGINT)",
        spark=f"CAST({name}({{0}}) AS BIGINT)",
    )


TIME_FIELDS = (
    ScalarEntry(
        "date_trunc",
        (one("unit", TEXT), one("time", MOMENT)),
        ColumnType.TIMESTAMP,
        "The start of the year, quarter, month, week (Monday), day, hour, minute, second, millisecond or microsecond that the "
        "time is in; NULL for a text that names none of these.",
        (f"date_trunc('HOUR', {_EXAMPLE_TIME})", 1_709_211_600_000_000),
        duckdb=_duckdb_trunc,
    ),
    _of_day("year", "The year.", 2024),
    _of_day("quarter", "The quarter of the year, 1 to 4.", 1),
    _of_day("month", "The month, 1 to 12.", 2),
    _of_day("day", "The day of the month.", 29, aliases=("dayofmonth",)),
    _of_day(
        "dayofweek",
        "The day of the week; 1 is Sunday.",
        5,
        duckdb="CAST(dayofweek({0}) + 1 AS BIGINT)",
    ),
    _of_day(
        "dayofweek_iso",
        "The day of the week; 1 is Monday. What `extract(DOW_ISO FROM date)` is.",
        4,
        duckdb="CAST(isodow({0}) AS BIGINT)",
        spark="CAST(extract(DAYOFWEEK_ISO FROM {0}) AS BIGINT)",
    ),
    _of_day(
        "weekday",
        "The day of the week; 0 is Monday.",
        3,
        duckdb="CAST(isodow({0}) - 1 AS BIGINT)",
    ),
    _of_day("dayofyear", "The day of the year, from 1.", 60),
    _of_day(
        "weekofyear",
        "The number of the week by ISO 8601: weeks begin on Monday, and the first one of a year holds its first Thursday.",
        9,
    ),
    _of_day(
        "yearofweek",
        "The year to which the week belongs by ISO 8601. What `extract(YEAROFWEEK FROM date)` is.",
        2024,
        duckdb="CAST(isoyear({0}) AS BIGINT)",
        spark="CAST(extract(YEAROFWEEK FROM {0}) AS BIGINT)",
    ),
    _of_time("hour", "The hour, 0 to 23.", 13),
    _of_time("minute", "The minute, 0 to 59.", 45),
    _of_time("second", "The whole second, 0 to 59.", 6),
    ScalarEntry(
        "second_of_minute",
        (one("time", MOMENT),),
        ColumnType.DOUBLE,
        "The second with its fraction. What `extract(SECOND FROM time)` is.",
        (f"second_of_minute({_EXAMPLE_TIME})", 6.5),
        duckdb="CAST(microsecond({0}) / 1000000 AS DOUBLE)",
        spark="CAST(extract(SECOND FROM {0}) AS DOUBLE)",
    ),
    ScalarEntry(
        "last_day",
        (one("date", DAY),),
        ColumnType.DATE,
        "The last day of the month.",
        ("last_day(DATE '2024-02-03')", 19_782),
        duckdb=Refused("DuckDB's last_day ends with the year 9999"),
    ),
)
