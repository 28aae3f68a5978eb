"""`cqc run`: compile programs and run them to the end of their input, or on and on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from cqc.cli.options import (
    check_only,
    parse_at,
    parse_binds,
    parse_strategy,
    strategy_options,
)
from cqc.cli.programs import load_again, program_argument
from cqc.runtime.options import DRAIN_S, SINKS
from cqc.runtime.run.program_files import stamp_of

if TYPE_CHECKING:
    from cqc.compiler import Program
    from cqc.runtime.options import RunOptions


@click.command("run")
@program_argument
@click.option("--bind", "binds", multiple=True, metavar="NAME=PATH", help="Read NAME from PATH.")
@click.option("--engine", type=click.Choice(["spark", "local"]), default="spark", show_default=True)
@click.option(
    "--sink",
    type=click.Choice(list(SINKS)),
    default="jsonl",
    show_default=True,
)
@click.option(
    "--out",
    type=click.Path(),
    help="A file or a folder for the results; standard output by default.",
)
@click.option("--follow", is_flag=True, help="Keep watching for new input.")
@click.option(
    "--checkpoint",
    type=click.Path(),
    help="Survive a crash: a new start with this folder goes on where the last run stopped.",
)
@click.option(
    "--at", "at_text", metavar="INSTANT", help="NOW for the closing invocation of pull queries."
)
@click.option("--only", multiple=True, metavar="QUERY", help="Run this query only (repeatable).")
@click.option("--late", type=click.Path(), help="Write late rows to this file.")
@click.option(
    "--rejects", type=click.Path(), help="Write rejected rows to this file, as JSON lines."
)
@click.option("--strict", is_flag=True, help="A rejected row ends the run.")
@click.option("--quiet", is_flag=True, help="No summary, no progress.")
@click.option("--progress", is_flag=True, help="Show progress also where there is no terminal.")
@click.option("--stats", type=click.Path(), help="Write counters to this file, as JSON.")
@click.option("--distribute", is_flag=True, help="Run the operators on Spark's executors.")
@click.option(
    "--partitions",
    type=click.IntRange(min=1),
    help="How many parts a distributed run has; by default one for each core.",
)
@click.option("--master", help="The Spark master; local mode by default.")
@click.option("--rows-per-batch", type=click.IntRange(min=1), help="Rows of one micro-batch.")
@click.option(
    "--max-instants",
    type=click.IntRange(min=1),
    help="End the run when a query with EVERY would answer more instants than this without a row.  [default: 1000000]",
)
@click.option(
    "--name", help="The name of the program in the ids of results; its first file's by default."
)
@click.option(
    "--drain",
    type=click.FloatRange(min=0),
    default=DRAIN_S,
    metavar="SECONDS",
    help="How long to wait at the end for the receivers of sinks.  [default: 300]",
)
@strategy_options
def run_command(programs: tuple[str, ...], binds: tuple[str, ...], **given: Any) -> int:
    """Compile the programs and run them.

    Results go to standard output, one JSON object a line; everything else goes to standard error. The options from --join to
    --maintenance change what a run costs, never its answers.
    """
    stamp = stamp_of(programs)
    program, sources = load_again(programs, given["checkpoint"], is_live=given["follow"])
    options = make_options(program, programs, binds, given)
    options = replace(options, sources=tuple(sources), stamp=stamp)
    from cqc.cli.running import run_to_end

    return run_to_end(program, options, quiet=given["quiet"], progress=given["progress"])


def make_options(
    program: Program, programs: tuple[str, ...], binds: tuple[str, ...], given: dict[str, Any]
) -> RunOptions:
    """What the command line says, checked against the program.

    Raises:
        click.UsageError: for values that cannot be (exit code 2).
    """
    from cqc.runtime.options import MOST_INSTANTS, RunOptions

    out = None if given["out"] == "-" else given["out"]
    if given["sink"] == "parquet" and out is None:
        raise click.UsageError("--sink parquet needs --out: Parquet cannot go to standard output")
    plain = ("engine", "sink", "follow", "checkpoint", "late", "rejects", "strict", "stats")
    return RunOptions(
        programs=programs,
        binds=parse_binds(binds, program),
        out=out,
        at_us=parse_at(given["at_text"]),
        only=check_only(given["only"], program),
        distribute=given["distribute"],
        partitions=given["partitions"],
        master=given["master"],
        rows_per_batch=given["rows_per_batch"],
        max_instants=given["max_instants"] or MOST_INSTANTS,
        strategy=parse_strategy(given),
        name=given["name"],
        drain_s=given["drain"],
        **{name: given[name] for name in plain},
    )
