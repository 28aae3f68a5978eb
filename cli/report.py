"""What commands tell people on standard error: diagnostics and the closing summary of a run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from cqc.compiler.diagnostics import Severity, render_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.diagnostics import Diagnostic
    from cqc.runtime.run import RunSummary

SHOWN_QUERIES = 20


def show_diagnostics(diagnostics: Sequence[Diagnostic]) -> None:
    """All diagnostics with their source lines, and how many there were."""
    if not diagnostics:
        return
    click.echo(render_text(diagnostics), err=True)
    errors = sum(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)
    if errors:
        click.echo(f"\n{errors} error{'s' if errors != 1 else ''}", err=True)


def show_summary(summary: RunSummary) -> None:
    """Per stream read, late and rejected; per query results; time and rate."""
    lines = [
        f"{name}: {count.read:,} read, {count.late:,} late, {count.rejected:,} rejected"
        for name, count in summary.streams.items()
    ]
    for name, count in summary.streams.items():
        lines += [f"  {name}: {number:,} x {reason}" for reason, number in count.reasons.items()]
    busiest = sorted(summary.queries.items(), key=lambda entry: (-entry[1], entry[0]))
    lines += [f"{name}: {number:,} results" for name, number in busiest[:SHOWN_QUERIES]]
    if len(busiest) > SHOWN_QUERIES:
        rest = sum(number for _, number in busiest[SHOWN_QUERIES:])
        lines.append(f"... and {len(busiest) - SHOWN_QUERIES:,} more queries with {rest:,} results")
    if summary.failed_evaluations:
        lines.append(f"{summary.failed_evaluations:,} evaluations failed and gave NULL")
    read = sum(count.read for count in summary.streams.values())
    rate = read / summary.seconds if summary.seconds > 0 else 0.0
    lines.append(f"{read:,} tuples in {summary.seconds:.2f} s, {rate:,.0f} tuples/s")
    sys.stdout.flush()
    click.echo("\n".join(lines), err=True)
