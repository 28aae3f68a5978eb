"""Whole numbers bit by bit: `& | ^ ~`, shifts, and numbers written to another base."""

from __future__ import annotations

from cqc.compiler.functions.argument_rules import AS_TEXT, INT, WHOLE
from cqc.compiler.functions.entry import ScalarEntry, one
from cqc.compiler.functions.sql_forms import Refused
from cqc.compiler.meaning.types import ColumnType

_JAVA_SHIFT = "DuckDB's shifts fail where Java's wrap around"

BITS = (
    ScalarEntry(
        "&",
        (one("x", WHOLE), one("y", WHOLE)),
        ColumnType.BIGINT,
        "The bits that both have.",
        ("5 & 3", 1),
        duckdb="({0} & {1})",
        spark="({0} & {1})",
        constant=lambda x, y: x & y,
        operator="{0} & {1}",
    ),
    ScalarEntry(
        "|",
        (one("x", WHOLE), one("y", WHOLE)),
        ColumnType.BIGINT,
        "The bits that one of them has.",
        ("5 | 3", 7),
        duckdb="({0} | {1})",
        spark="({0} | {1})",
        constant=lambda x, y: x | y,
        operator="{0} | {1}",
    ),
    ScalarEntry(
        "^",
        (one("x", WHOLE), one("y", WHOLE)),
        ColumnType.BIGINT,
        "The bits that exactly one of them has.",
        ("5 ^ 3", 6),
        duckdb="xor({0}, {1})",
        spark="({0} ^ {1})",
        constant=lambda x, y: x ^ y,
        operator="{0} ^ {1}",
    ),
    ScalarEntry(
        "~",
        (one("x", WHOLE),),
        ColumnType.BIGINT,
        "Every bit changed.",
        ("~5", -6),
        duckdb="(~{0})",
        spark="(~{0})",
        constant=lambda x: ~x,
        operator="~{0}",
    ),
    ScalarEntry(
        "shiftleft",
        (one("x", WHOLE), one("places", INT)),
        ColumnType.BIGINT,
        "The bits moved so many places to the left, by the last six bits of the number of places.",
        ("shiftleft(5, 2)", 20),
        duckdb=Refused(_JAVA_SHIFT),
    ),
    ScalarEntry(
        "shiftright",
        (one("x", WHOLE), one("places", INT)),
        ColumnType.BIGINT,
        "The bits moved so many places to the right, with the sign, by the last six bits of the number of places.",
        ("shiftright(-8, 1)", -4),
        duckdb=Refused(_JAVA_SHIFT),
    ),
    ScalarEntry(
        "bin",
        (one("x", WHOLE),),
        ColumnType.STRING,
        "The number in binary; 64 digits where it is negative.",
        ("bin(13)", "1101"),
        duckdb="to_binary({0})",
    ),
    ScalarEntry(
        "conv",
        (one("number", AS_TEXT), one("from", INT), one("to", INT)),
        ColumnType.STRING,
        "A number written to one base (2 to 36) written to another; a negative base `to` makes a signed number; NULL for '' and other "
        "bases; fails beyond 64 bits.",
        ("conv('ff', 16, 10)", "255"),
        duckdb=Refused("DuckDB has no such function"),
    ),
)
