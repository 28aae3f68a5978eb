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
    from cqc.compiler.functions.registered import aggregate, function
    from cqc.compiler.meaning.user_sources import source
    from cqc.runtime.deliver.results import Result
    from cqc.runtime.engine.async_engine import AsyncEngine
    from cqc.runtime.engine.engine import Engine
    from cqc.runtime.errors import RunError
    from cqc.runtime.receivers.kinds import sink
    from cqc.runtime.receivers.receiver import RefusedError, UnreachableError

__all__ = [
    "AsyncEngine",
    "CompileError",
    "Diagnostic",
    "Engine",
    "Program",
    "RefusedError",
    "Result",
    "RunError",
    "UnreachableError",
    "aggregate",
    "compile",
    "compile_files",
    "function",
    "sink",
    "source",
    "spark",
]

_HOMES = {
    "AsyncEngine": "cqc.runtime.engine.async_engine",
    "CompileError": "cqc.compiler",
    "Diagnostic": "cqc.compiler",
    "Engine": "cqc.runtime.engine.engine",
    "Program": "cqc.compiler",
    "RefusedError": "cqc.runtime.receivers.receiver",
    "Result": "cqc.runtime.deliver.results",
    "RunError": "cqc.runtime.errors",
    "UnreachableError": "cqc.runtime.receivers.receiver",
    "aggregate": "cqc.compiler.functions.registered",
    "compile": "cqc.compiler",
    "compile_files": "cqc.compiler",
    "function": "cqc.compiler.functions.registered",
    "sink": "cqc.runtime.receivers.kinds",
    "source": "cqc.compiler.meaning.user_sources",
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


def load_ipython_extension(shell: object) -> None:
    """Give a notebook the magic `%%cq`; IPython calls this for `%load_ext cqc`."""
    from importlib import import_module

    import_module("cqc.notebook").load(shell)
