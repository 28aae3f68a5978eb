"""One run of a program on Spark Structured Streaming: a single streaming query delivers the input of all its streams.

It is the run that follows its input, or the durable one, with the ranges of its micro-batches carried by Spark (`delivery`). The
engine is in this process and works in the thread that drives it; Spark starts while the tables are read. That thread is never
inside a call to the JVM for long, so that Ctrl-C is heard at once. A micro-batch that takes long then is given up by the engine,
between two calls of a kernel: it does not count, and Spark hears nothing of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.run.batch_run import BatchRun
from cqc.runtime.run.driver import Observer
from cqc.runtime.run.durable.durable_run import DurableRun
from cqc.runtime.spark.delivery import Delivery

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.compiler import Program
    from cqc.runtime.engine.engine import Engine
    from cqc.runtime.options import RunOptions
    from cqc.runtime.run.finite_run import RunSummary
    from cqc.runtime.run.standing import Standing
    from cqc.runtime.spark.session.session import Session

# What counts is in our checkpoint, and nothing of Spark's outlives a run.
_ADVICE = "; start again to go on from the last micro-batch that counts"


class SparkRun:
    """A run on Spark.

    Args:
        program: what to run.
        options: how.
        session: a session to use and leave open; one is started (and ended by `close`) without it.

    Raises:
        RunError: when data is missing, or a place to write to cannot be opened.
    """

    def __init__(
        self, program: Program, options: RunOptions, session: Session | None = None
    ) -> None:
        self._options = options
        make = BatchRun if options.checkpoint is None else DurableRun
        self._run = make(program, options)
        self._session = session
        self._delivery: Delivery | None = None

    @property
    def engine(self) -> Engine:
        """The engine, for its counters."""
        return self._run.engine

    def to_end(self, progress: Callable[[int], None] | None = None) -> None:
        """Run until the input has ended (with `follow`: until somebody interrupts).

        Raises:
            RunError: when the run cannot go on.
        """
        observer = Observer.of(progress)
        observer.say("starting Spark")
        self._run.carrier = self._delivery = Delivery(
            self._options.master,
            self._session,
            advice="" if self._options.checkpoint is None else _ADVICE,
            waiting=observer.waiting,
        )
        self._run.to_end(progress)

    def standing(self) -> Standing:
        """How far the run is."""
        return self._run.standing()

    def give_up(self) -> None:
        """Let the micro-batch under way stop in the middle."""
        self._run.give_up()

    def close(self) -> RunSummary:
        """End Spark, close the sink and say what was done."""
        self._end_spark()
        return self._run.close()

    def abandon(self) -> RunSummary:
        """The same after a failure."""
        self._end_spark()
        return self._run.abandon()

    def _end_spark(self) -> None:
        if self._delivery is not None:
            self._delivery.close()
