"""Calling a user's registered function over columns.

The function sees NumPy arrays of the rows where no argument is NULL: int64, float64, bool, datetime64[us] for TIMESTAMP, and
object arrays of str for STRING. It returns an array of the same length (or one value for all of them); None, NaT and masked
entries are NULL. Where it raises for a block of rows it is asked again row by row, so that one bad tuple costs itself only.

A failure is a NULL, is counted, and is noted with its message and place (`function_faults`). The function is code that nobody here
has read, so whatever it raises is a failure of its own; only the lack of memory, and what ends programs, goes on. An answer of
another length cannot be told which rows it is for: none of the block has a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column, from_python, null_column, text_column, to_python
from cqc.runtime.errors import ReentrantCallError
from cqc.runtime.expressions.fault_place import place_of
from cqc.runtime.expressions.function_faults import Fault, current, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from numpy.typing import NDArray

    from cqc.compiler.functions.registered import UserFunction

_BAD_ANSWERS = (ArithmeticError, TypeError, ValueError, pa.ArrowException)  # of converting one


class WrongLengthError(Exception):
    """The function gave another number of values than it was given rows."""


class WrongTypeError(Exception):
    """The function gave what is not of its declared type."""


class Failure:
    """Takes what a piece of a user's code raises."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    def __enter__(self) -> Failure:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if isinstance(error, Exception) and not isinstance(error, MemoryError):
            self.error = error
        return self.error is not None


def call_user_function(
    function: UserFunction, arguments: Sequence[Column], count: int
) -> tuple[Column, int]:
    """The result over `count` rows without NULLs, and how many evaluations failed."""
    if count == 0:
        return null_column(function.returns, 0), 0
    arrays = [user_array(argument) for argument in arguments]
    with Failure() as failure:
        return _call(function, arrays, count)
    if count > 1 and not isinstance(failure.error, WrongLengthError):
        return _one_by_one(function, arrays, count)
    note(function, count, failure.error)
    return null_column(function.returns, count), count


def _one_by_one(
    function: UserFunction, arrays: list[NDArray[Any]], count: int
) -> tuple[Column, int]:
    """Ask row by row; also where all fail, for what a micro-batch holds must not decide whether a run goes on."""
    results: list[Any] = []
    failed = 0
    for row in range(count):
        with Failure() as failure:
            column, bad = _call(function, [array[row : row + 1] for array in arrays], 1)
        if failure.error is not None:
            note(function, 1, failure.error)
            results.append(None)
            failed += 1
        else:
            results.extend(to_python(column))
            failed += bad
    return from_python(function.returns, results), failed


def answers(function: UserFunction, results: list[Any]) -> tuple[Column, int]:
    """Values that a user's code gave one by one as a column, and how many are not of the declared type."""
    made: list[Any] = []
    failed = 0
    for result in results:
        values = np.empty(1, object)
        values[0] = result
        if isinstance(result, np.datetime64):
            values = np.array([result])
        with Failure() as failure:
            try:
                column, bad = _answer(function, values, 1)
            except _BAD_ANSWERS as error:
                shown = shortened(repr(result))
                raise WrongTypeError(
                    f"it returned {shown}, which is not a {function.returns.value}"
                ) from error
        if failure.error is not None:
            note(function, 1, failure.error)
            made.append(None)
            failed += 1
        else:
            made.extend(to_python(column))
            failed += bad
    return from_python(function.returns, made), failed


def note(function: UserFunction, failed: int, error: Exception | None) -> None:
    """Tell whoever this thread works for why a function failed."""
    faults = current()
    if faults is None:
        return
    faults.note(function.name, failed, lambda: _fault(function, error))
    if isinstance(error, ReentrantCallError) and not faults.reentered:
        faults.reentered = f"{error}; the values of the function {function.name} are NULL"


def _fault(function: UserFunction, error: Exception | None) -> Fault:
    is_answer = isinstance(error, WrongLengthError | WrongTypeError)
    told = shortened(str(error))
    kind = type(error).__name__
    text = told if is_answer else f"{kind}: {told}" if told else kind
    return Fault(text, place_of(function.callable, None if is_answer else error))


