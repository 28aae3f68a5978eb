"""DECIMAL and BINARY as texts that are ordered, and equal, as the values are.

Everything that keeps, hashes, groups and orders text then does so for these types too. A DECIMAL is its digits without the point (the
scale is the type's), moved by 2**127 and written with 32 hexadecimal digits; a BINARY has two such digits for each byte.

    DECIMAL(5, 2) 1.50    80000000000000000000000000000096          BINARY of the bytes 1 and 255    01ff
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation

_OFFSET = 1 << 127
_CONTEXT = Context(prec=200, rounding=ROUND_HALF_UP)


def text_of_digits(digits: int) -> str:
    """The text of a DECIMAL whose digits are those of this number."""
    return f"{digits + _OFFSET:032x}"


def digits_of_text(text: str) -> int:
    """The number that has the digits of a DECIMAL."""
    return int(text, 16) - _OFFSET


def scaled_digits(value: Decimal | int, digits: int, scale: int) -> int | None:
    """The digits of a number rounded half up to a scale; None when it has more of them than there is room for."""
    try:
        moved = int(_CONTEXT.quantize(_CONTEXT.scaleb(Decimal(value), scale), Decimal(1)))
    except (InvalidOperation, OverflowError, ValueError):
        return None
    return moved if abs(moved) < 10**digits else None


def decimal_text(text: str, scale: int) -> str:
    """The coded text as people write the number: all digits, no exponent."""
    return plain_number(digits_of_text(text), scale)


def plain_number(digits: int, scale: int) -> str:
    """`-150` with two after the point is `-1.50`."""
    sign, size = ("-" if digits < 0 else ""), str(abs(digits))
    if not scale:
        return sign + size
    size = size.rjust(scale + 1, "0")
    return f"{sign}{size[:-scale]}.{size[-scale:]}"
