"""Calling a user's registered function over columns.

The function sees NumPy arrays of the rows where no argument is NULL: int64, float64, bool, datetime64[us] for TIMESTAMP, and
object arrays of str for STRING. It returns an array of the same length (or one value for all of them); None, NaT and masked
entries are NULL. Where it raises for a block of rows it is asked again row by row, so that one bad tuple costs itself only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.compiler.types import ColumnType
from cqc.runtime.columns import Column, from_python, null_column, text_column, to_python
from cqc.runtime.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.compiler.functions.registered import UserFunction

# What arithmetic, conversions and lookups on bad values raise.
USER_FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)


def call_user_function(
    function: UserFunction, arguments: Sequence[Column], count: int
) -> tuple[Column, int]:
    """The result over `count` rows without NULLs, and how many evaluations failed."""
    if count == 0:
        return null_column(function.returns, 0), 0
    arrays = [_user_array(argument) for argument in arguments]
    try:
        return _call(function, arrays, count)
    except USER_FAULTS:
        if count == 1:
            return null_column(function.returns, 1), 1
        return _one_by_one(function, arrays, count)


def _one_by_one(
    function: UserFunction, arrays: list[NDArray[Any]], count: int
) -> tuple[Column, int]:
    """Ask row by row; also where all fail, for what a micro-batch holds must not decide whether a run goes on."""
    results: list[Any] = []
    failed = 0
    for row in range(count):
        try:
            column, bad = _call(function, [array[row : row + 1] for array in arrays], 1)
        except USER_FAULTS:
            results.append(None)
            failed += 1
        else:
            results.extend(to_python(column))
            failed += bad
    return from_python(function.returns, results), failed


def _user_array(column: Column) -> NDArray[Any]:
    if column.type is ColumnType.STRING:
        texts: NDArray[Any] = column.values.to_numpy(zero_copy_only=False)
        return texts
    if column.type is ColumnType.TIMESTAMP:
        return np.asarray(column.values).view("datetime64[us]")
    return np.asarray(column.values)


def _call(function: UserFunction, arrays: list[NDArray[Any]], count: int) -> tuple[Column, int]:
    with np.errstate(all="ignore"):
        result = function.callable(*arrays)
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    if isinstance(result, pa.Array):
        result = result.to_pylist() if result.null_count else result.to_numpy(zero_copy_only=False)
    missing = np.ma.getmaskarray(result) if isinstance(result, np.ma.MaskedArray) else None
    values = np.asarray(result)
    if values.ndim == 0:
        values = np.broadcast_to(values, (count,))
    if values.shape != (count,):
        raise RunError(
            f"the function {function.name} returned {values.size} values for {count} tuples"
        )
    return _typed(function.returns, values, missing)


def _typed(
    type_: ColumnType, values: NDArray[Any], missing: NDArray[np.bool_] | None
) -> tuple[Column, int]:
    if values.dtype == np.object_:
        empty = np.array([value is None for value in values], dtype=np.bool_)
        missing = empty if missing is None else missing | empty
    elif values.dtype.kind == "M":
        empty = np.isnat(values)
        missing = empty if missing is None else missing | empty
        values = values.astype("datetime64[us]").astype(np.int64)
    known = None if missing is None or not missing.any() else ~missing
    if type_ is ColumnType.STRING:
        texts = [
            None if known is not None and not ok else str(value)
            for value, ok in _pairs(values, known)
        ]
        return text_column(pa.array(texts, type=pa.string())), 0
    if known is not None:
        values = np.where(known, values, 0)
    return _numbers(type_, values, known)


def _pairs(values: NDArray[Any], known: NDArray[np.bool_] | None) -> Any:
    return zip(
        values.tolist(), [True] * len(values) if known is None else known.tolist(), strict=True
    )


def _numbers(
    type_: ColumnType, values: NDArray[Any], known: NDArray[np.bool_] | None
) -> tuple[Column, int]:
    if type_ is ColumnType.DOUBLE:
        return Column(type_, values.astype(np.float64), known), 0
    if type_ is ColumnType.BOOLEAN:
        return Column(type_, values.astype(np.bool_), known), 0
    if values.dtype.kind in "iub":
        return Column(type_, values.astype(np.int64), known), 0
    doubles = values.astype(np.float64)
    fits = (np.trunc(doubles) == doubles) & (np.abs(doubles) < 2.0**63)
    bad = ~fits if known is None else ~fits & known
    valid = fits if known is None else fits & known
    return Column(type_, np.where(fits, doubles, 0).astype(np.int64), valid), int(bad.sum())
