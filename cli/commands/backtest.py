"""`cqc backtest`: what would have fired over recorded data."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cqc.cli.options import check_only, parse_binds
from cqc.cli.programs import load_program, program_argument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler import Program
    from cqc.runtime.run.backtest import Backtest, Difference, QueryHistory
    from cqc.runtime.run.finite_run import RunSummary

SHOWN_SILENT = 20
SHOWN_DAYS = 31


@click.command("backtest")
@program_argument
@click.option("--bind", "binds", multiple=True, metavar="NAME=PATH", help="Read NAME from PATH.")
@click.option(
    "--query", "only", multiple=True, metavar="QUERY", help="This query only (repeatable)."
)
@click.option(
    "--compare",
    "other",
    metavar="OTHER",
    help="A changed program or folder: what it adds and loses.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Rows shown of each query.",
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
def backtest_command(
    programs: tuple[str, ...],
    binds: tuple[str, ...],
    only: tuple[str, ...],
    other: str | None,
    samples: int,
    form: str,
) -> int:
    """Show what the programs would have delivered over recorded data, the noisiest query first.

    Alerts go through their states. Nothing is delivered to sinks, and nothing that runs is touched. With --compare, results that
    only OTHER has are added, results that only PROGRAM has are lost.
    """
    from cqc.cli.report import nothing_to_run
    from cqc.runtime.run.backtest import compare

    program = load_program(programs)
    if not program.queries:
        return nothing_to_run()
    changed = None if other is None else load_program((other,))
    backtest, summary = _run(program, programs, binds, only, samples, is_compared=other is not None)
    if changed is None:
        _show(backtest.histories, None, summary, form)
        return 0
    second, _ = _run(changed, (str(other),), binds, only, samples, is_compared=True)
    differences = compare(backtest.histories, second.histories, samples)
    _show(backtest.histories, differences, summary, form)
    return 0


def _run(
    program: Program,
    programs: tuple[str, ...],
    binds: tuple[str, ...],
    only: tuple[str, ...],
    samples: int,
    *,
    is_compared: bool,
) -> tuple[Backtest, RunSummary]:
    from cqc.cli.without_pandas import keep_pandas_out
    from cqc.compiler.meaning.catalog import fold
    from cqc.runtime.options import RunOptions
    from cqc.runtime.run.backtest import Backtest, run_backtest

    keep_pandas_out()
    chosen = only
    if is_compared:  # a query may be in one of the two only
        chosen = tuple(name for name in only if fold(name) in program.graph.queries) or only
    chosen = check_only(chosen, program, "--query")
    bound = parse_binds(binds, program)
    silent = _without_data(program, bound)
    with tempfile.TemporaryDirectory() as folder:
        if silent:
            empty = Path(folder) / "nothing.jsonl"
            empty.touch()
            bound |= dict.fromkeys(silent, str(empty))
            more = f", ... ({len(silent)} in all)" if len(silent) > SHOWN_SILENT else ""
            click.echo(
                f"note: nothing was recorded of {', '.join(silent[:SHOWN_SILENT])}{more}", err=True
            )
        options = RunOptions(programs=programs, binds=bound, only=chosen)
        backtest = Backtest(program, options, samples=samples, keeps_lines=is_compared)
        return backtest, run_backtest(backtest)


def _without_data(program: Program, bound: dict[str, str]) -> list[str]:
    """The streams of which nothing says where rows are, when others have some: who has many log sources records few of them."""
    from cqc.compiler.meaning.catalog import fold

    given = {fold(name) for name in bound}
    streams = [
        each for each in program.catalog.relations.values() if each.is_stream and not each.view
    ]
    silent = [
        each.name
        for each in streams
        if fold(each.name) not in given and not {"path", "format"} & each.options.keys()
    ]
    return silent if len(silent) < len(streams) else []


def _show(
    histories: Sequence[QueryHistory],
    differences: Sequence[Difference] | None,
    summary: RunSummary,
    form: str,
) -> None:
    for warning in summary.warnings:
        click.echo(f"warning: {warning}", err=True)
    if form == "json":
        click.echo(
            json.dumps(_as_json(histories, differences, summary), ensure_ascii=False, indent=2)
        )
        return
    loud = [each for each in histories if each.results]
    for history in loud:
        _show_history(history)
    silent = [each.query for each in histories if not each.results]
    if silent:
        more = f", ... ({len(silent)} in all)" if len(silent) > SHOWN_SILENT else ""
        click.echo(f"nothing: {', '.join(silent[:SHOWN_SILENT])}{more}")
    if differences is not None:
        _show_differences(differences)
    total = sum(each.results for each in histories)
    read = ", ".join(
        f"{name} {count.read:,} rows ({count.late:,} late, {count.rejected:,} rejected)"
        for name, count in summary.streams.items()
        if count.read or not any(each.read for each in summary.streams.values())
    )
    results = f"{total:,} result{'' if total == 1 else 's'}"
    click.echo(f"{results} of {len(loud):,} of {len(histories):,} queries over {read}")


def _as_json(
    histories: Sequence[QueryHistory],
    differences: Sequence[Difference] | None,
    summary: RunSummary,
) -> dict[str, Any]:
    return {
        "queries": [each.to_json() for each in histories],
        **({} if differences is None else {"compare": [each.to_json() for each in differences]}),
        "streams": {
            name: {"read": count.read, "late": count.late, "rejected": count.rejected}
            for name, count in summary.streams.items()
        },
    }


def _show_history(history: QueryHistory) -> None:
    states = ", ".join(f"{number:,} {state}" for state, number in sorted(history.states.items()))
    from cqc.cli.report import counted

    click.echo(
        f"{history.query}: {counted(history.results, 'result')}{f' ({states})' if states else ''}, first {history.first}, last {history.last}"
    )
    for day in sorted(history.days)[:SHOWN_DAYS]:
        click.echo(f"  {day}  {history.days[day]:,}")
    if len(history.days) > SHOWN_DAYS:
        click.echo(f"  ... and {len(history.days) - SHOWN_DAYS} more days")
    _show_rows("   ", history.samples)
    click.echo()


def _show_differences(differences: Sequence[Difference]) -> None:
    click.echo()
    if not differences:
        click.echo("compared: no result is added or lost")
    for each in differences:
        click.echo(
            f"{each.query}: {each.added_count:,} added, {each.lost_count:,} lost ({each.before:,} before, {each.after:,} after)"
        )
        _show_rows("  +", each.added)
        _show_rows("  -", each.lost)
    click.echo()


def _show_rows(mark: str, rows: Sequence[dict[str, Any]]) -> None:
    for row in rows:
        time = row.get("ts", row.get("at"))
        alert = f" {row['alert']['state']}" if "alert" in row else ""
        click.echo(f"{mark} {time}{alert}  {json.dumps(row['row'], ensure_ascii=False)}")
