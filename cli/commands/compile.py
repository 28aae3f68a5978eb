"""`cqc compile`: the shared operator graph in any of its forms."""

from __future__ import annotations

import importlib

import click

from cqc.cli.programs import load_program, program_argument

FORMS = {  # and where each is made; SQL is for a dialect
    "explain": "cqc.compiler.emit.explain",
    "json": "cqc.compiler.emit.json",
    "dot": "cqc.compiler.graph.dot_form",
    "svg": "cqc.compiler.graph.svg_form",
    "mermaid": "cqc.compiler.emit.mermaid",
    "sql": "cqc.compiler.emit.sql",
}


@click.command("compile")
@program_argument
@click.option(
    "--emit",
    type=click.Choice(list(FORMS)),
    default="explain",
    show_default=True,
    help="The form to print.",
)
@click.option(
    "--dialect",
    type=click.Choice(["duckdb", "spark"]),
    default="duckdb",
    show_default=True,
    help="The SQL engine that --emit sql is for.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False),
    help="Write to a file instead of standard output.",
)
@click.option(
    "--partitions",
    type=click.IntRange(min=1),
    help="Say also where `cqc run --distribute` answers each query, with so many partitions.",
)
def compile_command(
    programs: tuple[str, ...], emit: str, dialect: str, out: str | None, partitions: int | None
) -> None:
    """Compile the programs and print the shared operator graph."""
    from cqc.cli.write_whole import write_output

    program = load_program(programs)
    if emit == "sql":
        from cqc.compiler.emit.sql import emit_sql

        text = emit_sql(program, dialect=dialect)
    else:
        text = importlib.import_module(FORMS[emit]).emit(program)
    if emit == "explain" and partitions is not None:
        from cqc.compiler.emit.explain_partitions import emit as emit_partitions

        text += "\n" + emit_partitions(program, partitions)
    write_output(text, out)
