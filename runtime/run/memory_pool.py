"""Where Arrow has its memory from in a run of the command.

Arrow brings an allocator of its own, which keeps what was freed for a while: as much again as the packets of a run take, 90 MB of 500 for
3,000 rules over 700 MB of files, and three times the system time for asking and giving back. With the allocator of the system what a packet
leaves is used again by kernels and by the next packet.

The allocator of GNU systems has a store for each thread, and what one thread freed another cannot use. The thread that reads ahead
hands everything it allocates to the engine's, so there is one store for both. Once a large piece was freed, it also takes pieces of that size
from its store, where small ones that stay keep them from being given back: 50 MB more in such a run. So the columns of packets are always
asked for by themselves, and given back as soon as they are done with.
"""

from __future__ import annotations

import ctypes
import os

import pyarrow as pa

_CHOSEN = "ARROW_DEFAULT_MEMORY_POOL"  # by which a user says it for all of Arrow
_STORES = "MALLOC_ARENA_MAX"  # the same for the allocator's stores
_OWN_PIECES = "MALLOC_MMAP_THRESHOLD_"  # and for pieces by themselves
_M_ARENA_MAX, _M_MMAP_THRESHOLD = -8, -3  # as malloc.h calls them
_LARGE_BYTES = 1024 * 1024


def use_system_memory() -> None:
    """Let Arrow ask the system for memory, and all threads use one store of it for small pieces, unless the user has chosen."""
    if _CHOSEN not in os.environ:
        pa.set_memory_pool(pa.system_memory_pool())
    if _STORES not in os.environ:
        _tell_allocator(_M_ARENA_MAX, 1)
    if _OWN_PIECES not in os.environ:
        _tell_allocator(_M_MMAP_THRESHOLD, _LARGE_BYTES)


def _tell_allocator(what: int, value: int) -> None:
    try:
        ctypes.CDLL(None).mallopt(what, value)
    except (AttributeError, OSError, TypeError):  # other systems have other allocators
        return
