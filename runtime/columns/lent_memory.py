"""Memory that is filled, read and done with again and again: it is lent, and given back.

Fresh memory of some megabytes comes from the system, which clears it page by page when it is first touched; that took as long as scanning JSON text
into it. Few of these are ever lent at a time, so few are kept.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_BYTES = 32 * 1024 * 1024  # of one piece that is kept


class LentMemory:
    """Pieces of memory for any thread, of which at most so many wait for the next who asks."""

    def __init__(self, most_kept: int) -> None:
        self._most_kept = most_kept
        self._kept: list[NDArray[np.uint8]] = []

    def lend(self, size: int) -> NDArray[np.uint8]:
        """A piece of at least so many bytes, that holds anything; nobody else has it until it is given back."""
        with suppress(IndexError):  # another thread may have the last one
            piece = self._kept.pop()
            if len(piece) >= size:
                return piece
        return np.empty(size, np.uint8)

    def give_back(self, piece: NDArray[np.uint8]) -> None:
        """Let others have a piece that was lent: nothing reads it any more."""
        if len(self._kept) < self._most_kept and len(piece) <= _MOST_BYTES:
            self._kept.append(piece)
