"""Kernels: functions that Numba compiles for the machine, and that Python can run as well where there is little to do.

`njit` here does not load Numba, which takes 0.3 CPU-s with its two hundred kernels. The first call of a kernel does (`compile_kernels`):
from then on every module has what Numba makes of its kernels in their place, and a call costs what it always costs.

A run over a handful of rows need not load it at all: after `begin_plain` kernels are run by Python, the very same functions, until they
took as long as loading would. Where a kernel was never compiled on this machine that is longer (`begin_plain`). What Python cannot run, because it is written in machine instructions, is given in both forms (`machine_code`),
and what Numba has to be told of other functions is told when it is loaded (`when_compiled`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from threading import Lock, local
from time import thread_time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


class Kernel:
    """A kernel while Numba is not loaded."""

    __slots__ = ("_make", "made", "py_func")

    def __init__(self, function: Callable[..., Any], make: Callable[[], Any]) -> None:
        """`make` gives the form for the machine."""
        self.py_func = function
        self._make = make
        self.made: Any = None

    def make(self) -> None:
        """Make the form for the machine."""
        self.made = self._make()

    def __call__(self, *arguments: Any) -> Any:
        """Run it: by Python while that goes, else compiled."""
        if self.made is None:
            if _PLAIN.inside:
                return self.py_func(*arguments)
            if _STATE.left_s > 0.0 or _STATE.goes_on(self.py_func):
                return _run_plain(self.py_func, arguments)
            compile_kernels()
        return self.made(*arguments)

    def __getattr__(self, name: str) -> Any:
        """What Numba knows of it."""
        if name.startswith("_"):
            raise AttributeError(name)
        compile_kernels()
        return getattr(self.made, name)


class _State:
    """What all kernels of the process have in common."""

    def __init__(self) -> None:
        self.is_compiled = False
        self.left_s = 0.0  # that kernels may still be run by Python
        self.more_s = 0.0  # and on top of that where they would have to be compiled
        self.waiting: list[Kernel] = []
        self.lessons: list[Callable[[], None]] = []
        self.lock = Lock()

    def goes_on(self, function: Callable[..., Any]) -> bool:
        """Whether Python goes on with a kernel although its time is up: compiling would take longer than loading."""
        if self.more_s <= 0.0 or is_kept(function):
            return False
        self.left_s, self.more_s = self.more_s, 0.0
        return True


class _Plain(local):
    """Whether a kernel is being run by Python in this thread: those that it calls are part of it."""

    inside = False


_STATE = _State()
_PLAIN = _Plain()


def njit(*, cache: bool = True, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit`, which loads Numba when a kernel is first called."""

    def make(function: Callable[..., Any]) -> Any:
        def compiled() -> Any:
            from cqc.runtime.kernel_cache import dispatcher_of

            return dispatcher_of(function, options, cache=cache)

        return _now_or_later(function, compiled)

    return make


def machine_code(plain: Callable[..., Any], make: Callable[[], Any]) -> Any:
    """A function for kernels that Numba and Python have in two forms; `make` gives that for Numba."""
    return _now_or_later(plain, make)


def when_compiled(lesson: Callable[[], None]) -> None:
    """Call something once Numba is loaded, before anything is compiled."""
    if _STATE.is_compiled:
        lesson()
    else:
        _STATE.lessons.append(lesson)


def begin_plain(seconds: float, more_seconds: float = 0.0) -> None:
    """Let Python run kernels for so long in all; nothing changes where Numba is loaded already.

    Args:
        seconds: about what it takes to load Numba and kernels that were compiled before.
        more_seconds: how much longer when the next kernel would have to be compiled first.
    """
    if not _STATE.is_compiled:
        _STATE.left_s, _STATE.more_s = seconds, more_seconds


def is_kept(function: Callable[..., Any]) -> bool:
    """Whether the compiled form of a kernel is there from an earlier run, told without loading Numba.

    It is where Numba puts it, beside the source. Where that cannot be written, or was told to be elsewhere, nobody knows, and yes is
    the answer.
    """
    source = Path(function.__code__.co_filename)
    folder = source.parent / "__pycache__"
    if "NUMBA_CACHE_DIR" in os.environ or not os.access(source.parent, os.W_OK):
        return True
    place = f"{source.stem}.{function.__qualname__}-{function.__code__.co_firstlineno}."
    try:
        return any(
            each.name.startswith(place) and each.suffix == ".nbi" for each in folder.iterdir()
        )
    except OSError:
        return False


def is_plain() -> bool:
    """Whether kernels are run by Python."""
    return not _STATE.is_compiled and _STATE.left_s > 0.0


def compile_kernels() -> None:
    """Load Numba, and put what it makes of kernels in their place, in every module."""
    with _STATE.lock:
        if _STATE.is_compiled:
            return
        from cqc.runtime.kernel_cache import accept

        accept(Kernel)  # somebody may have kept one
        for kernel in _STATE.waiting:
            kernel.make()
        for lesson in _STATE.lessons:
            lesson()
        _STATE.is_compiled = True
        _STATE.waiting.clear()
        _STATE.lessons.clear()
    for name, module in list(sys.modules.items()):
        if name.startswith(("cqc.", "tests.")):
            names = vars(module)
            for each, value in list(names.items()):
                if type(value) is Kernel:
                    names[each] = value.made


def _now_or_later(function: Callable[..., Any], make: Callable[[], Any]) -> Any:
    if _STATE.is_compiled:
        return make()
    kernel = Kernel(function, make)
    _STATE.waiting.append(kernel)
    return kernel


def _run_plain(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """What a kernel gives, run by Python: numbers are Python's own, as they are when compiled code gives them."""
    started = thread_time()
    _PLAIN.inside = True
    try:
        with np.errstate(all="ignore"):  # hashes overflow, as they are meant to
            return _as_python(function(*map(_as_numbers, arguments)))
    finally:
        _PLAIN.inside = False
        _STATE.left_s -= thread_time() - started


def _as_numbers(value: Any) -> Any:
    """Whole numbers as kernels have them: of 64 bits."""
    if type(value) is int:
        return np.int64(value)
    if type(value) is tuple:
        return tuple(map(_as_numbers, value))
    return value


def _as_python(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if type(value) is tuple:
        return tuple(map(_as_python, value))
    return value
