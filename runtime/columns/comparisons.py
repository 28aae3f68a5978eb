"""Comparing columns as the language orders values.

NaN equals itself and is greater than every number, -0.0 is 0.0, text is ordered by code point, FALSE is before TRUE, and
BIGINT meeting DOUBLE is compared as DOUBLE. Operands may be constants (see `evaluate.py`): arrays of no dimension, or an
Arrow scalar for text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.bound import ComparisonOp
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column

_TEXT_KERNELS = {
    ComparisonOp.EQ: pc.equal,
    ComparisonOp.NE: pc.not_equal,
    ComparisonOp.LT: pc.less,
    ComparisonOp.LE: pc.less_equal,
    ComparisonOp.GT: pc.greater,
    ComparisonOp.GE: pc.greater_equal,
}
_NUMBER_KERNELS = {
    ComparisonOp.EQ: np.equal,
    ComparisonOp.NE: np.not_equal,
    ComparisonOp.LT: np.less,
    ComparisonOp.LE: np.less_equal,
    ComparisonOp.GT: np.greater,
    ComparisonOp.GE: np.greater_equal,
}


def compare(op: ComparisonOp, left: Column, right: Column) -> NDArray[np.bool_]:
    """Where `left op right`; unspecified where either is NULL."""
    if left.type.held_as_text:
        return truth(_TEXT_KERNELS[op](left.values, right.values))
    if left.type is ColumnType.DOUBLE or right.type is ColumnType.DOUBLE:
        return compare_doubles(op, as_double(left.values), as_double(right.values))
    return np.asarray(_NUMBER_KERNELS[op](left.values, right.values))


def truth(values: Any) -> NDArray[np.bool_]:
    """Arrow's BOOLEAN array or scalar as NumPy's; NULL is false."""
    if isinstance(values, pa.Scalar):
        return np.asarray(bool(values.as_py()))
    filled = values.fill_null(False) if values.null_count else values
    result: NDArray[np.bool_] = filled.to_numpy(zero_copy_only=False)
    return result


def as_double(values: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(values, dtype=np.float64)


def compare_doubles(
    op: ComparisonOp, left: NDArray[np.float64], right: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """The six comparisons with NaN above everything."""
    match op:
        case ComparisonOp.EQ:
            return equal_doubles(left, right)
        case ComparisonOp.NE:
            return ~equal_doubles(left, right)
        case ComparisonOp.LT:
            return less_doubles(left, right)
        case ComparisonOp.GE:
            return ~less_doubles(left, right)
        case ComparisonOp.GT:
            return less_doubles(right, left)
        case ComparisonOp.LE:
            return ~less_doubles(right, left)


def equal_doubles(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.bool_]:
    equal = np.asarray(left == right)
    right_nan = np.isnan(right)
    return equal | (np.isnan(left) & right_nan) if right_nan.any() else equal


def less_doubles(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.bool_]:
    less = np.asarray(left < right)
    right_nan = np.isnan(right)
    return less | (~np.isnan(left) & right_nan) if right_nan.any() else less
