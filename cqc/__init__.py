"""Compile SQL-like continuous queries into one shared operator graph, and run it.

The names below are the whole public surface. Each is loaded when it is first used, so that
`import cqc` and `cqc --help` cost nothing that the caller does not need.

Example:
    >>> import cqc
    >>> program = cqc.compile("CREATE STREAM s (ts TIMESTAMP, x BIGINT); SELECT x FROM s;")
    >>> [query.name for query in program.queries]
    ['q1']
"""

TYPE_CHECKING = False  # not from `typing`: the command must hear Ctrl-C before that is loaded
if TYPE_CHECKING:
    import cqc.spark as spark
    from cqc.compiler import CompileError, Diagnostic, Program, compile, compile_files  # noqa: A004  the public name
    from cqc.compiler.functions.registered import function
    from cqc.runtime.deliver.results import Result
    from cqc.runtime.engine.engine import Engine
    from cqc.runtime.errors import RunError

__all__ = [
    "CompileError",
    "Diagnostic",
    "Engine",
    "Program",
    "Result",
    "RunError",
    "compile",
    "compile_files",
    "function",
    "spark",
]

_HOMES = {
    "CompileError": "cqc.compiler",
    "Diagnostic": "cqc.compiler",
    "Engine": "cqc.runtime.engine.engine",
    "Program": "cqc.compiler",
    "Result": "cqc.runtime.deliver.results",
    "RunError": "cqc.runtime.errors",
    "compile": "cqc.compiler",
    "compile_files": "cqc.compiler",
    "function": "cqc.compiler.functions.registered",
}


def __getattr__(name: str) -> object:
    from importlib import import_module  # here: the command must hear Ctrl-C before it is loaded

    if name == "spark":
        return import_module("cqc.spark")
    if name not in _HOMES:
        raise AttributeError(f"module 'cqc' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
