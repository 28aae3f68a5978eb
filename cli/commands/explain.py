"""`cqc explain`: a program's graph in words, a run's graph with measured counts, or the page of an error code."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cqc.cli.options import check_only, parse_at, parse_binds, parse_strategy, strategy_options
from cqc.cli.programs import load_program, program_argument

if TYPE_CHECKING:
    from cqc.compiler import Program
    from cqc.runtime.options import RunOptions

CODE = re.compile(r"CQ\d{3}", re.IGNORECASE)


@click.command("explain")
@program_argument
@click.option("--analyze", is_flag=True, help="Run the program, then show what was measured.")
@click.option("--engine", type=click.Choice(["spark", "local"]), default="local", show_default=True)
@click.option("--master", help="The Spark master; local mode by default.")
@click.option("--bind", "binds", multiple=True, metavar="NAME=PATH", help="Read NAME from PATH.")
@click.option("--only", multiple=True, metavar="QUERY", help="Run this query only (repeatable).")
@click.option(
    "--at", "at_text", metavar="INSTANT", help="NOW for the closing invocation of pull queries."
)
@click.option("--late", type=click.Path(), help="Write late tuples there.")
@click.option("--rejects", type=click.Path(), help="Write rejected rows there, as JSON lines.")
@click.option("--strict", is_flag=True, help="A rejected row ends the run.")
@click.option("--stats", type=click.Path(), help="Write counters there, as JSON.")
@click.option("--rows-per-batch", type=click.IntRange(min=1), help="Rows of one micro-batch.")
@click.option(
    "--partitions",
    type=click.IntRange(min=1),
    help="Say also where `cqc run --distribute` answers each query, with so many partitions.",
)
@strategy_options
def explain_command(
    programs: tuple[str, ...], *, analyze: bool, partitions: int | None, **given: Any
) -> int:
    """Explain programs, or an error code such as CQ012.

    All options but --analyze are those of `cqc run`, for the run that --analyze makes.
    """
    from cqc.cli.write_whole import write_output

    if len(programs) == 1 and CODE.fullmatch(programs[0]) and not Path(programs[0]).exists():
        write_output(error_page(programs[0].upper()), None)
        return 0
    program = load_program(programs)
    if analyze and not program.queries:
        from cqc.cli.report import nothing_to_run

        return nothing_to_run()
    if analyze:
        from cqc.cli.analyze import analyze_run

        text = analyze_run(program, analyze_options(program, given))
    else:
        from cqc.compiler.emit.explain import emit

        text = emit(program, strategy=parse_strategy(given))
    if partitions is not None:
        from cqc.compiler.emit.explain_partitions import emit as emit_partitions

        text += "\n" + emit_partitions(program, partitions)
    write_output(text, None)
    return 0


def analyze_options(program: Program, given: dict[str, Any]) -> RunOptions:
    """A run whose results are counted only."""
    from cqc.runtime.options import RunOptions

    plain = ("engine", "master", "late", "rejects", "strict", "stats", "rows_per_batch")
    return RunOptions(
        binds=parse_binds(given["binds"], program),
        only=check_only(given["only"], program),
        sink="none",
        at_us=parse_at(given["at_text"]),
        strategy=parse_strategy(given),
        **{name: given[name] for name in plain},
    )


def error_page(code: str) -> str:
    """The page of an error code.

    Raises:
        click.UsageError: when there is no such code.
    """
    page = files("cqc.compiler.errors") / f"{code}.md"
    if not page.is_file():
        raise click.UsageError(f"there is no error code {code}")
    return page.read_text(encoding="utf-8").rstrip("\n")
