"""Output columns that lie ready beside a history, for a clause that is asked often (PSoup-C taken to the end).

A window's answer is then the same stretch of every output column. It costs the memory of the outputs, and their evaluation for
rows that may never be asked for, so it is done once a clause has been asked for more rows than there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cqc.runtime.columns import Column

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
        self._has_null = [False] * len(types)
        self._lanes = history.attach(self._arrays_of)

    def _arrays_of(self, rows: Positions) -> list[NDArray[Any]]:
        """Values and validity of each output."""
        arrays: list[NDArray[Any]] = []
        for at, column in enumerate(self._outputs(rows)):
            arrays += (column.values, column.is_valid())
            if column.valid is not None and not column.valid.all():
                self._has_null[at] = True
        return arrays

    def columns(self, stretch: slice) -> tuple[Column, ...]:
        """The outputs of a stretch of rows. They are copies: the history goes on moving its rows."""
        arrays = self._lanes.arrays
        return tuple(
            Column(
                type_,
                arrays[2 * at][stretch].copy(),
                arrays[2 * at + 1][stretch].copy() if self._has_null[at] else None,
            )
            for at, type_ in enumerate(self._types)
        )

    def close(self) -> None:
        """Free the memory."""
        self.history.detach(self._lanes)
