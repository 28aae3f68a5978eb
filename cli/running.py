"""A run as a person sees it: progress while it goes, a clean stop on Ctrl-C, a summary at the end."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from cqc.cli.report import show_summary
from cqc.runtime.errors import OutputClosed

if TYPE_CHECKING:
    from cqc.compiler import Program
    from cqc.runtime.options import RunOptions

INTERRUPTED = 130
NOTHING_TO_RUN = 1


def run_to_end(program: Program, options: RunOptions, *, quiet: bool, progress: bool) -> int:
    """Run the program and return the exit code."""
    if not program.queries:
        click.echo("error: nothing to run: the program has no query", err=True)
        return NOTHING_TO_RUN
    if options.engine == "spark":
        from cqc.runtime.spark.run import SparkRun

        run = SparkRun(program, options)
    else:
        from cqc.runtime.run import LocalRun

        run = LocalRun(program, options)
    shown = Progress(enabled=not quiet and (progress or sys.stderr.isatty()))
    code = 0
    try:
        run.to_end(shown)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except OutputClosed:
        sys.stdout = None  # nobody reads it any more, and Python must not flush it
    finally:
        shown.end()
    summary = run.close()
    if not quiet:
        for warning in summary.warnings:
            click.echo(f"warning: {warning}", err=True)
        if code == INTERRUPTED:
            click.echo("interrupted", err=True)
        show_summary(summary)
    return code


class Progress:
    """One line on the terminal that is written over: tuples so far, and the rate."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._started = time.monotonic()
        self._last = 0.0
        self._shown = False

    def __call__(self, tuples: int) -> None:
        """Show the counts, a few times a second at most."""
        now = time.monotonic()
        if not self._enabled or now - self._last < 0.2:  # noqa: PLR2004 - seconds between two updates
            return
        self._last = now
        rate = tuples / max(now - self._started, 1e-9)
        self.say(f"{tuples:,} tuples, {rate:,.0f} tuples/s")

    def say(self, text: str) -> None:
        """Show one line in place of the one before."""
        if self._enabled:
            self._shown = True
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

    def end(self) -> None:
        """Clear the line."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
