"""What functions on constants are made of: Python values, no arrays.

A function whose entry has such a form is worked out when the query is compiled, where all its arguments are constants. One
without is left to the runtime, which is always right. NULL is None; an evaluation that fails is None too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cqc.compiler.meaning.value_sets import LARGEST, SMALLEST

if TYPE_CHECKING:
    from collections.abc import Callable

Constant = int | float | str | bool | None


def fitting(value: int | float) -> int | float | None:
    """A whole number if BIGINT has it; a DOUBLE as it is."""
    if isinstance(value, float):
        return value
    return value if SMALLEST <= value <= LARGEST else None


def order_key(value: Constant) -> tuple[bool, object]:
    """Orders the values of one type: NaN equals itself and is above every number."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return (is_nan, 0.0 if is_nan else value)


def to_whole(towards: Callable[[float], int]) -> Callable[[float], Constant]:
    """A rounding to BIGINT; None for what has none."""
    return lambda value: fitting(towards(value)) if math.isfinite(value) else None
