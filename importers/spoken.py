"""What this version of the language can say, found out by compiling it."""

from __future__ import annotations

from cqc.compiler import CompileError, compile_sources
from cqc.compiler.diagnostics.source import SourceFile

_STREAM = "CREATE STREAM s (ts TIMESTAMP, a STRING);\n"


def is_spoken(query: str) -> bool:
    """Whether a query over `s (ts TIMESTAMP, a STRING)` compiles."""
    try:
        compile_sources([(SourceFile("probe", f"{_STREAM}{query};"), ".")])
    except CompileError:
        return False
    return True
