"""A Python function applied to the rows of several columns, for what has no vectorised form.

This is for arguments that differ from row to row where they seldom do, such as the search text of `replace`. Where only the first
argument is a column, a kernel works on the whole column instead; where it is the only one, `distinct.py` asks once for each
distinct value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.runtime.columns.columns import Column
from cqc.runtime.expressions.nested.spread import is_constant as is_constant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cqc.runtime.expressions.kernel import PartialKernel, PartialOutcome


def constant_text(column: Column) -> str:
    """The text of a constant; what it is where the constant is NULL does not matter."""
    return column.values.as_py() or ""


def texts_of_rows(function: Callable[..., str], *columns: Column) -> Any:
    """A function to text over rows: an Arrow array, or a scalar where all columns are constants."""
    if all(map(is_constant, columns)):
        return pa.scalar(_results(function, columns, 1)[0], pa.string())
    return pa.array(_results(function, columns, _rows(columns)), pa.string())


def truths_of_rows(function: Callable[..., bool], *columns: Column) -> NDArray[np.bool_]:
    """A function to truth values over rows; one value of no dimension where all columns are constants."""
    if all(map(is_constant, columns)):
        return np.asarray(bool(_results(function, columns, 1)[0]))
    return np.array(_results(function, columns, _rows(columns)), dtype=np.bool_)  # None is false


class Failed:
    """What a function of rows gives where it fails; None is NULL, and no failure."""


FAILED = Failed()


def row_kernel(
    function: Callable[..., Any], dtype: type[np.generic] | None = None
) -> PartialKernel:
    """The kernel of a Python function of one row, to text or to numbers of a type.

    It is asked once for each distinct text where only one argument is a column of text, and once where all are constants.
    """

    def kernel(*columns: Column) -> PartialOutcome:
        given = [column for column in columns if not is_constant(column)]
        if not given:
            made = _results(function, columns, 1)
            values, failed, present = _column_of(made, dtype)
            return values[0], failed[0], present[0]
        if len(given) == 1 and isinstance(given[0].values, pa.Array) and len(given[0]) > 1:
            return _by_distinct(function, columns, given[0], dtype)
        return _column_of(_results(function, columns, _rows(columns)), dtype)

    return kernel


def _by_distinct(
    function: Callable[..., Any],
    columns: Sequence[Column],
    given: Column,
    dtype: type[np.generic] | None,
) -> PartialOutcome:
    encoded = given.values.dictionary_encode(null_encoding="encode")
    distinct = [
        Column(column.type, encoded.dictionary) if column is given else column for column in columns
    ]
    made = _results(function, distinct, len(encoded.dictionary))
    values, failed, present = _column_of(made, dtype)
    places = encoded.indices.to_numpy()
    taken = values[places] if dtype is not None else values.take(encoded.indices)
    return taken, failed[places], present[places]


def _column_of(made: list[Any], dtype: type[np.generic] | None) -> tuple[Any, Any, Any]:
    """The values, where the function failed, and where there is a value."""
    failed = np.array([value is FAILED for value in made], dtype=np.bool_)
    present = np.array([value is not None for value in made], dtype=np.bool_)
    clean = [None if value is FAILED else value for value in made]
    if dtype is None:
        return pa.array(clean, pa.string()), failed, present
    numbers = np.array([0 if value is None else value for value in clean], dtype=dtype)
    return numbers, failed, present


def _rows(columns: Sequence[Column]) -> int:
    return max(len(column.values) for column in columns if not is_constant(column))


def _results(function: Callable[..., Any], columns: Sequence[Column], rows: int) -> list[Any]:
    """The function of each row; None where a text is NULL, which no function has to expect."""
    lists = [_values(column, rows) for column in columns]
    return [None if None in row else function(*row) for row in zip(*lists, strict=True)]


def _values(column: Column, rows: int) -> list[Any]:
    if isinstance(column.values, pa.Scalar):
        return [column.values.as_py()] * rows
    if isinstance(column.values, pa.Array):
        texts: list[Any] = column.values.to_pylist()
        return texts
    numbers: list[Any] = np.broadcast_to(column.values, (rows,)).tolist()
    return numbers
