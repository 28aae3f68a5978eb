"""`cqc fmt`: one way to write a program."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from cqc.cli.programs import program_argument, read_sources


@click.command("fmt")
@program_argument
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 when something would change.")
def fmt_command(programs: tuple[str, ...], *, check: bool) -> int:
    """Format the programs in place; standard input is formatted to standard output."""
    from cqc.cli.write_whole import write_file
    from cqc.compiler import CompileError
    from cqc.compiler.format import format_program

    changed = False
    diagnostics = []
    for source, _ in read_sources(programs):
        try:
            formatted = format_program(source)
        except CompileError as error:
            diagnostics += error.diagnostics
            continue
        if source.name == "<stdin>" and not check:
            sys.stdout.write(formatted)
        elif formatted != source.text:
            changed = True
            click.echo(f"{'would change' if check else 'formatted'} {source.name}", err=True)
            if not check:
                write_file(Path(source.name), formatted)
    if diagnostics:
        raise CompileError(diagnostics)
    return int(check and changed)
