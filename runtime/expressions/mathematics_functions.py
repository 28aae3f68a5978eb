"""Kernels of powers, logarithms and angles (the compiler's `functions/mathematics.py`).

What a kernel gets and gives is in `kernel.py`; NULL is its caller's.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.expressions.kernel import elementwise

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column
    from cqc.runtime.expressions.kernel import Kernel, NodeMaker, PartialKernel, PartialOutcome

Reals = Any  # NDArray[np.float64], or one number


def _power(base: Reals, exponent: Reals) -> NDArray[np.float64]:
    """As in Java: 1 to the power of NaN or of an infinity is NaN, where C says 1."""
    values = np.power(base, exponent)
    if np.any(
        half := exponent == 0.5
    ):  # NumPy takes the square root, which differs for -infinity and -0.0
        values = np.where(half & (np.isneginf(base) | (base == 0)), np.abs(base), values)
    nan = np.isnan(exponent) | ((np.abs(base) == 1) & np.isinf(exponent))
    return np.where(nan, np.nan, values)


def _logarithm(function: Callable[[Reals], Reals]) -> PartialKernel:
    """A logarithm has no value for 0 and below."""

    def kernel(column: Column) -> PartialOutcome:
        with np.errstate(all="ignore"):
            return np.asarray(function(column.values)), None, _is_positive(column)

    return kernel


def _is_positive(column: Column) -> NDArray[np.bool_]:
    return np.asarray(~(column.values <= 0))  # true for NaN, whose logarithm is NaN


def _log(first: Column, second: Column | None = None) -> PartialOutcome:
    if second is None:
        return _natural(first)
    with np.errstate(all="ignore"):
        values = np.asarray(np.log(second.values) / np.log(first.values))
    return values, None, np.asarray(_is_positive(first) & _is_positive(second))


_natural = _logarithm(np.log)

KERNELS: dict[str, Kernel] = {
    "pi": lambda: (np.asarray(math.pi), None),
    "e": lambda: (np.asarray(math.e), None),
    "sqrt": elementwise(np.sqrt),
    "cbrt": elementwise(np.cbrt),
    "pow": elementwise(_power),
    "exp": elementwise(np.exp),
    "radians": elementwise(np.radians),
    "degrees": elementwise(np.degrees),
    "sin": elementwise(np.sin),
    "cos": elementwise(np.cos),
    "tan": elementwise(np.tan),
    "asin": elementwise(np.arcsin),
    "acos": elementwise(np.arccos),
    "atan": elementwise(np.arctan),
    "atan2": elementwise(lambda y, x: np.arctan2(y + 0.0, x + 0.0)),  # -0.0 counts as 0.0
}

PARTIAL_KERNELS: dict[str, PartialKernel] = {
    "ln": _natural,
    "log": _log,
    "log10": _logarithm(np.log10),
    "log2": _logarithm(np.log2),
}

NODES: dict[str, NodeMaker] = {}
