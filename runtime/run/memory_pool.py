"""Where a run of the command has its memory from, and when it gives some back.

Arrow brings an allocator of its own, which keeps what was freed for a while: as much again as the packets of a run take, 90 MB of 500 for
3,000 rules over 700 MB of files, and three times the system time for asking and giving back. With the allocator of the system what a packet
leaves is used again by kernels and by the next packet. Arrow's readers of Parquet look for theirs while Arrow is loaded, and take no notice
of what is said later: it has to be said before.

The allocator of GNU systems has a store for each thread, and what one thread freed another cannot use. The thread that reads ahead
hands everything it allocates to the engine's, so there is one store for both. Once a large piece was freed, it also takes pieces of that size
from its store, where small ones that stay keep them from being given back: 50 MB more in such a run. So the columns of packets are always
asked for by themselves, and given back as soon as they are done with. Small pieces lie between others: what is free there is given back now
and then, and whenever a run has grown by much.

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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CHOSEN = "ARROW_DEFAULT_MEMORY_POOL"  # by which a user says it for all of Arrow
_STORES = "MALLOC_ARENA_MAX"  # the same for the allocator's stores
_OWN_PIECES = "MALLOC_MMAP_THRESHOLD_"  # and for pieces by themselves
_M_ARENA_MAX, _M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD = -8, -3, -1  # as malloc.h calls them
_LARGE_BYTES = 1024 * 1024
_MADV_DONTNEED = 4  # as mman.h calls it
_FIRST, _OFTEN = (1, 2, 4), 8  # micro-batches: the first ones load kernels
_MUCH_GROWN = 24 * 1024 * 1024  # bytes since memory was given back last


def use_system_memory() -> None:
    """Let Arrow ask the system for memory, and all threads use one store of it for small pieces, unless the user has chosen.

    All of Arrow does so where it is not loaded yet, else what asks for its pool each time.
    """
    if _CHOSEN not in os.environ:
        os.environ[_CHOSEN] = "system"
        try:
            import pyarrow as pa
        finally:
            del os.environ[
                _CHOSEN
            ]  # nobody that is started from here should think that the user has said so
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
    """Gives back what a run leaves lying around: after its first micro-batches, which load kernels, now and then, and where it has grown."""

    def __init__(
        self,
        give_back: Callable[[], None] | None = None,
        resident: Callable[[], int] | None = None,
    ) -> None:
        self._give_back = give_back or _give_back
        self._resident = resident or _resident
        self._batches = 0
        self._left = 0  # bytes that were resident when memory was given back last

    def counted(self) -> None:
        """One more micro-batch is done."""
        self._batches += 1
        is_due = self._batches in _FIRST or not self._batches % _OFTEN
        if is_due or self._resident() > self._left + _MUCH_GROWN:
            self._give_back()
            self._left = self._resident()


def _resident() -> int:
    """How many bytes of memory this process has; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


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
