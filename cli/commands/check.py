"""`cqc check`: diagnostics only."""

from __future__ import annotations

from contextlib import suppress

import click

from cqc.cli.programs import program_argument, read_sources


@click.command("check")
@program_argument
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
def check_command(programs: tuple[str, ...], form: str) -> int:
    """Report what is wrong with the programs; exit code 1 when there is an error."""
    from cqc.cli.report import show_diagnostics
    from cqc.compiler import CompileError, compile_sources
    from cqc.compiler.diagnostics.diagnostic import Severity, render_json

    try:
        diagnostics = compile_sources(read_sources(programs)).warnings
    except CompileError as error:
        diagnostics = error.diagnostics
    # `cqc check ... | head`: nobody reads on, and the exit code still says what was found.
    with suppress(BrokenPipeError):
        if form == "json":
            for diagnostic in diagnostics:
                click.echo(render_json(diagnostic))
        else:
            show_diagnostics(diagnostics)
    return int(any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics))
