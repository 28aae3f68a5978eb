"""One driver of micro-batches: from a feed through the engine to where the results go, until the micro-batch counts.

    feed -> push -> drain -> deliver -> count

Runs to the end of a file, runs that follow their input, durable runs, runs whose micro-batches come through Spark, programs over
a user's DataFrames and the service all go through `Driver.take`, and all but the last two have its loop. What differs is handed
in: the *feed* says what comes next, the *outlet* has the results, the *ledger* makes a micro-batch count, and the *observer*
hears how far it is and may raise to stop between two micro-batches.

A stop in the middle of a micro-batch is the engine's watch (`give_up`): `Halted` comes out of `take`, and the micro-batch counts
nowhere.
"""

from __future__ import annotations

import time
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.catalog import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cqc.runtime.deliver.results import ResultBlock
    from cqc.runtime.engine.engine import Engine
    from cqc.runtime.intake.typed_batch import TypedBatch
    from cqc.runtime.sources.range import Range

LOOK_S = 0.1  # how often a run that waits looks for new input


@record
class MicroBatch:
    """Typed rows by stream, and the parts of files that they were read from (none where somebody else knows that)."""

    rows: Mapping[str, TypedBatch] = field(default_factory=dict)
    ranges: Sequence[Range] = ()


NOTHING = MicroBatch()  # what comes with the end of the input, or because time has passed


class Feed(Protocol):
    """Where micro-batches come from."""

    def next_batch(self, reached_us: Mapping[str, int]) -> MicroBatch | None:
        """The next one; None when there is none at present. `reached_us`: how far each stream is in event time."""

    @property
    def has_ended(self) -> bool:
        """Whether there will never be more."""


class Outlet(Protocol):
    """Where results go."""

    def deliver(self, batch: MicroBatch, results: Iterable[list[ResultBlock]]) -> None:
        """Take what a micro-batch found; what is not taken of `results` stays in the engine."""


class Ledger(Protocol):
    """What makes a micro-batch count, once its results are delivered."""

    def count(self, batch: MicroBatch) -> None:
        """A micro-batch was processed."""

    def count_end(self) -> None:
        """What only the end of the input decides was delivered."""


@record
class Observer:
    """Who watches a run: `done` hears after each micro-batch how many tuples were read.

    `waiting` is called while nothing goes on, in the middle of a micro-batch too, and may raise to stop; `idle` only between two, while
    there is no input.
    """

    done: Callable[[int], None] = lambda tuples: None
    waiting: Callable[[], None] = lambda: None
    say: Callable[[str], None] = lambda text: None
    idle: Callable[[], None] = lambda: None

    @staticmethod
    def of(progress: Callable[[int], None] | None) -> Observer:
        """The observer that a plain function is, or one that has `waiting`, `say` and `idle` as well."""
        if progress is None:
            return Observer()
        silent = Observer()
        waiting = getattr(progress, "waiting", silent.waiting)
        say, idle = getattr(progress, "say", silent.say), getattr(progress, "idle", silent.idle)
        return Observer(progress, waiting, say, idle)


class Driver:
    """Takes micro-batches through one engine.

    Args:
        engine: what answers the queries.
        outlet: where results go.
        ledger: what makes micro-batches count.
    """

    def __init__(self, engine: Engine, outlet: Outlet, ledger: Ledger) -> None:
        self._engine = engine
        self._outlet = outlet
        self._ledger = ledger
        self.reached_us: dict[str, int] = {}  # by folded stream name: how far it is in event time

    def run(self, feed: Feed, observer: Observer) -> None:
        """Take micro-batches until the feed has ended; then `finish` is still to be called."""
        while True:
            batch = feed.next_batch(self.reached_us)
            if batch is not None:
                self.take(batch)
                del batch  # before the next one is read
                observer.done(self._engine.tuples_read)
            elif feed.has_ended:
                return
            else:
                time.sleep(LOOK_S)
                observer.waiting()
                observer.idle()

    def take(self, batch: MicroBatch) -> None:
        """Process one micro-batch, deliver what it found and make it count."""
        self._engine.push_typed(batch.rows)
        for name in map(fold, batch.rows):
            latest_us = self._engine.lines[name].latest_us
            if latest_us is not None:
                self.reached_us[name] = latest_us
        self._outlet.deliver(batch, self._engine.drain_blocks())
        self._ledger.count(batch)

    def finish(self, at_us: int | None = None) -> None:
        """Deliver what only the end of the input decides, invoke the pull queries once, and make that count.

        Args:
            at_us: the instant of these invocations; the latest event time by default.
        """
        self._engine.finish()
        self._engine.closing_invocations(at_us)
        self._outlet.deliver(NOTHING, self._engine.drain_blocks())
        self._ledger.count_end()

    def give_up(self) -> None:
        """Let the micro-batch in hand stop in the middle, with `Halted`; called by a signal or from another thread."""
        self._engine.watch.halt("the run is stopping")
