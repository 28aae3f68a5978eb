"""All files of a program through all stages, every mistake of every file reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.bind import bind_program
from cqc.compiler.check_bounds import check_bounds
from cqc.compiler.diagnostics import CompileError, Diagnostic, Severity, order
from cqc.compiler.functions import user_functions
from cqc.compiler.graph.graph import Graph
from cqc.compiler.parse import parse
from cqc.compiler.pipeline import normalise
from cqc.compiler.program import Program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.source import SourceFile


def compile_sources(sources: Sequence[tuple[SourceFile, str]]) -> Program:
    """Compile files that are already read, each with the folder its relative paths start from.

    Raises:
        CompileError: when the program has errors; `diagnostics` holds all of them, and the warnings.
    """
    diagnostics: list[Diagnostic] = []
    parsed = []
    for source, folder in sources:
        program, found = parse(source)
        diagnostics.extend(found)
        parsed.append((program, source, folder))
    bound = bind_program(parsed, user_functions())
    diagnostics.extend(bound.diagnostics)
    has_errors = any(each.severity is Severity.ERROR for each in diagnostics)
    graph = Graph()
    program_ = Program(bound.catalog, graph, ())
    for query in bound.queries:
        normal = normalise(query)
        diagnostics.extend(check_bounds(query, normal))
        if not has_errors:
            graph.add(normal)
            program_.keep(query)
    if any(each.severity is Severity.ERROR for each in diagnostics):
        raise CompileError(order(diagnostics))
    program_.warnings = tuple(order(diagnostics))
    return program_
