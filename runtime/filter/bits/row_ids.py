"""Numbers for the rows that queries refer to, counted by use.

Cuts, masks and atoms share one dense number space, so that one table of rows serves them all. A number nobody uses may be
given out again; who keeps something under the number (a cut in its sorted order) says when.
"""

from __future__ import annotations

from cqc.runtime.filter.bits.bit_sweep import FIRST_ID

SHARED_ATOM = -1


class RowIds:
    """Dense ids with use counts; the first two are the fixed rows."""

    def __init__(self) -> None:
        self.uses: list[int] = [1] * FIRST_ID
        self.column: list[int] = [SHARED_ATOM] * FIRST_ID  # whose cut it is
        self._free: list[int] = []

    def __len__(self) -> int:
        """One more than the largest id ever given out."""
        return len(self.uses)

    def take(self, column: int = SHARED_ATOM) -> int:
        """A new id, used once: a cut of the column, or an atom's."""
        if self._free:
            row_id = self._free.pop()
            self.uses[row_id], self.column[row_id] = 1, column
            return row_id
        self.uses.append(1)
        self.column.append(column)
        return len(self.uses) - 1

    def drop(self, row_id: int) -> bool:
        """Use an id once less; says whether it is unused now. Its owner then frees it."""
        self.uses[row_id] -= 1
        return not self.uses[row_id]

    def free(self, row_id: int) -> None:
        """Let an unused id be given out again."""
        self._free.append(row_id)
