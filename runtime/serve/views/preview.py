"""What a query would have found in the retained past, before anybody registers it.

    10,000 retained rows of trades, `SELECT ... WHERE price > 100`      41 results, the last ones shown, when they came

A scratch engine (`past`) goes through the rows that are kept, bounded in rows, results and time. Nothing that runs is touched, and
where a bound cut something off, the answer says so.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.errors import Halted, RunError
from cqc.runtime.serve.refusal import Refusal, Status
from cqc.runtime.serve.registry import columns_of, kind_of
from cqc.runtime.serve.views.past import in_batches, scratch_engine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.compiler.meaning.types import ColumnType
    from cqc.runtime.deliver.results import ResultBlock
    from cqc.runtime.engine.engine import Engine
    from cqc.runtime.pull.pull_query import Invocation
    from cqc.runtime.serve.views.past import Past

MOST_ROWS = 200_000  # of each stream
MOST_FOUND = 1_000_000  # results after which nobody needs more
SHOWN = 100  # results
_SPANS = 60  # of the chart
_BATCH_ROWS = 4_096
_NAME = "preview"


@dataclass(frozen=True, slots=True)
class TimeCounts:
    """Results by event time: spans of equal length."""

    begin_us: int
    span_us: int
    counts: list[int]
    time_type: ColumnType


@dataclass(slots=True)
class Preview:
    """What the past gave; `asked` is the answer of a query with BEGIN-END and without EVERY."""

    kind: str
    columns: tuple[tuple[str, str], ...]
    rows: int  # of the past that were gone through
    seconds: float = 0.0
    results: int = 0
    latest: list[ResultBlock] = field(default_factory=list)
    over_time: TimeCounts | None = None
    asked: Invocation | None = None
    cut: str = ""  # what was left out, in a sentence


def preview(past: Past, text: str, seconds: float, at: str | None = None) -> Preview:
    """Go through the past with a query, in any thread.

    Args:
        past: the rows.
        text: the query.
        seconds: after which whatever was found so far is the answer.
        at: the instant that a query with BEGIN-END is asked about; the latest by default.

    Raises:
        CompileError: when the query has errors.
        Refusal: when the past has too much for it, or no answer came in time.
    """
    started = time.perf_counter()
    with scratch_engine(past, seconds) as engine:
        try:
            handle = engine.register(text, name=_NAME)
        except RunError as error:
            raise Refusal(Status.TOO_LARGE, str(error)) from error
        except Halted as error:
            raise _too_slow(seconds) from error
        node = engine.node(handle)
        found = Preview(kind_of(node), columns_of(node), past.rows)
        if past.cut:
            names = " and ".join(past.cut)
            found.cut = f"Only the latest {MOST_ROWS:,} rows of {names} were gone through."
        _go_through(engine, past, found)
        if found.kind == "pull":
            try:
                found.asked = engine.ask(handle, at)
                found.results = len(found.asked.block)
            except RunError as error:
                raise Refusal(Status.INVALID, str(error)) from error
            except Halted as error:
                raise _too_slow(seconds) from error
    found.seconds = time.perf_counter() - started
    return found


def _too_slow(seconds: float) -> Refusal:
    return Refusal(Status.TOO_SLOW, f"there is no answer after {seconds:g} seconds")


def _go_through(engine: Engine, past: Past, found: Preview) -> None:
    latest: deque[ResultBlock] = deque()
    times: list[NDArray[np.int64]] = []
    kept = gone = 0
    engine.bound(found=MOST_FOUND, past=MOST_FOUND)
    engine.bound_instants(MOST_FOUND)
    try:
        for batch in in_batches(past, engine, _BATCH_ROWS):
            engine.push_typed(batch)
            gone += sum(map(len, batch.values()))
            for blocks in engine.drain_blocks():
                for block in blocks:
                    latest.append(block)
                    times.append(block.times_us)
                    found.results += len(block)
                    kept += len(block)
            while latest and kept - len(latest[0]) >= SHOWN:
                kept -= len(latest.popleft())
            silenced = engine.take_silenced()
            if silenced or found.results > MOST_FOUND:
                found.cut = (
                    f"It has more than {MOST_FOUND:,} results; the rest was not gone through."
                )
                break
    except Halted:
        found.cut = f"Time was up after {gone:,} of {past.rows:,} rows."
    except RunError as error:
        raise Refusal(Status.TOO_LARGE, str(error)) from error
    found.rows = gone
    found.latest = list(latest)
    if times and found.results:
        found.over_time = _spans(np.concatenate(times), latest[0].time_type)


def _spans(times_us: NDArray[np.int64], time_type: ColumnType) -> TimeCounts:
    begin, end = int(times_us.min()), int(times_us.max())
    span = max(-(-(end - begin + 1) // _SPANS), 1)
    counts = np.bincount((times_us - begin) // span, minlength=_SPANS)[:_SPANS]
    return TimeCounts(begin, span, counts.tolist(), time_type)
