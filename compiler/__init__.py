"""Text to shared operator graph: the embedding surface of the compiler.

The names are loaded when they are first used: a module that only needs the types of columns does not load the parser.

Example:
    >>> from cqc.compiler import compile
    >>> program = compile("CREATE STREAM s (ts TIMESTAMP, x BIGINT); SELECT x FROM s WHERE x > 3;")
    >>> program.queries.names, program.streams.names
    (['q1'], ['s'])
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cqc.compiler.diagnostics.diagnostic import CompileError, Diagnostic
    from cqc.compiler.embed import compile, compile_files, compile_sources  # noqa: A004  the public name
    from cqc.compiler.program import Program

__all__ = [
    "CompileError",
    "Diagnostic",
    "Program",
    "compile",
    "compile_files",
    "compile_sources",
]

_HOMES = {
    "CompileError": "cqc.compiler.diagnostics.diagnostic",
    "Diagnostic": "cqc.compiler.diagnostics.diagnostic",
    "Program": "cqc.compiler.program",
    "compile": "cqc.compiler.embed",
    "compile_files": "cqc.compiler.embed",
    "compile_sources": "cqc.compiler.embed",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'cqc.compiler' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
