"""Text as numbers, digests and addresses: code points, hexadecimal, base64, checksums, URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.functions.argument_rules import AS_TEXT, COLUMN_TYPES, INT, WHOLE, ArgumentRule
from cqc.compiler.functions.entry import ScalarEntry, one, optional
from cqc.compiler.functions.sql_forms import Refused, for_bigint
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.functions.sql_forms import SqlCall

_BYTES = ArgumentRule("BINARY or any as STRING", "STRING", COLUMN_TYPES, ColumnType.STRING)
_WHOLE_OR_TEXT = ArgumentRule("any", "a whole number or a text", COLUMN_TYPES, ColumnType.STRING)


def _spark_hex(call: SqlCall) -> str:
    (value,), (type_,) = call.arguments, call.types
    if type_ is ColumnType.DOUBLE:
        return f"hex(try_cast({value} AS BIGINT))"
    is_plain = type_ in (ColumnType.BIGINT, ColumnType.STRING, ColumnType.BINARY)
    return f"hex({value})" if is_plain else f"hex(CAST({value} AS STRING))"


def _as_bytes(types: Sequence[ColumnType]) -> Sequence[ColumnType]:
    """BINARY as it is, all else as text."""
    own = types[0]
    return [own if own is ColumnType.BINARY else ColumnType.STRING, *types[1:]]


def _spark_base64(call: SqlCall) -> str:
    return f"base64(CAST({call.arguments[0]} AS BINARY))"


ENCODINGS = (
    ScalarEntry(
        "ascii",
        (one("text", AS_TEXT),),
        ColumnType.BIGINT,
        "The number of the first code point; 0 for ''.",
        ("ascii('A')", 65),
        duckdb="CASE WHEN {0} = '' THEN 0 ELSE unicode({0}) END",
        spark="CAST(ascii({0}) AS BIGINT)",
    ),
    ScalarEntry(
        "chr",
        (one("number", WHOLE),),
        ColumnType.STRING,
        "The code point of the number's last eight bits; '' for a negative one.",
        ("chr(65)", "A"),
        aliases=("char",),
        duckdb=Refused("DuckDB's chr takes the whole number"),
    ),
    ScalarEntry(
        "hex",
        (one("value", _WHOLE_OR_TEXT),),
        ColumnType.STRING,
        "A number without what is after its point in hexadecimal (64 bits where it is negative), or the bytes of anything else as text.",
        ("hex(255)", "FF"),
        duckdb=for_bigint(
            "to_hex({0})", Refused("DuckDB writes values of other types in its own way")
        ),
        spark=_spark_hex,
    ),
    ScalarEntry(
        "base64",
        (one("text", _BYTES),),
        ColumnType.STRING,
        "The bytes of the text in base64, in lines of 76 characters (MIME).",
        ("base64('alarm')", "YWxhcm0="),
        duckdb=Refused("DuckDB breaks no lines"),
        spark=_spark_base64,
        meets=_as_bytes,
    ),
    ScalarEntry(
        "unbase64",
        (one("text", AS_TEXT),),
        ColumnType.BINARY,
        "The bytes that a text in base64 stands for; characters that are not base64's are passed over, and what is no whole byte fails.",
        ("unbase64('YWxhcm0=')::STRING", "alarm"),
        duckdb=Refused("DuckDB decodes by other rules"),
    ),
    ScalarEntry(
        "unhex",
        (one("text", AS_TEXT),),
        ColumnType.BINARY,
        "The bytes that hexadecimal digits stand for, with a 0 before an odd number of them; NULL for anything else.",
        ("unhex('616c')::STRING", "al"),
        duckdb=Refused("DuckDB fails for what is not hexadecimal"),
    ),
    ScalarEntry(
        "md5",
        (one("text", _BYTES),),
        ColumnType.STRING,
        "The MD5 digest of the text's bytes, in hexadecimal.",
        ("md5('a')", "0cc175b9c0f1b6a831c399e269772661"),
        meets=_as_bytes,
    ),
    ScalarEntry(
        "sha1",
        (one("text", _BYTES),),
        ColumnType.STRING,
        "The SHA-1 digest of the text's bytes, in hexadecimal.",
        ("sha1('a')", "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"),
        aliases=("sha",),
        meets=_as_bytes,
    ),
    ScalarEntry(
        "sha2",
        (one("text", _BYTES), one("bits", INT)),
        ColumnType.STRING,
        "The SHA-2 digest of 224, 256 (or 0), 384 or 512 bits, in hexadecimal; NULL for another number.",
        ("sha2('a', 224)", "abd37534c7d9a2efb9465de931cd7055ffdb8879563ae98078d6d6d5"),
        duckdb=Refused("DuckDB has SHA-256 only"),
        meets=_as_bytes,
    ),
    ScalarEntry(
        "crc32",
        (one("text", _BYTES),),
        ColumnType.BIGINT,
        "The CRC-32 checksum of the text's bytes.",
        ("crc32('a')", 3904355907),
        meets=_as_bytes,
        duckdb=Refused("DuckDB has no such function"),
    ),
    ScalarEntry(
        "url_encode",
        (one("text", AS_TEXT),),
        ColumnType.STRING,
        "The text as a part of a URL: a space is `+`, other special characters `%` and two digits.",
        ("url_encode('a b/c')", "a+b%2Fc"),
        duckdb=Refused("DuckDB encodes other characters"),
    ),
    ScalarEntry(
        "url_decode",
        (one("text", AS_TEXT),),
        ColumnType.STRING,
        "The text that `url_encode` made it of; fails where `%` is not followed by two hexadecimal digits.",
        ("url_decode('a+b%2Fc')", "a b/c"),
        duckdb=Refused("DuckDB decodes by other rules"),
        spark="try_url_decode({0})",
    ),
    ScalarEntry(
        "parse_url",
        (one("url", AS_TEXT), one("part", AS_TEXT), optional("key", AS_TEXT)),
        ColumnType.STRING,
        "The HOST, PATH, QUERY, REF, PROTOCOL, FILE, AUTHORITY or USERINFO of a URL, or one value of its query by key; NULL "
        "where it has none; fails for what is no URL.",
        ("parse_url('https://a.example/p?x=1', 'QUERY', 'x')", "1"),
        duckdb=Refused("DuckDB has no such function"),
        spark=lambda call: f"try_parse_url({', '.join(call.arguments)})",
    ),
)
