"""Output columns that lie ready beside a history, for a clause that is asked often (PSoup-C taken to the end).

A window's answer is then the same stretch of every output column. It costs the memory of the outputs, and their evaluation for
rows that may never be asked for, so it is done once a clause has been asked for more rows than there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cqc.runtime.columns import Column, to_arrow

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cqc.compiler.types import ColumnType
    from cqc.runtime.history import History, Positions

    Outputs = Callable[[Positions], tuple[Column, ...]]


class MaterialisedOutputs:
    """The outputs of every row of a history, in its order. None of them is text."""

    def __init__(self, history: History, types: tuple[ColumnType, ...], outputs: Outputs) -> None:
        self.history = history
        self._types = types
        self._outputs = outputs
        self._all_plain = all(type_.is_numeric for type_ in types)  # and no NULL so far
        self._has_null = [False] * len(types)
        self._lanes = history.attach(self._arrays_of)

    def _arrays_of(self, rows: Positions) -> list[NDArray[Any]]:
        """Values and validity of each output."""
        arrays: list[NDArray[Any]] = []
        for at, column in enumerate(self._outputs(rows)):
            arrays += (column.values, column.is_valid())
            if column.valid is not None and not column.valid.all():
                self._has_null[at] = True
                self._all_plain = False
        return arrays

    def arrays(self, stretch: slice) -> list[pa.Array]:
        """The outputs of a stretch of rows. They are copies: the history goes on moving its rows."""
        if self._all_plain:
            return [pa.array(values[stretch].copy()) for values in self._lanes.arrays[::2]]
        return [self._array(at, stretch) for at in range(len(self._types))]

    def _array(self, at: int, stretch: slice) -> pa.Array:
        values, valid = (lane[stretch].copy() for lane in self._lanes.arrays[2 * at : 2 * at + 2])
        return to_arrow(Column(self._types[at], values, valid if self._has_null[at] else None))

    def close(self) -> None:
        """Free the memory."""
        self.history.detach(self._lanes)
