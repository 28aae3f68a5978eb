"""What commands tell people on standard error: diagnostics and the closing summary of a run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from cqc.compiler.diagnostics.diagnostic import Severity, render_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.runtime.receivers.sender import SinkStatus
    from cqc.runtime.run.finite_run import RunSummary

SHOWN_QUERIES = 20
NOTHING_TO_RUN = 1


def show_diagnostics(diagnostics: Sequence[Diagnostic]) -> None:
    """All diagnostics with their source lines, and how many there were."""
    if not diagnostics:
        return
    click.echo(render_text(diagnostics), err=True)
    errors = sum(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)
    if errors:
        click.echo(f"\n{counted(errors, 'error')}", err=True)


def nothing_to_run() -> int:
    """Say that the program has no query; returns the exit code."""
    click.echo("error: nothing to run: the program has no query", err=True)
    return NOTHING_TO_RUN


def show_summary(summary: RunSummary) -> None:
    """Per stream read, late and rejected; per query results; time and rate."""
    lines: list[str] = []
    for name, count in summary.streams.items():
        lines.append(
            f"{name}: {count.read:,} read, {count.late:,} late, {count.rejected:,} rejected"
            + (f", {count.waiting:,} far ahead and waiting" if count.waiting else "")
        )
        lines += [f"  {number:,} rejected: {reason}" for reason, number in count.reasons.items()]
        lines += [f"  {number:,} made NULL: {reason}" for reason, number in count.nulled.items()]
    lines += query_lines(summary)
    lines += [sink_line(each) for each in summary.sinks]
    if summary.failed_evaluations:
        lines.append(f"{counted(summary.failed_evaluations, 'evaluation')} failed and gave NULL")
    read = sum(count.read for count in summary.streams.values())
    now = read - summary.read_before
    rate = now / summary.seconds if summary.seconds > 0 else 0.0
    lines.append(f"{counted(now, 'tuple')} in {summary.seconds:.2f} s, {per_second(rate)}")
    if summary.read_before:
        lines.append(f"all other counts are since the first start: {counted(read, 'tuple')}")
    if sys.stdout.isatty():  # the results are just above
        lines.insert(0, "")
    click.echo("\n".join(lines), err=True)


def sink_line(sink: SinkStatus) -> str:
    """What became of a sink's results."""
    parts = [f"sink {sink.name}: {sink.sent:,} sent"]
    parts += [f"{sink.waiting:,} waiting"] if sink.waiting else []
    parts += [f"{sink.dead:,} refused"] if sink.dead else []
    parts += [f"{sink.lost:,} of them lost"] if sink.lost else []
    parts += [f"{sink.dropped:,} dropped"] if sink.dropped else []
    return ", ".join(parts)


def lost_results(summary: RunSummary) -> str | None:
    """A sentence on results that no receiver took and no file has; None when there are none."""
    lossy = [each for each in summary.sinks if each.lost]
    if not lossy:
        return None
    told = "; ".join(
        f"{counted(each.lost, 'result')} for sink {each.name} ({each.last_error})" for each in lossy
    )
    return f"results were refused and are lost: {told}; `dead_letters = 'file'` in WITH of the sink, or --checkpoint, keeps them"


def query_lines(summary: RunSummary) -> list[str]:
    """Results by query; of many queries those with the most."""
    busiest = sorted(summary.queries.items(), key=lambda entry: (-entry[1], entry[0]))
    lines = [f"{name}: {counted(number, 'result')}" for name, number in busiest[:SHOWN_QUERIES]]
    if len(busiest) > SHOWN_QUERIES:
        rest = sum(number for _, number in busiest[SHOWN_QUERIES:])
        more = counted(len(busiest) - SHOWN_QUERIES, "more query", "more queries")
        lines.append(f"... and {more} with {counted(rest, 'result')}")
    return lines


def per_second(rate: float) -> str:
    """`1 tuple/s`, `55 tuples/s`."""
    return f"{counted(round(rate), 'tuple')}/s"


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 result`, `1,200 results`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
