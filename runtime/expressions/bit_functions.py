"""Kernels of bits and number bases (the compiler's `functions/bits.py`).

What a kernel gets and gives is in `kernel.py`; NULL is its caller's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.columns.bytes.text_bytes import binary_of_numbers
from cqc.runtime.expressions.kernel import elementwise
from cqc.runtime.expressions.row_by_row import FAILED, row_kernel

if TYPE_CHECKING:
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.expressions.kernel import Kernel, NodeMaker, PartialKernel, PartialOutcome

_BITS = 2**64
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def based(number: str, source: int, target: int) -> Any:
    """A number to another base, by 64 bits without a sign; a negative target shows a sign."""
    text = number.strip(" ")
    if not (2 <= source <= 36 and 2 <= abs(target) <= 36) or not text:
        return None
    negative = text[0] == "-"
    value = 0
    for character in text[negative:]:
        digit = _DIGITS.find(character.upper()) if character.isascii() else -1
        if not 0 <= digit < source:
            break
        value = value * source + digit
        if value >= _BITS:
            return FAILED
    if negative and target > 0:
        value = _BITS - (
            value if value < _BITS // 2 else 1
        )  # from the least BIGINT on it is -1, as in Spark
    if target < 0 and value >= _BITS // 2:
        negative, value = True, _BITS - value
    shown = _written(value % _BITS, abs(target))
    return f"-{shown}" if negative and target < 0 else shown


def _written(value: int, base: int) -> str:
    digits = ""
    while value:
        value, digit = divmod(value, base)
        digits = _DIGITS[digit] + digits
    return digits or "0"


def _bin(number: Column) -> PartialOutcome:
    numbers = np.asarray(number.values)
    made = binary_of_numbers(np.atleast_1d(numbers))
    return (made if numbers.ndim else made[0]), None, None


KERNELS: dict[str, Kernel] = {
    "&": elementwise(np.bitwise_and),
    "|": elementwise(np.bitwise_or),
    "^": elementwise(np.bitwise_xor),
    "~": elementwise(np.invert),
    "shiftleft": elementwise(lambda x, places: np.left_shift(x, places & 63)),
    "shiftright": elementwise(lambda x, places: np.right_shift(x, places & 63)),
}

PARTIAL_KERNELS: dict[str, PartialKernel] = {
    "bin": _bin,
    "conv": row_kernel(based),
}

NODES: dict[str, NodeMaker] = {}
