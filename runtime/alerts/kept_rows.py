"""Observations that are kept: the last one of each key that is pending, firing or remembered.

Rows are only added; each has a number, and every so often those that nobody points at any more are dropped and the rest is numbered
anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.windows.waiting_rows import Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from cqc.compiler.meaning.types import ColumnType

_MOST_PARTS = 64


class KeptRows:
    """Rows by number."""

    def __init__(self, types: Sequence[ColumnType]) -> None:
        self._types = tuple(types)
        self._parts: list[Rows] = []
        self._ends: list[int] = []

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def append(self, rows: Rows) -> None:
        """More rows, numbered after those that are there."""
        if not len(rows):
            return
        self._parts.append(rows)
        self._ends.append(len(self) + len(rows))
        if len(self._parts) > _MOST_PARTS:
            self.all()

    def all(self) -> Rows:
        """All of them."""
        if not self._parts:
            return Rows.none(self._types)
        if len(self._parts) > 1:
            self._parts = [Rows.joined(self._parts)]
            self._ends = [len(self._parts[0])]
        return self._parts[0]

    def take(self, numbers: NDArray[np.int64]) -> Rows:
        """Some of them."""
        return self.all().take(numbers) if len(numbers) else Rows.none(self._types)

    def keep(self, numbers: NDArray[np.int64]) -> None:
        """Only these stay, numbered anew in this order."""
        rows = self.take(numbers)
        self._parts, self._ends = ([rows], [len(rows)]) if len(rows) else ([], [])

    @property
    def nbytes(self) -> int:
        """About what they take."""
        return sum(part.nbytes for part in self._parts)
