"""Give memory that was freed back to the system: allocators keep it, in case it is needed again."""

from __future__ import annotations

import ctypes
import sys

import pyarrow as pa


def give_back() -> None:
    """Return free memory of Arrow and the C library to the system. Takes some milliseconds, so call it only after much was freed."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc alone has it
        if trim is not None:
            trim(0)
