"""Column types, and how types meet in expressions.

`INTERVAL` is the type of durations (int microseconds) and `NULL` of the bare NULL literal; no column has them.
Values: BIGINT int, DOUBLE float, STRING str, BOOLEAN bool, TIMESTAMP int microseconds since the epoch (UTC), DATE int days since
the epoch, INTERVAL int microseconds, NULL None.
"""

from __future__ import annotations

from enum import Enum


class ColumnType(Enum):
    """The type of a column or of an expression."""

    BIGINT = "BIGINT"
    DOUBLE = "DOUBLE"
    STRING = "STRING"
    BOOLEAN = "BOOLEAN"
    TIMESTAMP = "TIMESTAMP"
    DATE = "DATE"
    INTERVAL = "INTERVAL"
    NULL = "NULL"

    __hash__ = (
        object.__hash__
    )  # that of Enum is a function in Python, and types are hashed with every node

    @property
    def is_numeric(self) -> bool:
        return self in (ColumnType.BIGINT, ColumnType.DOUBLE)


TYPE_NAMES = {
    "BIGINT": ColumnType.BIGINT,
    "INT": ColumnType.BIGINT,
    "INTEGER": ColumnType.BIGINT,
    "DOUBLE": ColumnType.DOUBLE,
    "FLOAT": ColumnType.DOUBLE,
    "REAL": ColumnType.DOUBLE,
    "STRING": ColumnType.STRING,
    "VARCHAR": ColumnType.STRING,
    "TEXT": ColumnType.STRING,
    "BOOLEAN": ColumnType.BOOLEAN,
    "TIMESTAMP": ColumnType.TIMESTAMP,
    "DATE": ColumnType.DATE,
}


def type_named(word: str) -> ColumnType:
    """The type that a word stands for. One that is no type was reported; like NULL it goes with everything, so no more is said."""
    return TYPE_NAMES.get(word.upper(), ColumnType.NULL)


def common_type(left: ColumnType, right: ColumnType) -> ColumnType | None:
    """The type in which two values can be compared or mixed, or None when there is none."""
    if left is right:
        return left
    if left is ColumnType.NULL:
        return right
    if right is ColumnType.NULL:
        return left
    if left.is_numeric and right.is_numeric:
        return ColumnType.DOUBLE
    if {left, right} == {ColumnType.DATE, ColumnType.TIMESTAMP}:
        return ColumnType.TIMESTAMP
    return None
