"""The compiled forms of kernels, in files: what Numba keeps, read only when a kernel is first called.

Numba's own cache looks for its folder, tries whether it can write there and reads the source, for each of two hundred kernels, of which
a run calls ten. It also fills Numba's registries before it reads a kernel that is there already, 0.08 CPU-s that only compiling needs;
compiling fills them itself.

A run that reads fifty kernels pays for each of them, so nothing is done that only compiling needs: what could be built into other
kernels is read when one of them is compiled (`LoadedLibrary`), and modules of Numba in which a part of a kernel was written are not imported
for their names (`_environment`). That takes 0.25 CPU-s off such a run.
"""

from __future__ import annotations

import pickle
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
from llvmlite.binding import parse_bitcode
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime.nrt import rtsys
from numba.extending import typeof_impl

if TYPE_CHECKING:
    from collections.abc import Callable

_WRAPPER = "_ZN7cpython"  # how names begin of what Python calls


class LoadedLibrary(JITCodeLibrary):
    """Machine code from a file; the form that can be built into other kernels is read when one asks for it."""

    _kept_form: bytes | None
    _linked: Any

    @classmethod
    def read(cls, codegen: Any, state: tuple[str, str, Any]) -> Any:
        """What a file has, ready to be called."""
        name, kind, data = state
        assert kind == "object"
        self = cls(codegen, name)
        code, self._kept_form = data
        self.enable_object_caching()  # type: ignore[no-untyped-call]
        self._set_compiled_object(code)  # type: ignore[no-untyped-call]
        self._finalize_final_module()  # type: ignore[no-untyped-call]
        return self

    @property
    def _shared_module(self) -> Any:
        if self._kept_form is not None:
            self._linked, self._kept_form = parse_bitcode(self._kept_form), None
        return self._linked

    @_shared_module.setter
    def _shared_module(self, module: Any) -> None:
        self._linked, self._kept_form = module, None

    def get_pointer_to_function(self, name: str) -> Any:
        """Where a function begins. Python calls kernels by their wrappers, which every file has."""
        numba_codegen = self._codegen
        numba_engine = numba_codegen._engine
        if not name.startswith(_WRAPPER):
            numba_engine._load_defined_symbols(self._shared_module)  # type: ignore[no-untyped-call]
            return super().get_pointer_to_function(name)  # type: ignore[no-untyped-call]
        return numba_engine.get_function_address(name)


class _Part:
    """Where a part of a kernel was written, as Numba asks for it."""

    def __init__(self, module: str, name: str) -> None:
        self.env_name = name
        self._module = module

    def lookup_globals(self) -> dict[str, Any]:
        """The names of its module where that is there; compiled code asks for none of them."""
        module = sys.modules.get(self._module)
        return {"__name__": self._module} if module is None else vars(module)


def _environment(module: str, constants: list[Any], name: str) -> Any:
    """What a part of a kernel has from Python: its constants."""
    found = lookup_environment(name)  # type: ignore[no-untyped-call]
    if found is None:
        found = Environment.from_fndesc(_Part(module, name))  # type: ignore[no-untyped-call]
        found.consts[:] = constants
    return found


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Everything as it is called, but environments, which would import their modules."""
        if (module, name) == ("numba.core.environment", "_rebuild_env"):
            return _environment
        return super().find_class(module, name)


class _KernelFile(IndexDataCacheFile):
    def _load_data(self, name: str) -> Any:
        with Path(self._data_path(name)).open("rb") as file:  # type: ignore[no-untyped-call]
            return _Unpickler(file).load()


class _KernelForms(CompileResultCacheImpl):
    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """The compiled form that a file has."""
        codegen = target_context.codegen()
        codegen.unserialize_library = partial(LoadedLibrary.read, codegen)
        return super().rebuild(target_context, payload)  # type: ignore[no-untyped-call]


class KernelCache(FunctionCache):
    """The compiled forms of one kernel, in files; nothing is looked for before one is wanted."""

    _impl_class = _KernelForms

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._opened = False

    def _open(self) -> None:
        if not self._opened:
            self._opened = True
            super().__init__(self._function)  # type: ignore[no-untyped-call]
            forms = self._impl
            self._cache_file = _KernelFile(  # type: ignore[no-untyped-call]
                self._cache_path, forms.filename_base, forms.locator.get_source_stamp()
            )

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