def user_array(column: Column) -> NDArray[Any]:
    if column.type is ColumnType.STRING:
        texts: NDArray[Any] = column.values.to_numpy(zero_copy_only=False)
        return texts
    if column.type is ColumnType.TIMESTAMP:
        return np.asarray(column.values).view("datetime64[us]")
    if column.type is ColumnType.DATE:
        return np.asarray(column.values).view("datetime64[D]")
    return np.asarray(column.values)


def _call(function: UserFunction, arrays: list[NDArray[Any]], count: int) -> tuple[Column, int]:
    with np.errstate(all="ignore"):
        result = function.callable(*arrays)
    try:
        return _answer(function, result, count)
    except _BAD_ANSWERS as error:
        shown = shortened(repr(_single(result)))
        raise WrongTypeError(
            f"it returned {shown}, which is not a {function.returns.value}"
        ) from error


def _answer(function: UserFunction, result: Any, count: int) -> tuple[Column, int]:
    """What a function gave back, as a column."""
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    if isinstance(result, pa.Array):
        result = result.to_pylist() if result.null_count else result.to_numpy(zero_copy_only=False)
    missing = np.ma.getmaskarray(result) if isinstance(result, np.ma.MaskedArray) else None
    values = np.asarray(result)
    if values.ndim == 0:
        values = np.broadcast_to(values, (count,))
    if values.shape != (count,):
        kind = "value" if values.size == 1 else "values"
        tuples = "tuple" if count == 1 else "tuples"
        raise WrongLengthError(f"it returned {values.size} {kind} for {count} {tuples}")
    column, bad = _typed(function.returns, values, missing)
    if bad.any():
        shown = shortened(repr(values[bad][0].item()))
        told = WrongTypeError(f"it returned {shown}, which is not a {function.returns.value}")
        note(function, int(bad.sum()), told)
    return column, int(bad.sum())


def _single(result: Any) -> Any:
    """The value of an answer for one row; the answer where it is no such thing."""
    if isinstance(result, list | tuple | np.ndarray | pa.Array) and len(result) == 1:
        return result[0].item() if isinstance(result, np.ndarray) else result[0]
    return result


def _typed(
    type_: ColumnType, values: NDArray[Any], missing: NDArray[np.bool_] | None
) -> tuple[Column, NDArray[np.bool_]]:
    """The values as a column, and which of them do not fit."""
    if values.dtype == np.object_:
        empty = np.array([value is None for value in values], dtype=np.bool_)
        missing = empty if missing is None else missing | empty
    elif values.dtype.kind == "M":
        empty = np.isnat(values)
        missing = empty if missing is None else missing | empty
        unit = "D" if type_ is ColumnType.DATE else "us"
        values = values.astype(f"datetime64[{unit}]").astype(np.int64)
    known = None if missing is None or not missing.any() else ~missing
    if type_ is ColumnType.STRING:
        texts = [
            None if known is not None and not ok else str(value)
            for value, ok in _pairs(values, known)
        ]
        return text_column(pa.array(texts, type=pa.string())), _NONE
    if known is not None:
        values = np.where(known, values, 0)
    return _numbers(type_, values, known)


def _pairs(values: NDArray[Any], known: NDArray[np.bool_] | None) -> Any:
    return zip(
        values.tolist(), [True] * len(values) if known is None else known.tolist(), strict=True
    )


def _numbers(
    type_: ColumnType, values: NDArray[Any], known: NDArray[np.bool_] | None
) -> tuple[Column, NDArray[np.bool_]]:
    if values.dtype.kind == "c" or (type_ is ColumnType.BOOLEAN and _has_text(values)):
        raise TypeError("NumPy would make something of it")
    if type_ is ColumnType.DOUBLE:
        return Column(type_, values.astype(np.float64), known), _NONE
    if type_ is ColumnType.BOOLEAN:
        return Column(type_, values.astype(np.bool_), known), _NONE
    if values.dtype.kind in "iub":
        return Column(type_, values.astype(np.int64), known), _NONE
    doubles = values.astype(np.float64)
    fits = (np.trunc(doubles) == doubles) & (np.abs(doubles) < 2.0**63)
    bad = ~fits if known is None else ~fits & known
    valid = fits if known is None else fits & known
    return Column(type_, np.where(fits, doubles, 0).astype(np.int64), valid), bad


def _has_text(values: NDArray[Any]) -> bool:
    if values.dtype.kind == "O":
        return any(isinstance(value, str | bytes) for value in values.tolist())
    return values.dtype.kind in "US"


_NONE = np.zeros(0, np.bool_)
