"""`cqc fmt`: one way to write a program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cqc.cli.programs import STANDARD_INPUT, plain_program_argument, read_sources

if TYPE_CHECKING:
    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.diagnostics.source import SourceFile


@click.command("fmt")
@plain_program_argument
@click.option(
    "--check", is_flag=True, help="Change nothing; exit with 1 when something would change."
)
def fmt_command(programs: tuple[str, ...], *, check: bool) -> int:
    """Format the programs in place; standard input is formatted to standard output.

    A file with syntax errors is reported and left as it is; the others are formatted all the same.
    """
    from cqc.compiler import CompileError
    from cqc.compiler.format.formatter import format_program

    changed = False
    diagnostics: list[Diagnostic] = []
    for source, _ in read_sources(programs):
        try:
            formatted = format_program(source)
        except CompileError as error:
            diagnostics += error.diagnostics
            continue
        changed |= formatted != source.text
        if check:
            report(source, formatted, "would change")
        else:
            put_back(source, formatted)
    if diagnostics:
        raise CompileError(diagnostics)
    return int(check and changed)


def put_back(source: SourceFile, formatted: str) -> None:
    """Write the text where it came from."""
    from cqc.cli.write_whole import write_file, write_output

    if source.name == STANDARD_INPUT:
        write_output(formatted, None)
    elif formatted != source.text:
        write_file(Path(source.name), formatted)
        report(source, formatted, "formatted")


def report(source: SourceFile, formatted: str, what: str) -> None:
    """Name a file that is not as it should be."""
    if formatted != source.text:
        click.echo(f"{what} {source.name}", err=True)
