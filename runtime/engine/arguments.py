"""What an engine can be made of; anything else is refused with what was wanted."""

from __future__ import annotations

from cqc.compiler import Program
from cqc.compiler.diagnostics.arguments import expect, expect_names, kind_of
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.errors import RunError


def check_arguments(program: object, strategy: object, clock: object, **flags: object) -> None:
    """See that the arguments of an engine are of their kinds.

    Raises:
        TypeError: when one is not.
    """
    hint = ": cqc.compile makes one of a text" if isinstance(program, str) else ""
    expect(program, Program, "cqc.Engine", "a compiled program", hint)
    expect(strategy, Strategy | None, "cqc.Engine", "a strategy")
    for name, given in flags.items():
        expect(given, bool, f"{name} of cqc.Engine", "True or False")
    if not callable(clock):
        raise TypeError(f"clock of cqc.Engine takes what can be called, not {kind_of(clock)}")


def wanted_queries(program: Program, only: object) -> list[str]:
    """The names of the queries to run, all of them when none is named.

    Raises:
        RunError: when one is named that the program does not have.
        TypeError: for what are no names.
    """
    named = expect_names(only, "only of cqc.Engine", "names of queries")
    unknown = [name for name in named if fold(name) not in program.graph.queries]
    if unknown:
        raise RunError(f"there is no query {unknown[0]} in the program")
    wanted = {fold(name) for name in named}
    return [name for name in program.queries.names if not wanted or fold(name) in wanted]
