"""Functions that look for something in a text, and regular expressions. Regular expressions are RE2's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.functions.argument_rules import AS_TEXT, INT
from cqc.compiler.functions.entry import ScalarEntry, one, optional
from cqc.compiler.functions.sql_forms import PLAIN, Refused
from cqc.compiler.meaning.types import ColumnType, array_of

if TYPE_CHECKING:
    from cqc.compiler.functions.sql_forms import SqlCall

_NOT_RE2 = "DuckDB replaces and extracts by rules of its own"


def _duckdb_locate(call: SqlCall) -> str:
    """The part is found anywhere from a position on; '' is at 1, and a position below 1 (or NULL) finds nothing."""
    part, text, start = (*call.arguments, "1")[:3]
    after = f"instr(substring({text}, {start}), {part})"
    found = f"CASE WHEN {after} = 0 THEN 0 ELSE {after} + {start} - 1 END"
    known = f"CASE WHEN {part} = '' THEN CASE WHEN {text} IS NOT NULL THEN 1 END ELSE {found} END"
    below = f"CASE WHEN {text} IS NOT NULL AND {part} IS NOT NULL THEN 0 END"
    return f"CASE WHEN {start} IS NULL THEN 0 WHEN {start} < 1 THEN {below} ELSE {known} END"


def _bigint(call: SqlCall) -> str:
    return f"CAST({PLAIN(call)} AS BIGINT)"


def _spark_extract(call: SqlCall) -> str:
    """Spark fails where a text matches and the group is not there; cqc refuses such a group when it compiles."""
    return PLAIN(call)


def _spark_split(call: SqlCall) -> str:
    text, pattern, *limit = call.arguments
    return f"split({', '.join([text, pattern, *(f'CAST({each} AS INT)' for each in limit)])})"


SEARCHES = (
    ScalarEntry(
        "instr",
        (one("text", AS_TEXT), one("part", AS_TEXT)),
        ColumnType.BIGINT,
        "Where the part first occurs in the text, counted from 1; 0 where it does not.",
        ("instr('alarm', 'a')", 1),
        aliases=("strpos",),
        duckdb="CASE WHEN {1} = '' THEN CASE WHEN {0} IS NOT NULL THEN 1 END ELSE instr({0}, {1}) END",
        spark=_bigint,
    ),
    ScalarEntry(
        "locate",
        (one("part", AS_TEXT), one("text", AS_TEXT), optional("start", INT)),
        ColumnType.BIGINT,
        "Where the part first occurs in the text from a position on, counted from 1; 0 where it does not. "
        "`position(part IN text)` is the same.",
        ("locate('a', 'alarm', 2)", 3),
        aliases=("position",),
        duckdb=_duckdb_locate,
        spark=_bigint,
        takes_null=True,
    ),
    ScalarEntry(
        "split_part",
        (one("text", AS_TEXT), one("separator", AS_TEXT), one("number", INT)),
        ColumnType.STRING,
        "The part of that number between the separators, counted from 1, or from the end where negative; '' where there is "
        "none; fails for 0.",
        ("split_part('10.0.0.7', '.', -1)", "7"),
        duckdb="CASE WHEN {2} <> 0 THEN CASE WHEN {1} = '' THEN CASE WHEN abs({2}) = 1 THEN {0}"
        " WHEN {0} IS NOT NULL THEN '' END ELSE split_part({0}, {1}, {2}) END END",
        spark="CASE WHEN {2} <> 0 THEN split_part({0}, {1}, {2}) END",
    ),
    ScalarEntry(
        "split",
        (one("text", AS_TEXT), one("pattern", AS_TEXT), optional("limit", INT)),
        array_of(ColumnType.STRING),
        "The parts of the text between the matches of a regular expression, at most `limit` of them where that is above 0.",
        ("split('a1b22c', '[0-9]+')[2]", "c"),
        duckdb=Refused("DuckDB splits by rules of its own"),
        spark=lambda call: _spark_split(call),
        takes_pattern=True,
        takes_null=True,
    ),
    ScalarEntry(
        "regexp_like",
        (one("text", AS_TEXT), one("pattern", AS_TEXT)),
        ColumnType.BOOLEAN,
        "Whether the regular expression matches anywhere in the text; what `text RLIKE pattern` is.",
        ("regexp_like('bed 12', '[0-9]+')", True),
        duckdb="regexp_matches({0}, {1})",
        takes_pattern=True,
    ),
    ScalarEntry(
        "regexp_extract",
        (one("text", AS_TEXT), one("pattern", AS_TEXT), optional("group", INT)),
        ColumnType.STRING,
        "What a group (1 where it is left out, 0 is the whole) of the first match holds; '' without a match. "
        "Fails where the pattern has no such group.",
        ("regexp_extract('bed 12', '([a-z]+) ([0-9]+)', 2)", "12"),
        duckdb=Refused(_NOT_RE2),
        takes_pattern=True,
        spark=_spark_extract,
    ),
    ScalarEntry(
        "regexp_extract_all",
        (one("text", AS_TEXT), one("pattern", AS_TEXT), optional("group", INT)),
        array_of(ColumnType.STRING),
        "What a group (1 where it is left out, 0 is the whole) of each match holds. Fails where the pattern has no such group.",
        ("regexp_extract_all('bed 12, bed 7', '[a-z]+ ([0-9]+)')[1]", "7"),
        duckdb=Refused(_NOT_RE2),
        takes_pattern=True,
        takes_null=True,
    ),
    ScalarEntry(
        "regexp_replace",
        (
            one("text", AS_TEXT),
            one("pattern", AS_TEXT),
            one("replacement", AS_TEXT),
            optional("start", INT),
        ),
        ColumnType.STRING,
        "The text with each match (from a position on) replaced; `$1` is what group 1 holds, and a backslash takes "
        "the next character as it is.",
        ("regexp_replace('bed 12', '([0-9]+)', '<$1>')", "bed <12>"),
        duckdb=Refused(_NOT_RE2),
        takes_pattern=True,
    ),
)
