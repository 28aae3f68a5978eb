"""The compiled forms of kernels, in files: what Numba keeps, read only when a kernel is first called.

Numba's own cache looks for its folder, tries whether it can write there and reads the source, for each of two hundred kernels, of which
a run calls ten. It also fills Numba's registries before it reads a kernel that is there already, 0.08 CPU-s that only compiling needs;
compiling fills them itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys
from numba.extending import typeof_impl

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


def dispatcher_of(function: Callable[..., Any], options: dict[str, Any], *, cache: bool) -> Any:
    """What Numba makes of a function."""
    numba_dispatcher = numba.njit(**options)(function)
    if cache:
        numba_dispatcher._cache = KernelCache(function)
    return numba_dispatcher


def accept(kind: type) -> None:
    """Let compiled code use objects of a class for what they became (`made`)."""

    @typeof_impl.register(kind)
    def type_of(kernel: Any, context: Any) -> Any:
        return typeof_impl(kernel.made, context)
