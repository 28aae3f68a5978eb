"""What an argument of a built-in function may be, and what it becomes before the function sees it.

A rule is data: the binder reads it to accept, convert or refuse an argument, the evaluator and the SQL writer to know the
type that an argument has, and docs/functions.md shows it. A family with arguments of its own kind adds a rule to its module.
"""

from __future__ import annotations

from dataclasses import dataclass

from cqc.compiler.meaning.types import ColumnType

_NUMBERS = frozenset((ColumnType.BIGINT, ColumnType.DOUBLE))
COLUMN_TYPES = frozenset(
    (*_NUMBERS, ColumnType.STRING, ColumnType.BOOLEAN, ColumnType.TIMESTAMP, ColumnType.DATE)
)


@dataclass(frozen=True, slots=True)
class ArgumentRule:
    """The types that an argument may have. A bare NULL is always accepted, as a NULL of the type `null`."""

    shown: str  # in the documentation
    expected: str  # in the message that refuses another type
    takes: frozenset[ColumnType]
    null: ColumnType
    becomes: ColumnType | None = None  # every value is converted to it; None: it keeps its own type
    united: bool = False  # all arguments with this mark are converted to the one type they share
    compared: bool = (
        False  # all arguments with this mark can be compared with `=`, and keep their types
    )
    written_out: bool = False  # a constant, so that it is known when the query is compiled
    is_int: bool = False  # Spark wants an INT: a value beyond 32 bits is a failure


NUMBER = ArgumentRule("number", "a number", _NUMBERS, ColumnType.DOUBLE)
NUMBER_OR_DURATION = ArgumentRule(
    "number or duration", "a number", _NUMBERS | {ColumnType.INTERVAL}, ColumnType.DOUBLE
)
AS_DOUBLE = ArgumentRule(
    "number", "a number", _NUMBERS, ColumnType.DOUBLE, becomes=ColumnType.DOUBLE
)
WHOLE = ArgumentRule("BIGINT", "a whole number", frozenset((ColumnType.BIGINT,)), ColumnType.BIGINT)
POSITION = ArgumentRule(
    "BIGINT",
    "BIGINT positions",
    frozenset((ColumnType.BIGINT,)),
    ColumnType.BIGINT,
    is_int=True,
)
INT = ArgumentRule(
    "BIGINT", "a whole number", frozenset((ColumnType.BIGINT,)), ColumnType.BIGINT, is_int=True
)
WRITTEN_DIGITS = ArgumentRule(
    "BIGINT constant",
    "a whole number written out as its second argument",
    frozenset((ColumnType.BIGINT,)),
    ColumnType.BIGINT,
    written_out=True,
)
TEXT = ArgumentRule("STRING", "STRING", frozenset((ColumnType.STRING,)), ColumnType.STRING)
AS_TEXT = ArgumentRule(
    "any as STRING", "STRING", COLUMN_TYPES, ColumnType.STRING, becomes=ColumnType.STRING
)
WRITTEN_TEXT = ArgumentRule(
    "STRING constant",
    "a text written out",
    frozenset((ColumnType.STRING,)),
    ColumnType.STRING,
    written_out=True,
)
_TIMES = frozenset((ColumnType.TIMESTAMP, ColumnType.DATE))
MOMENT = ArgumentRule(
    "TIMESTAMP", "TIMESTAMP or DATE", _TIMES, ColumnType.TIMESTAMP, becomes=ColumnType.TIMESTAMP
)
DAY = ArgumentRule("DATE", "DATE or TIMESTAMP", _TIMES, ColumnType.DATE, becomes=ColumnType.DATE)
TIME_OR_TEXT = ArgumentRule(
    "STRING, DATE or TIMESTAMP",
    "STRING, DATE or TIMESTAMP",
    _TIMES | {ColumnType.STRING},
    ColumnType.STRING,
)
TIME_TEXT_OR_NUMBER = ArgumentRule(
    "STRING, DATE, TIMESTAMP or number",
    "STRING, DATE, TIMESTAMP or a number",
    _TIMES | _NUMBERS | {ColumnType.STRING},
    ColumnType.STRING,
)
AS_WHOLE = ArgumentRule(
    "number", "a number", _NUMBERS, ColumnType.BIGINT, becomes=ColumnType.BIGINT
)
CONDITION = ArgumentRule("BOOLEAN", "BOOLEAN", frozenset((ColumnType.BOOLEAN,)), ColumnType.BOOLEAN)
ONE_TYPE = ArgumentRule(
    "any one type",
    "a value of one type with the others",
    COLUMN_TYPES | {ColumnType.INTERVAL},
    ColumnType.NULL,
    united=True,
)
ONE_NUMBER_TYPE = ArgumentRule("number", "a number", _NUMBERS, ColumnType.NULL, united=True)
COMPARED = ArgumentRule(
    "any comparable",
    "a value that can be compared",
    COLUMN_TYPES | {ColumnType.INTERVAL},
    ColumnType.NULL,
    compared=True,
)
ANY_COLUMN = ArgumentRule("any", "a column's type", COLUMN_TYPES, ColumnType.DOUBLE)
ANY_OR_DURATION = ArgumentRule(
    "any", "a column's type", COLUMN_TYPES | {ColumnType.INTERVAL}, ColumnType.DOUBLE
)
