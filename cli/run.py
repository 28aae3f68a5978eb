"""`cqc run`: compile programs and run them to the end of their input, or on and on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cqc.cli.options import parse_binds
from cqc.cli.programs import load_program, program_argument

if TYPE_CHECKING:
    from cqc.compiler import Program
    from cqc.runtime.options import RunOptions

ORDERS = ["adaptive", "AJW", "AWJ", "JAW", "JWA", "WAJ", "WJA"]


def strategy_options(command: Any) -> Any:  # Any: click's decorators are untyped here
    """The switches that change what a run costs, never what it answers."""
    for option in (
        click.option("--join", type=click.Choice(["auto", "flat", "left-deep", "bushy"]), default="auto"),
        click.option(
            "--feedback",
            type=click.Choice(["auto", "on", "off", "exact", "bloom", "demand"]),
            default="auto",
        ),
        click.option(
            "--routing",
            type=click.Choice(["lottery", "selectivity", "fixed", "random"]),
            default="selectivity",
        ),
        click.option("--order", type=click.Choice(ORDERS, case_sensitive=False), default="adaptive"),
        click.option("--packet", default="auto", metavar="auto|N"),
        click.option("--sharing", type=click.Choice(["on", "off"]), default="on"),
    ):
        command = option(command)
    return command


@click.command("run")
@program_argument
@click.option("--bind", "binds", multiple=True, metavar="NAME=PATH", help="Read NAME from PATH.")
@click.option("--engine", type=click.Choice(["spark", "local"]), default="spark", show_default=True)
@click.option(
    "--sink",
    type=click.Choice(["jsonl", "csv", "parquet", "table", "none"]),
    default="jsonl",
    show_default=True,
)
@click.option("--out", type=click.Path(), help="Where results go; standard output by default.")
@click.option("--follow", is_flag=True, help="Keep watching for new input.")
@click.option("--checkpoint", type=click.Path(), help="Survive a crash: state and results by batch.")
@click.option("--at", "at_text", metavar="INSTANT", help="NOW for the closing invocation of pull queries.")
@click.option("--only", multiple=True, metavar="QUERY", help="Run this query only (repeatable).")
@click.option("--late", type=click.Path(), help="Write late tuples there.")
@click.option("--rejects", type=click.Path(), help="Write rejected rows there, as JSON lines.")
@click.option("--strict", is_flag=True, help="A rejected row ends the run.")
@click.option("--quiet", is_flag=True, help="No summary, no progress.")
@click.option("--progress", is_flag=True, help="Show progress also where there is no terminal.")
@click.option("--stats", type=click.Path(), help="Write counters there, as JSON.")
@click.option("--distribute", is_flag=True, help="Run the operators on Spark's executors.")
@click.option("--master", help="The Spark master; local mode by default.")
@click.option("--rows-per-batch", type=click.IntRange(min=1), help="Rows of one micro-batch.")
@strategy_options
def run_command(programs: tuple[str, ...], binds: tuple[str, ...], **given: Any) -> int:
    """Compile the programs and run them."""
    program = load_program(programs)
    options = make_options(program, programs, binds, given)
    from cqc.cli.running import run_to_end

    return run_to_end(program, options, quiet=given["quiet"], progress=given["progress"])


def make_options(
    program: Program, programs: tuple[str, ...], binds: tuple[str, ...], given: dict[str, Any]
) -> RunOptions:
    """What the command line says, checked against the program.

    Raises:
        click.UsageError: for values that cannot be (exit code 2).
    """
    from cqc.runtime.options import RunOptions, Strategy, parse_instant, parse_packet

    unknown = [name for name in given["only"] if name not in program.queries]
    if unknown:
        known = ", ".join(program.queries.names[:20])
        raise click.UsageError(f"--only {unknown[0]}: no such query (there are: {known})")
    try:
        strategy = Strategy(
            join=given["join"],
            feedback=given["feedback"],
            routing=given["routing"],
            order=given["order"],
            packet=parse_packet(given["packet"]),
            sharing=given["sharing"] == "on",
        )
        at_us = None if given["at_text"] is None else parse_instant(given["at_text"])
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return RunOptions(
        programs=programs,
        binds=parse_binds(binds, program),
        engine=given["engine"],
        sink=given["sink"],
        out=given["out"],
        follow=given["follow"],
        checkpoint=given["checkpoint"],
        at_us=at_us,
        only=given["only"],
        late=given["late"],
        rejects=given["rejects"],
        strict=given["strict"],
        stats=given["stats"],
        distribute=given["distribute"],
        master=given["master"],
        rows_per_batch=given["rows_per_batch"],
        strategy=strategy,
    )
