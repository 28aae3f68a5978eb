"""A run as a person sees it: progress while it goes, a clean stop on Ctrl-C and on SIGTERM, a summary at the end."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import click

from cqc.cli.interrupts import Interrupts, loading, no_garbage
from cqc.cli.progress import Progress, wants_progress
from cqc.cli.report import lost_results, nothing_to_run, show_summary
from cqc.cli.stop_at_once import INTERRUPTED
from cqc.cli.without_pandas import keep_pandas_out
from cqc.runtime.errors import Halted, OutputClosed, RunError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.compiler import Program
    from cqc.runtime.options import RunOptions
    from cqc.runtime.run.finite_run import RunSummary
    from cqc.runtime.run.standing import Standing


class Run(Protocol):
    """What a local run and a run on Spark have in common."""

    def to_end(self, progress: Callable[[int], None] | None = None) -> None: ...

    def close(self) -> RunSummary: ...

    def abandon(self) -> RunSummary: ...

    def give_up(self) -> None: ...


def run_to_end(program: Program, options: RunOptions, *, quiet: bool, progress: bool) -> int:
    """Run the program, show what it did and return the exit code.

    Raises:
        RunError: when the run cannot go on; everything it opened is closed then.
    """
    if not program.queries:
        return nothing_to_run()
    run = open_run(program, options)
    shown = Progress(enabled=wants_progress(options, quiet=quiet, asked=progress))
    # On executors micro-batches are done elsewhere, and a stop lets the one in hand finish.
    elsewhere = options.engine == "spark" and options.distribute
    interrupts = Interrupts(deferred=not elsewhere, give_up=run.give_up)
    with interrupts:
        try:
            drive(run, shown, interrupts)
        except BaseException:
            interrupts.now_closing()
            with suppress(RunError):  # what went wrong first is what the user should read
                run.abandon()
            raise
        finally:
            shown.end()
        interrupts.now_closing()
        summary = run.close()
    if not quiet:
        tell(summary, interrupted=interrupts.asked)
    lost = lost_results(summary)
    if lost is not None and not interrupts.asked:
        raise RunError(lost)
    return INTERRUPTED if interrupts.asked else 0


def open_run(program: Program, options: RunOptions) -> Run:
    """The run that `--engine` asks for; Spark is loaded only then."""
    if options.engine == "spark" and options.distribute:
        with loading():
            from cqc.runtime.spark.distributed.run import DistributedRun

        return DistributedRun(program, options)
    if options.engine == "spark":
        with loading():
            from cqc.runtime.spark.run import SparkRun

        _leave_signals_alone()
        return SparkRun(program, options)
    return _open_local_run(program, options)


def _open_local_run(program: Program, options: RunOptions) -> Run:
    """Without Spark; what only some runs need is loaded for those."""
    with loading():
        from cqc.runtime.run.memory_pool import use_system_memory

        use_system_memory()  # before Arrow is loaded
        from cqc.runtime.run.finite_run import LocalRun
        from cqc.runtime.run.little_input import begin_plain_if_little
        from cqc.runtime.sources.connections import is_connection

        keep_pandas_out()
    _leave_signals_alone()
    if not options.follow:
        begin_plain_if_little(program, options)
    if options.checkpoint is not None:
        with loading():
            from cqc.runtime.run.durable.durable_run import DurableRun

        return DurableRun(program, options)
    relations = program.catalog.relations.values()
    if options.follow or any(is_connection(each, options.binds) for each in relations):
        with loading():
            from cqc.runtime.run.batch_run import BatchRun

        return BatchRun(program, options)
    from cqc.compiler.parse.parser import forget_shapes

    forget_shapes()  # nothing is compiled while it runs
    with no_garbage():
        return LocalRun(program, options)


def _leave_signals_alone() -> None:
    """Else reading a file answers Ctrl-C with an error of its own."""
    with loading():
        import pyarrow as pa

    pa.enable_signal_handlers(False)


def drive(run: Run, shown: Progress, interrupts: Interrupts) -> None:
    """Run to the end, or until somebody stops it or the results' reader has gone."""

    class Observer:
        """Called after each micro-batch; `say` is for what happens before the first, `waiting` and `idle` while there is none."""

        say, waiting = shown.say, interrupts.check

        def __call__(self, tuples: int) -> None:
            shown(tuples, standing)
            interrupts.check()

        def idle(self) -> None:
            shown.idle(standing)

    # On executors nobody here knows more than how many rows were read.
    standing: Callable[[], Standing] | None = getattr(run, "standing", None)

    shown.begin(getattr(run, "rows_before", 0))
    try:
        run.to_end(Observer())
    except (KeyboardInterrupt, Halted):
        if not interrupts.asked:
            raise
    except OutputClosed:
        pass  # `| head` has seen enough


def tell(summary: RunSummary, *, interrupted: bool) -> None:
    """Warnings and the closing summary."""
    for warning in summary.warnings:
        click.echo(f"warning: {warning}", err=True)
    if interrupted:
        click.echo("interrupted", err=True)
    show_summary(summary)
