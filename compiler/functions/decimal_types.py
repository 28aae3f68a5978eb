"""The types that functions of DECIMAL give, which are Spark's: what rounds drops digits after the point and may need one before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.meaning.types import (
    MOST_DIGITS,
    ColumnType,
    DecimalType,
    as_decimal,
    common_type,
    decimal,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.functions.constant_forms import Constant

    Types = Sequence[ColumnType]

_OF_DOUBLE = decimal(30, 15)  # what Spark makes of a DOUBLE where it wants a DECIMAL


def rounded_type(type_: DecimalType, digits: int) -> ColumnType:
    """The DECIMAL that one becomes where so many digits after its point are kept."""
    whole = type_.digits - type_.scale + 1
    if digits < 0:
        return decimal(min(max(whole, 1 - digits), MOST_DIGITS), 0)
    scale = min(type_.scale, digits)
    return decimal(min(whole + scale, MOST_DIGITS), scale)


def rounded_result(types: Types, constants: Sequence[Constant]) -> ColumnType:
    """The type of `round` and `bround`: that of the number, but for a DECIMAL."""
    if not isinstance(types[0], DecimalType):
        return types[0]
    return rounded_type(types[0], _digits(constants))


def towards_result(types: Types, constants: Sequence[Constant]) -> ColumnType:
    """The type of `floor` and `ceil`: whole numbers are BIGINT, but for a DECIMAL."""
    if not isinstance(types[0], DecimalType):
        return ColumnType.BIGINT
    return rounded_type(types[0], _digits(constants))


def _digits(constants: Sequence[Constant]) -> int:
    digits = constants[1] if len(constants) > 1 else 0
    return digits if isinstance(digits, int) else 0


def for_digits(types: Types) -> Types:
    """`floor` and `ceil` to so many digits are asked of a DECIMAL."""
    if len(types) == 1:
        return types
    own = types[0]
    return [_OF_DOUBLE if own is ColumnType.DOUBLE else as_decimal(own), *types[1:]]


def for_remainder(types: Types) -> Types:
    """Two numbers of one type; a DECIMAL keeps its own digits."""
    met = ColumnType.NULL
    for type_ in types:
        met = common_type(met, type_) or ColumnType.DOUBLE
    if not isinstance(met, DecimalType):
        return [met] * len(types)
    return [type_ if type_ is ColumnType.NULL else as_decimal(type_) for type_ in types]


def remainder_type(types: Types) -> ColumnType:
    """The type of a remainder."""
    one, other = types
    if not isinstance(one, DecimalType) or not isinstance(other, DecimalType):
        return one if other is ColumnType.NULL else other
    scale = max(one.scale, other.scale)
    return decimal(min(one.digits - one.scale, other.digits - other.scale) + scale, scale)
