"""Quotients and remainders of whole numbers, as Java has them: towards zero, a remainder with the sign of what is divided.

By a constant above 0, which is what is nearly always asked for, NumPy divides without a division: only its `//` does that, which rounds
down, so that numbers below 0 are moved up first. What stands at NULL is arbitrary, so a mask of failures may be true there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.expressions.arithmetic import Outcome

_LEAST = np.iinfo(np.int64).min


def towards_zero(values: Any, size: int) -> NDArray[np.int64]:
    """The quotient by a size above 0."""
    return np.asarray((values + ((values >> 63) & (size - 1))) // size)


def quotient(left: NDArray[np.int64], right: NDArray[np.int64]) -> Outcome:
    """What division by a whole number gives; by zero it fails, and so does the least BIGINT by -1."""
    if (size := _positive(right)) is not None:
        return towards_zero(left, size), None
    failed = np.asarray((right == 0) | ((right == -1) & (left == _LEAST)))
    divisor = np.where(failed, 1, right)
    with np.errstate(all="ignore"):
        found = np.asarray((left - np.fmod(left, divisor)) // divisor)
    return found, failed if failed.any() else None


def remainder(left: NDArray[np.int64], right: NDArray[np.int64]) -> Outcome:
    """What division leaves; by zero it fails."""
    if (size := _positive(right)) is not None:
        return np.asarray(left - towards_zero(left, size) * size), None
    zero = np.asarray(right == 0)
    # -1 divides everything; asked of the least BIGINT, the processor would trap.
    divisor = np.where(zero | (right == -1), 1, right)
    return np.asarray(np.fmod(left, divisor)), zero if zero.any() else None


def positive_remainder(left: NDArray[np.int64], right: NDArray[np.int64]) -> Outcome:
    """The remainder, with the divisor added where it is below zero, and the remainder taken again."""
    if (size := _positive(right)) is not None:
        return np.asarray(left - left // size * size), None
    rest, failed = remainder(left, right)
    divisor = np.where((right == 0) | (right == -1), 1, right)
    with np.errstate(all="ignore"):  # the sum may wrap around, as it does in Java
        again = np.fmod(rest + divisor, divisor)
    return np.where(rest < 0, again, rest), failed


def _positive(right: NDArray[np.int64]) -> int | None:
    """A constant above zero."""
    size = int(right) if np.ndim(right) == 0 else 0
    return size if size > 0 else None
