"""Where Arrow has its memory from in a run of the command.

Arrow brings an allocator of its own, which keeps what was freed for a while: as much again as the packets of a run take, 90 MB of 500 for
3,000 rules over 700 MB of files, and three times the system time for asking and giving back. With the allocator of the system what a packet
leaves is used again by kernels and by the next packet.

The allocator of GNU systems has a store for each thread, and what one thread freed another cannot use. The thread that reads ahead
hands everything it allocates to the engine's, so there is one store for both. Once a large piece was freed, it also takes pieces of that size
from its store, where small ones that stay keep them from being given back: 50 MB more in such a run. So the columns of packets are always
asked for by themselves, and given back as soon as they are done with.

Kernels are loaded by LLVM, whose code takes 60 MB and is not needed again until another kernel is loaded: a run gives these pages back too,
and the system brings back from the file what is needed after all.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CHOSEN = "ARROW_DEFAULT_MEMORY_POOL"  # by which a user says it for all of Arrow
_STORES = "MALLOC_ARENA_MAX"  # the same for the allocator's stores
_OWN_PIECES = "MALLOC_MMAP_THRESHOLD_"  # and for pieces by themselves
_M_ARENA_MAX, _M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD = -8, -3, -1  # as malloc.h calls them
_LARGE_BYTES = 1024 * 1024
_MADV_DONTNEED = 4  # as mman.h calls it
_FIRST, _OFTEN = 4, 8  # micro-batches


def use_system_memory() -> None:
    """Let Arrow ask the system for memory, and all threads use one store of it for small pieces, unless the user has chosen."""
    if _CHOSEN not in os.environ:
        pa.set_memory_pool(pa.system_memory_pool())
    if _STORES not in os.environ:
        _tell_allocator(_M_ARENA_MAX, 1)
    if _OWN_PIECES not in os.environ:
        _tell_allocator(_M_MMAP_THRESHOLD, _LARGE_BYTES)
        _tell_allocator(_M_TRIM_THRESHOLD, _LARGE_BYTES)  # it has grown with what was freed so far


def _tell_allocator(what: int, value: int) -> None:
    try:
        ctypes.CDLL(None).mallopt(what, value)
    except (AttributeError, OSError, TypeError):  # other systems have other allocators
        return


class TidyRun:
    """Gives back what a run leaves lying around: after its first micro-batches, which load kernels, and now and then later."""

    def __init__(self, give_back: Callable[[], None] | None = None) -> None:
        self._give_back = give_back or _give_back
        self._batches = 0

    def counted(self) -> None:
        """One more micro-batch is done."""
        self._batches += 1
        if self._batches == _FIRST or not self._batches % _OFTEN:
            self._give_back()


def _give_back() -> None:
    """Return free memory to the system, and the pages of LLVM's code."""
    if sys.platform != "linux":
        return
    library = ctypes.CDLL(None)
    trim = getattr(library, "malloc_trim", None)  # glibc alone has it
    if trim is not None:
        trim(0)
    with suppress(OSError, ValueError, AttributeError):
        for start, size in _code_of("libllvmlite"):
            library.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), _MADV_DONTNEED)


def _code_of(library: str) -> Iterator[tuple[int, int]]:
    """Where the code of a library is in memory, which nobody ever writes to, and how long it is."""
    with Path("/proc/self/maps").open(encoding="utf-8", errors="replace") as mapped:
        for line in mapped:
            place, access, _, _, _, *path = line.split(maxsplit=5)
            if path and library in path[0] and access == "r-xp":
                start, end = (int(each, 16) for each in place.split("-"))
                yield start, end - start
