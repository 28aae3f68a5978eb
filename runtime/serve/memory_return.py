"""Give memory that was freed back to the system: allocators keep it, in case it is needed again."""

from __future__ import annotations

import ctypes
import sys

import pyarrow as pa


def give_back() -> None:
    """Let Arrow's pool and the C library return what is free. Takes some milliseconds, so only after much was freed."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc alone has it
        if trim is not None:
            trim(0)
