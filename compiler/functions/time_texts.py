"""Times as text and text as times by a pattern, seconds since the epoch, and zones.

Patterns have the letters of `meaning/date_formats.py` where times are written, and of `meaning/time_patterns.py` where they are read.
"""

from __future__ import annotations

from cqc.compiler.functions.argument_rules import (
    AS_WHOLE,
    MOMENT,
    TEXT,
    TIME_OR_TEXT,
    TIME_TEXT_OR_NUMBER,
)
from cqc.compiler.functions.entry import ScalarEntry, one, optional
from cqc.compiler.functions.sql_forms import Refused
from cqc.compiler.meaning.types import ColumnType

_PATTERNS = Refused("DuckDB has patterns of its own")
_ZONES = Refused("DuckDB needs an extension for zones")
_EXAMPLE = "TIMESTAMP '2024-02-29 13:45:06.5'"

TIME_TEXTS = (
    ScalarEntry(
        "date_format",
        (one("time", MOMENT), one("pattern", TEXT)),
        ColumnType.STRING,
        "The time written by a pattern such as `yyyy-MM-dd HH:mm:ss.SSS`, `EEEE, d MMMM` or `yyyy-'Q'q`.",
        (f"date_format({_EXAMPLE}, 'EEEE, d MMM h:mm a')", "Thursday, 29 Feb 1:45 PM"),
        duckdb=_PATTERNS,
    ),
    ScalarEntry(
        "to_timestamp",
        (one("value", TIME_TEXT_OR_NUMBER), optional("pattern", TEXT)),
        ColumnType.TIMESTAMP,
        "The instant of a text that follows a pattern, or without one what CAST makes of the value; fails for another text.",
        (
            "to_timestamp('29/Feb/2024:13:45:06 +0100', 'dd/MMM/yyyy:HH:mm:ss Z')",
            1_709_210_706_000_000,
        ),
        duckdb=_PATTERNS,
    ),
    ScalarEntry(
        "to_date",
        (one("value", TIME_OR_TEXT), optional("pattern", TEXT)),
        ColumnType.DATE,
        "The date of a text that follows a pattern, or without one what CAST makes of the value; fails for another text.",
        ("to_date('29.02.2024', 'dd.MM.yyyy')", 19_782),
        duckdb=_PATTERNS,
    ),
    ScalarEntry(
        "from_unixtime",
        (one("seconds", AS_WHOLE), optional("pattern", TEXT)),
        ColumnType.STRING,
        "Seconds since the epoch written by a pattern, `yyyy-MM-dd HH:mm:ss` where none is given.",
        ("from_unixtime(1709214306)", "2024-02-29 13:45:06"),
        duckdb=_PATTERNS,
    ),
    ScalarEntry(
        "unix_timestamp",
        (one("value", TIME_OR_TEXT), optional("pattern", TEXT)),
        ColumnType.BIGINT,
        "Whole seconds since the epoch of a time, or of a text that follows a pattern (`yyyy-MM-dd HH:mm:ss`).",
        ("unix_timestamp('2024-02-29 13:45:06')", 1_709_214_306),
        aliases=("to_unix_timestamp",),
        duckdb=_PATTERNS,
    ),
    ScalarEntry(
        "unix_seconds",
        (one("time", MOMENT),),
        ColumnType.BIGINT,
        "Whole seconds since the epoch; of a time before it, the second in which it is.",
        (f"unix_seconds({_EXAMPLE})", 1_709_214_306),
        duckdb="CAST(floor(epoch_us({0}) / 1000000) AS BIGINT)",
    ),
    ScalarEntry(
        "unix_millis",
        (one("time", MOMENT),),
        ColumnType.BIGINT,
        "Whole milliseconds since the epoch.",
        (f"unix_millis({_EXAMPLE})", 1_709_214_306_500),
        duckdb="CAST(floor(epoch_us({0}) / 1000) AS BIGINT)",
    ),
    ScalarEntry(
        "unix_micros",
        (one("time", MOMENT),),
        ColumnType.BIGINT,
        "Microseconds since the epoch.",
        (f"unix_micros({_EXAMPLE})", 1_709_214_306_500_000),
        duckdb="epoch_us({0})",
    ),
    ScalarEntry(
        "from_utc_timestamp",
        (one("time", MOMENT), one("zone", TEXT)),
        ColumnType.TIMESTAMP,
        "What clocks of a zone (`Europe/Berlin`, `+01:00`) show at the time; fails for a name that no zone has.",
        (f"from_utc_timestamp({_EXAMPLE}, 'Asia/Tokyo')", 1_709_246_706_500_000),
        duckdb=_ZONES,
    ),
    ScalarEntry(
        "to_utc_timestamp",
        (one("time", MOMENT), one("zone", TEXT)),
        ColumnType.TIMESTAMP,
        "The instant at which clocks of a zone show the time: the earlier one where they show it twice, and as much later as "
        "they are put forward where they never do.",
        (f"to_utc_timestamp({_EXAMPLE}, 'Asia/Tokyo')", 1_709_181_906_500_000),
        duckdb=_ZONES,
    ),
)
