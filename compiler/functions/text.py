"""Functions of text. Text is counted in code points, and a position counts from 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.functions.argument_rules import ANY_COLUMN, AS_TEXT, INT, POSITION, WRITTEN_TEXT
from cqc.compiler.functions.entry import ScalarEntry, anyhow, many, one, optional
from cqc.compiler.functions.sql_forms import PLAIN, Refused
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.compiler.functions.sql_forms import SqlCall, SqlForm


def _duckdb_concat(call: SqlCall) -> str:
    return "(" + " || ".join(call.arguments) + ")"


def _duckdb_substring(call: SqlCall) -> str:
    """Position 0 is the first, negative ones count from the end; what lies before the text is not there."""
    text, position, size = (*call.arguments, "2147483647")[:3]
    start = f"CASE WHEN {position} > 0 THEN {position} - 1 WHEN {position} < 0 THEN length({text}) + {position} ELSE 0 END"
    length = f"greatest({start} + {size}, 0) - greatest({start}, 0)"
    taken = f"substring({text}, greatest({start}, 0) + 1, greatest({length}, 0))"
    return f"CASE WHEN {position} IS NOT NULL AND {size} IS NOT NULL THEN {taken} END"


def _duckdb_replace(call: SqlCall) -> str:
    text, search, replacement = (*call.arguments, "''")[:3]
    return f"CASE WHEN {search} = '' AND {replacement} IS NOT NULL THEN {text} ELSE replace({text}, {search}, {replacement}) END"


def _duckdb_pad(side: str) -> SqlForm:
    """DuckDB wants a pad of at least one character, and a length that is not negative."""

    def form(call: SqlCall) -> str:
        text, size, pad = (*call.arguments, "' '")[:3]
        padded = f"{side}pad({text}, CAST(greatest({size}, 0) AS INTEGER), {pad})"
        short = f"left({text}, greatest({size}, 0))"
        known = f"{text} IS NOT NULL AND {size} IS NOT NULL AND {pad} IS NOT NULL"
        return f"CASE WHEN {known} THEN CASE WHEN {pad} = '' THEN {short} ELSE {padded} END END"

    return form


def _duckdb_concat_ws(call: SqlCall) -> str:
    if len(call.arguments) == 1:
        return f"CASE WHEN {call.arguments[0]} IS NOT NULL THEN '' END"
    return PLAIN(call)


def _spark_levenshtein(call: SqlCall) -> str:
    return f"CAST({PLAIN(call)} AS BIGINT)"


def _trimmed(strip: Callable[[str, str], str]) -> Callable[..., str]:
    def trimmed(first: str, text: str | None = None) -> str:
        if text is None:
            return strip(first, " ")
        return strip(text, first) if first else text

    return trimmed


def _duckdb_trim(call: SqlCall) -> str:
    if len(call.arguments) == 1:
        return f"{call.name}({call.arguments[0]}, ' ')"
    characters, text = call.arguments
    return f"{call.name}({text}, {characters})"


def _spark_trim(side: str) -> SqlForm:
    def form(call: SqlCall) -> str:
        *characters, text = call.arguments
        return f"trim({' '.join([side, *characters])} FROM {text})"

    return form


TEXTS = (
    ScalarEntry(
        "lower",
        (one("text", AS_TEXT),),
        ColumnType.STRING,
        "The text in lower case.",
        ("lower('École')", "école"),
    ),
    ScalarEntry(
        "upper",
        (one("text", AS_TEXT),),
        ColumnType.STRING,
        "The text in upper case.",
        ("upper('école')", "ÉCOLE"),
    ),
    ScalarEntry(
        "length",
        (one("text", AS_TEXT),),
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
        (one("text", AS_TEXT), one("position", POSITION), optional("length", POSITION)),
        ColumnType.STRING,
        "The part from a position on, of so many code points; a negative position counts from the end, 0 is the first.",
        ("substring('abcde', -4, 2)", "bc"),
        aliases=("substr",),
        duckdb=_duckdb_substring,
    ),
    ScalarEntry(
        "trim",
        (one("text", AS_TEXT), optional("of", AS_TEXT)),
        ColumnType.STRING,
        "The text without the spaces at both ends; other white space stays. `trim(BOTH 'xy' FROM text)`, with LEADING or TRAILING too, and "
        "`trim('xy', text)` take away these characters.",
        ("trim('  a b ')", "a b"),
        duckdb=_duckdb_trim,
        spark=_spark_trim("BOTH"),
        constant=_trimmed(str.strip),
    ),
    ScalarEntry(
        "ltrim",
        (one("text", AS_TEXT), optional("of", AS_TEXT)),
        ColumnType.STRING,
        "The text without the spaces at its beginning; `ltrim('xy', text)` takes away these characters.",
        ("ltrim('  a b ')", "a b "),
        duckdb=_duckdb_trim,
        spark=_spark_trim("LEADING"),
        constant=_trimmed(str.lstrip),
    ),
    ScalarEntry(
        "rtrim",
        (one("text", AS_TEXT), optional("of", AS_TEXT)),
        ColumnType.STRING,
        "The text without the spaces at its end; `rtrim('xy', text)` takes away these characters.",
        ("rtrim('  a b ')", "  a b"),
        duckdb=_duckdb_trim,
        spark=_spark_trim("TRAILING"),
        constant=_trimmed(str.rstrip),
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
    ScalarEntry(
        "concat_ws",
        (one("separator", AS_TEXT), anyhow("part", AS_TEXT)),
        ColumnType.STRING,
        "The parts that are not NULL as text, with the separator between them; NULL where the separator is.",
        ("concat_ws('-', 'a', NULL, 1)", "a-1"),
        duckdb=_duckdb_concat_ws,
        takes_null=True,
    ),
    ScalarEntry(
        "left",
        (one("text", AS_TEXT), one("length", INT)),
        ColumnType.STRING,
        "The first so many code points; '' where the number is not above 0.",
        ("left('alarm', 2)", "al"),
        duckdb="left({0}, greatest({1}, {1} - {1}))",
    ),
    ScalarEntry(
        "right",
        (one("text", AS_TEXT), one("length", INT)),
        ColumnType.STRING,
        "The last so many code points; '' where the number is not above 0.",
        ("right('alarm', 2)", "rm"),
        duckdb="right({0}, greatest({1}, {1} - {1}))",
    ),
    ScalarEntry(
        "lpad",
        (one("text", AS_TEXT), one("length", INT), optional("pad", AS_TEXT)),
        ColumnType.STRING,
        "The text made so long with the pad (a space where it is left out) before it, or cut to that length.",
        ("lpad('7', 3, '0')", "007"),
        duckdb=_duckdb_pad("l"),
    ),
    ScalarEntry(
        "rpad",
        (one("text", AS_TEXT), one("length", INT), optional("pad", AS_TEXT)),
        ColumnType.STRING,
        "The text made so long with the pad (a space where it is left out) after it, or cut to that length.",
        ("rpad('7', 3, '-')", "7--"),
        duckdb=_duckdb_pad("r"),
    ),
    ScalarEntry(
        "repeat",
        (one("text", AS_TEXT), one("times", INT)),
        ColumnType.STRING,
        "The text so many times.",
        ("repeat('ab', 2)", "abab"),
        duckdb="repeat({0}, greatest({1}, {1} - {1}))",
    ),
    ScalarEntry(
        "translate",
        (one("text", AS_TEXT), one("from", AS_TEXT), one("to", AS_TEXT)),
        ColumnType.STRING,
        "The text with each code point of `from` replaced by that at the same place of `to`, or by nothing where there is none.",
        ("translate('a-b', '-b', '+')", "a+"),
    ),
    ScalarEntry(
        "initcap",
        (one("text", AS_TEXT),),
        ColumnType.STRING,
        "The text with the first letter of each word in title case and the others in lower case; words end at spaces.",
        ("initcap('hello wORLD')", "Hello World"),
        duckdb=Refused("DuckDB has no title case"),
    ),
    ScalarEntry(
        "format_string",
        (one("format", WRITTEN_TEXT), anyhow("value", ANY_COLUMN)),
        ColumnType.STRING,
        "The values as the format says, as in Java: `%s`, `%d`, `%5.2f`, `%x`, `%e`, `%,d`, `%2$s`; NULL is written `null`.",
        ("format_string('%s has %05.1f', 'Bed 4', 37.25)", "Bed 4 has 037.3"),
        aliases=("printf",),
        duckdb=Refused("DuckDB's formats differ from Java's"),
        takes_null=True,
    ),
    ScalarEntry(
        "levenshtein",
        (one("left", AS_TEXT), one("right", AS_TEXT), optional("most", INT)),
        ColumnType.BIGINT,
        "How many code points must be changed, added or removed to make one text of the other; -1 where that is more than `most`.",
        ("levenshtein('kitten', 'sitting')", 3),
        duckdb=Refused("DuckDB counts bytes, not code points"),
        spark=_spark_levenshtein,
    ),
)
