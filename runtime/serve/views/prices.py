"""What a query would cost if it were alone: an estimate from what one query really costs here.

Sharing saves what cannot be seen: work that was not done. So it is measured on the side. For each operator that queries share (the
filter of a stream, a join) one of its queries runs alone in a scratch engine (`past`) over the latest retained rows of its streams,
once in small micro-batches and once in large ones. That gives two prices: of a micro-batch, and of a tuple.

    alone = its own work (compiling, answers, results) + micro-batches x price + tuples x price

The query that stands for the others is the one with the fewest results, so the prices have as little as possible of what each query
pays for itself. What was measured of a query in joins counts where it is more. The estimate is never below what the query costs now.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.diagnostic import CompileError
from cqc.runtime.errors import Halted, RunError
from cqc.runtime.serve.views.past import in_batches, scratch_engine, take_past

if TYPE_CHECKING:
    from cqc.runtime.serve.registry import Entry
    from cqc.runtime.serve.service import Service
    from cqc.runtime.serve.views.past import Past

_ROWS = 2_048  # of each stream
_SMALL, _MOST_SMALL = 8, 24  # rows of a small micro-batch, and how many of them
_SECONDS = 0.5  # that one measurement may take
_AGAIN_S = 120.0  # prices are measured again after so long
_FEWEST = 64  # of so many queries that with the fewest results stands for all
_MOST_TRIED = 512  # operators


@dataclass(frozen=True, slots=True)
class Price:
    """Seconds for each micro-batch and for each tuple of the streams of one query that is alone."""

    batch: float
    tuple: float


@dataclass(frozen=True, slots=True)
class Trial:
    """What is measured for one operator: a query over a piece of the past."""

    operator: str
    text: str
    past: Past


class Prices:
    """Prices by operator (`Place.operator`), measured one at a time when somebody looks."""

    def __init__(self) -> None:
        self._prices: dict[str, Price] = {}
        self._measured_at: dict[str, float] = {}

    def of(self, operator: str) -> Price | None:
        """The price of an operator's queries; None where it is not measured yet."""
        return self._prices.get(operator)

    def next_trial(self, service: Service) -> Trial | None:
        """What to measure next: an operator without a price, or with an old one. In the engine's thread."""
        now = time.monotonic()
        standing: dict[str, Entry] = {}
        looked: dict[str, int] = {}
        for entry in service.registry:
            operator = entry.place.operator
            if not operator or entry.stopped or looked.get(operator, 0) >= _FEWEST:
                continue
            if now - self._measured_at.get(operator, -_AGAIN_S) < _AGAIN_S:
                continue
            looked[operator] = looked.get(operator, 0) + 1
            best = standing.get(operator)
            if best is None or entry.results < best.results:
                standing[operator] = entry
            if len(standing) >= _MOST_TRIED:
                break
        for operator, entry in standing.items():
            past = take_past(service, entry.place.streams, _ROWS)
            if past.rows >= _SMALL * 2:
                self._measured_at[operator] = now
                return Trial(operator, entry.text, past)
        return None

    def measure(self, trial: Trial) -> None:
        """Run the query of a trial alone, in any thread, and keep the price."""
        try:
            # The first run of a query makes what it needs; it is not what a running query costs.
            _run(trial, _ROWS, _ROWS)
            small, batches, tuples = _run(trial, _SMALL, _SMALL * _MOST_SMALL)
            large, large_batches, large_tuples = _run(trial, _ROWS, _ROWS * 4)
        except (CompileError, RunError, Halted):
            return  # it takes too long, or is gone: no price rather than a wrong one
        per_tuple = large / max(large_tuples, 1)
        per_batch = max((small - tuples * per_tuple) / max(batches, 1), 0.0)
        del large_batches
        self._prices[trial.operator] = Price(per_batch, per_tuple)


def _run(trial: Trial, rows: int, most_rows: int) -> tuple[float, int, int]:
    """The processor time of so many rows in micro-batches of one size; how many batches and tuples there were."""
    batches = tuples = 0
    with scratch_engine(trial.past, _SECONDS) as engine:
        engine.register(trial.text, name="alone")
        parts = in_batches(trial.past, engine, rows)
        began = 0.0
        for part in parts:
            count = sum(map(len, part.values()))
            started = time.thread_time()
            engine.push_typed(part)
            for _ in engine.drain_blocks():
                pass
            began += time.thread_time() - started
            batches += len(part)
            tuples += count
            if tuples >= most_rows:
                break
    return began, batches, tuples
