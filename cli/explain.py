"""`cqc explain`: a program's graph in words, a run's graph with measured counts, or the page of an error code."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import click

from cqc.cli.programs import load_program, program_argument

CODE = re.compile(r"CQ\d{3}", re.IGNORECASE)


@click.command("explain")
@program_argument
@click.option("--analyze", is_flag=True, help="Run the program, then show what was measured.")
@click.option("--bind", "binds", multiple=True, metavar="NAME=PATH", help="Read NAME from PATH.")
def explain_command(programs: tuple[str, ...], binds: tuple[str, ...], *, analyze: bool) -> None:
    """Explain programs, or an error code such as CQ012."""
    if len(programs) == 1 and CODE.fullmatch(programs[0]) and not Path(programs[0]).exists():
        click.echo(error_page(programs[0].upper()))
        return
    program = load_program(programs)
    if analyze:
        from cqc.cli.analyze import analyze_run

        click.echo(analyze_run(program, binds))
        return
    from cqc.compiler.emit.explain import emit

    click.echo(emit(program).rstrip("\n"))


def error_page(code: str) -> str:
    """The page of an error code.

    Raises:
        click.UsageError: when there is no such code.
    """
    page = files("cqc.compiler.errors") / f"{code}.md"
    if not page.is_file():
        raise click.UsageError(f"there is no error code {code}")
    return page.read_text(encoding="utf-8").rstrip("\n")
