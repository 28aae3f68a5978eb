"""Give memory that was freed back to the system: allocators keep it, in case it is needed again.

Two things grow and shrink by hundreds of megabytes while queries come and go: the tuples of streams, which go as time goes on,
and the results that are kept for queries with BEGIN-END, which go with time and with their query. Returning memory takes some
milliseconds, so it is done only after much was freed.
"""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

_WORTH_IT = 32 * 1024 * 1024


def give_back() -> None:
    """Return free memory of Arrow and the C library to the system. Takes some milliseconds, so call it only after much was freed."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc alone has it
        if trim is not None:
            trim(0)


class MemoryReturn:
    """Notes how much was let go since memory was last returned, and returns it when that is much."""

    def __init__(self, give_back: Callable[[], None] = give_back) -> None:
        self._give_back = give_back
        self._most: dict[str, int] = {}  # by what it is of, since memory was last returned
        self._left = 0

    def size_is(self, what: str, size: int) -> None:
        """So many bytes are in use for something that grows and shrinks: half of the most is much."""
        most = max(self._most.get(what, 0), size)
        if most - size > _WORTH_IT and 2 * size < most:
            most = size
            self._give_back()
        self._most[what] = most

    def went(self, size: int) -> None:
        """So many bytes were in use for something that is no more."""
        self._left += size
        if self._left > _WORTH_IT:
            self._left = 0
            self._give_back()
