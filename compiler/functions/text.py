"""Functions of text. Text is counted in code points, and a position counts from 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.functions.argument_rules import AS_TEXT, POSITION, TEXT
from cqc.compiler.functions.entry import ScalarEntry, many, one, optional
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from cqc.compiler.functions.sql_forms import SqlCall


def _duckdb_concat(call: SqlCall) -> str:
    return "(" + " || ".join(call.arguments) + ")"


def _duckdb_substring(call: SqlCall) -> str:
    """Position 0 is the first, negative ones count from the end; what lies before the text is not there."""
    text, position, *rest = call.arguments
    start = f"CASE WHEN {position} > 0 THEN {position} - 1 WHEN {position} < 0 THEN length({text}) + {position} ELSE 0 END"
    if not rest:
        return (
            f"CASE WHEN {position} IS NOT NULL THEN substring({text}, greatest({start}, 0) + 1) END"
        )
    length = f"greatest({start} + {rest[0]}, 0) - greatest({start}, 0)"
    taken = f"substring({text}, greatest({start}, 0) + 1, greatest({length}, 0))"
    return f"CASE WHEN {position} IS NOT NULL AND {rest[0]} IS NOT NULL THEN {taken} END"


def _spark_substring(call: SqlCall) -> str:
    text, *numbers = call.arguments
    return f"substring({', '.join([text, *(f'CAST({number} AS INT)' for number in numbers)])})"


def _duckdb_replace(call: SqlCall) -> str:
    text, search, replacement = (*call.arguments, "''")[:3]
    return f"CASE WHEN {search} = '' THEN {text} ELSE replace({text}, {search}, {replacement}) END"


TEXTS = (
    ScalarEntry(
        "lower",
        (one("text", TEXT),),
        ColumnType.STRING,
        "The text in lower case.",
        ("lower('École')", "école"),
    ),
    ScalarEntry(
        "upper",
        (one("text", TEXT),),
        ColumnType.STRING,
        "The text in upper case.",
        ("upper('école')", "ÉCOLE"),
    ),
    ScalarEntry(
        "length",
        (one("text", TEXT),),
        ColumnType.BIGINT,
        "How many code points the text has.",
        ("length('éa')", 2),
        aliases=("len",),
        constant=len,
    ),
    ScalarEntry(
        "concat",
        (many("part", AS_TEXT),),
        ColumnType.STRING,
        "The parts as text, one after the other.",
        ("concat('a', 1, TRUE)", "a1true"),
        duckdb=_duckdb_concat,
        constant=lambda *parts: "".join(parts),
    ),
    ScalarEntry(
        "substring",
        (one("text", TEXT), one("position", POSITION), optional("length", POSITION)),
        ColumnType.STRING,
        "The part from a position on, of so many code points; a negative position counts from the end, 0 is the first.",
        ("substring('abcde', -4, 2)", "bc"),
        aliases=("substr",),
        duckdb=_duckdb_substring,
        spark=_spark_substring,
    ),
    ScalarEntry(
        "trim",
        (one("text", AS_TEXT),),
        ColumnType.STRING,
        "The text without the spaces at both ends; other white space stays.",
        ("trim('  a b ')", "a b"),
        duckdb="trim({0}, ' ')",
        constant=lambda text: text.strip(" "),
    ),
    ScalarEntry(
        "ltrim",
        (one("text", AS_TEXT),),
        ColumnType.STRING,
        "The text without the spaces at its beginning.",
        ("ltrim('  a b ')", "a b "),
        duckdb="ltrim({0}, ' ')",
        constant=lambda text: text.lstrip(" "),
    ),
    ScalarEntry(
        "rtrim",
        (one("text", AS_TEXT),),
        ColumnType.STRING,
        "The text without the spaces at its end.",
        ("rtrim('  a b ')", "  a b"),
        duckdb="rtrim({0}, ' ')",
        constant=lambda text: text.rstrip(" "),
    ),
    ScalarEntry(
        "replace",
        (one("text", AS_TEXT), one("search", AS_TEXT), optional("replacement", AS_TEXT)),
        ColumnType.STRING,
        "The text with each occurrence of `search` replaced, by nothing where the replacement is left out; '' occurs nowhere.",
        ("replace('banana', 'an', 'o')", "booa"),
        duckdb=_duckdb_replace,
    ),
    ScalarEntry(
        "reverse",
        (one("text", AS_TEXT),),
        ColumnType.STRING,
        "The code points of the text, the last one first.",
        ("reverse('abc')", "cba"),
        duckdb="array_to_string(list_reverse(regexp_extract_all({0}, '(?s).')), '')",
        constant=lambda text: text[::-1],
    ),
    ScalarEntry(
        "startswith",
        (one("text", AS_TEXT), one("part", AS_TEXT)),
        ColumnType.BOOLEAN,
        "Whether the text begins with the part.",
        ("startswith('alarm', 'al')", True),
        duckdb="starts_with({0}, {1})",
        constant=lambda text, part: text.startswith(part),
    ),
    ScalarEntry(
        "endswith",
        (one("text", AS_TEXT), one("part", AS_TEXT)),
        ColumnType.BOOLEAN,
        "Whether the text ends with the part.",
        ("endswith('alarm', 'al')", False),
        duckdb="ends_with({0}, {1})",
        constant=lambda text, part: text.endswith(part),
    ),
    ScalarEntry(
        "contains",
        (one("text", AS_TEXT), one("part", AS_TEXT)),
        ColumnType.BOOLEAN,
        "Whether the part occurs in the text.",
        ("contains('alarm', 'lar')", True),
        constant=lambda text, part: part in text,
    ),
)
