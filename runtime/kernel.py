"""Kernels: functions that Numba compiles for the machine, kept in files, and read from there when they are first called.

`njit` here is Numba's, with a cache that costs nothing before the first call: Numba's own looks for its folder, tries whether
it can write there and reads the source, for each of two hundred kernels, of which a run calls ten. It also fills Numba's
registries before it reads a kernel that is there already, 0.08 CPU-s that only compiling needs; compiling fills them itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys

if TYPE_CHECKING:
    from collections.abc import Callable


class KernelCache(FunctionCache):
    """The compiled forms of one kernel, in files; nothing is looked for before one is wanted."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._opened = False

    def _open(self) -> None:
        if not self._opened:
            self._opened = True
            super().__init__(self._function)  # type: ignore[no-untyped-call]

    @property
    def cache_path(self) -> str:
        """Where the files are."""
        self._open()
        path: str = self._cache_path
        return path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled form for these types of arguments, or None."""
        self._open()
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a form that was just compiled."""
        self._open()
        super().save_overload(sig, data)  # type: ignore[no-untyped-call]

    def flush(self) -> None:
        """Forget what is kept."""
        self._open()
        super().flush()  # type: ignore[no-untyped-call]


def njit(*, cache: bool = True, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit`, with a cache that is opened when the kernel is first called."""
    compiled = numba.njit(**options)

    def make(function: Callable[..., Any]) -> Any:
        numba_dispatcher = compiled(function)
        if cache:
            numba_dispatcher._cache = KernelCache(function)
        return numba_dispatcher

    return make
