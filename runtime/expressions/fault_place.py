"""Where in a user's code something went wrong, as `file:line`."""

from __future__ import annotations

import functools
import inspect
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import Any

_CALLER = str(Path(__file__).with_name("user_functions.py"))  # where users' functions are called


def place_of(function: Callable[..., Any], error: BaseException | None) -> str:
    """The last line of the function's own file that an error came through; where the function begins without one.

    An error from inside NumPy is the business of the line that called NumPy. A function without Python code has no file: then it
    is the last line that the error came through, or nothing is known.
    """
    code = _code(function)
    lines = [] if error is None else _lines(error)
    own = [line for line in lines if code is not None and line[0] == code.co_filename]
    if own or (lines and code is None):
        name, number = (own or lines)[-1]
        return f"{name}:{number}"
    return "" if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def _lines(error: BaseException) -> list[tuple[str, int]]:
    """Files and lines from the call of the function inwards."""
    found = []
    trace = error.__traceback__
    while trace is not None:
        found.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    last = max((at for at, (name, _) in enumerate(found) if name == _CALLER), default=-1)
    return found[last + 1 :]


def _code(function: object) -> CodeType | None:
    """The Python code of a function, of a method, or of an object that can be called."""
    while isinstance(function, functools.partial):
        function = function.func
    unwrapped = inspect.unwrap(function) if callable(function) else function
    code: CodeType | None = getattr(unwrapped, "__code__", None)
    if code is None:
        method = inspect.getattr_static(type(unwrapped), "__call__", None)
        code = getattr(method, "__code__", None)
    return code
