"""What an argument of a built-in function may be, and what it becomes before the function sees it.

A rule is data: the binder reads it to accept, convert or refuse an argument, the evaluator and the SQL writer to know the
type that an argument has, and docs/functions.md shows it. A family with arguments of its own kind adds a rule to its module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.types import ArrayType, ColumnType, DecimalType, MapType, StructType

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet


class TypeSet(frozenset[ColumnType]):
    """Types, and all types of some kinds: those with digits or parts are without number."""

    kinds: tuple[type, ...]

    def __new__(cls, types: Iterable[ColumnType], *kinds: type) -> TypeSet:
        made = super().__new__(cls, types)
        made.kinds = kinds
        return made

    def __contains__(self, type_: object) -> bool:
        return frozenset.__contains__(self, type_) or isinstance(type_, self.kinds)

    def __or__(self, other: AbstractSet[object]) -> TypeSet:
        kinds = other.kinds if isinstance(other, TypeSet) else ()
        more = [each for each in other if isinstance(each, ColumnType)]
        return TypeSet([*self, *more], *self.kinds, *kinds)


_NUMBERS = frozenset((ColumnType.BIGINT, ColumnType.DOUBLE))
_ALL_NUMBERS = TypeSet(_NUMBERS, DecimalType)
_NESTED = (ArrayType, MapType, StructType)
COLUMN_TYPES = TypeSet(
    (
        *_NUMBERS,
        ColumnType.STRING,
        ColumnType.BOOLEAN,
        ColumnType.TIMESTAMP,
        ColumnType.DATE,
        ColumnType.BINARY,
    ),
    DecimalType,
)
ANY_TYPES = TypeSet(COLUMN_TYPES, DecimalType, *_NESTED)


@record
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
    "number or duration", "a number", _ALL_NUMBERS | {ColumnType.INTERVAL}, ColumnType.DOUBLE
)
AS_DOUBLE = ArgumentRule(
    "number", "a number", _ALL_NUMBERS, ColumnType.DOUBLE, becomes=ColumnType.DOUBLE
)
ANY_NUMBER = ArgumentRule("number", "a number", _ALL_NUMBERS, ColumnType.DOUBLE)
WHOLE_OR_DECIMAL = ArgumentRule(
    "BIGINT or DECIMAL",
    "a whole number or a DECIMAL",
    TypeSet((ColumnType.BIGINT,), DecimalType),
    ColumnType.BIGINT,
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
    ANY_TYPES | {ColumnType.INTERVAL},
    ColumnType.NULL,
    united=True,
)
COMPARED = ArgumentRule(
    "any comparable",
    "a value that can be compared",
    ANY_TYPES | {ColumnType.INTERVAL},
    ColumnType.NULL,
    compared=True,
)
ANY_COLUMN = ArgumentRule("any", "a column's type", ANY_TYPES, ColumnType.DOUBLE)
ANY_OR_DURATION = ArgumentRule(
    "any", "a column's type", ANY_TYPES | {ColumnType.INTERVAL}, ColumnType.DOUBLE
)
ORDERED = ArgumentRule(
    "any but ARRAY, MAP and STRUCT", "a value that has an order", COLUMN_TYPES, ColumnType.DOUBLE
)
ORDERED_OR_DURATION = ArgumentRule(
    "any but ARRAY, MAP and STRUCT",
    "a value that has an order",
    COLUMN_TYPES | {ColumnType.INTERVAL},
    ColumnType.DOUBLE,
)
ARRAY = ArgumentRule("ARRAY", "an ARRAY", TypeSet((), ArrayType), ColumnType.NULL)
MAP = ArgumentRule("MAP", "a MAP", TypeSet((), MapType), ColumnType.NULL)
ARRAY_OR_MAP = ArgumentRule(
    "ARRAY or MAP", "an ARRAY or a MAP", TypeSet((), ArrayType, MapType), ColumnType.NULL
)
ANY_TYPE = ArgumentRule("any", "a column's type", ANY_TYPES, ColumnType.NULL)
NESTED = ArgumentRule(
    "STRUCT, MAP or ARRAY", "a STRUCT, MAP or ARRAY", TypeSet((), *_NESTED), ColumnType.NULL
)
