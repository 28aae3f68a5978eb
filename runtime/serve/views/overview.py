"""The service at a glance: how much comes in and goes out a second, how far each stream is, what takes memory.

A sample is taken every second, without waiting for the engine: counters that can be read at any time. Charts of the last ten minutes
and the rates are made of these samples. What needs the engine (sizes of states) is asked for when somebody looks.
"""

from __future__ import annotations

import resource
import sys
import time
from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.event_time import ALL_SEEN, NOTHING_SEEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.runtime.intake.stream_input import StreamInput
    from cqc.runtime.serve.service import Service

SAMPLE_S = 1.0
_KEPT = 600  # samples
_RATE_SAMPLES = 5  # a rate is that of the last few seconds
_SECOND_US = 1_000_000
_STATM = Path("/proc/self/statm")


@dataclass(frozen=True, slots=True)
class Sample:
    """The counters at one moment."""

    at: float  # seconds since the epoch
    clock: float  # seconds that only go up
    tuples: dict[str, int]
    results: int
    busy_seconds: float
    memory: int


@dataclass(frozen=True, slots=True)
class StreamView:
    """One stream or table."""

    name: str
    is_stream: bool
    read: int
    per_second: float
    late: int
    rejected: int
    reasons: dict[str, int]
    waiting: int
    queries: int
    rows: int
    bytes: int
    watermark_us: int | None  # None before the first row, and for tables
    latest_us: int | None
    lag_seconds: (
        float | None
    )  # of the watermark behind the clock on the wall; None where event time is a number
    time_type: ColumnType | None
    is_idle: bool


@dataclass(frozen=True, slots=True)
class Sizes:
    """What only the engine's thread knows."""

    states: dict[str, tuple[int, int]]  # by declared name: rows and bytes
    operators: int  # bytes

    @staticmethod
    def of(service: Service) -> Sizes:
        measured = service.engine.metrics()
        return Sizes(
            {each.name: (each.tuples, each.bytes) for each in measured.states},
            sum(each.bytes for each in measured.operators),
        )


class Pulse:
    """Samples of a service's counters.

    Args:
        service: whose.
        now: seconds since the epoch.
        clock: seconds that only go up.
    """

    def __init__(
        self,
        service: Service,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._service = service
        self._now = now
        self._clock = clock
        self.samples: deque[Sample] = deque(maxlen=_KEPT + 1)
        self.beat()

    def beat(self) -> None:
        """Take a sample; it never waits."""
        service = self._service
        lines = list(service.engine.lines.values())
        self.samples.append(
            Sample(
                self._now(),
                self._clock(),
                {line.relation.name: line.count.read for line in lines},
                service.results.next_number - 1,
                service.busy_seconds,
                memory_bytes(),
            )
        )

    def rates(self) -> tuple[dict[str, float], float, float]:
        """Rows a second by stream, results a second, and the share of its time that the engine works, of late."""
        last = self.samples[-1]
        before = self.samples[max(-_RATE_SAMPLES - 1, -len(self.samples))]
        seconds = last.clock - before.clock
        if seconds <= 0:
            return dict.fromkeys(last.tuples, 0.0), 0.0, 0.0
        rows = {
            name: (count - before.tuples.get(name, 0)) / seconds
            for name, count in last.tuples.items()
        }
        load = (last.busy_seconds - before.busy_seconds) / seconds
        return rows, (last.results - before.results) / seconds, min(load, 1.0)

    def history(self) -> dict[str, list[float]]:
        """The last ten minutes: tuples and results a second, the engine's load and the memory."""
        found: dict[str, list[float]] = {
            "at": [], "tuples": [], "results": [], "load": [], "memory": [],
        }  # fmt: skip
        for before, after in pairwise(self.samples):
            seconds = max(after.clock - before.clock, 1e-6)
            tuples = sum(after.tuples.values()) - sum(before.tuples.values())
            found["at"].append(round(after.at, 3))
            found["tuples"].append(round(tuples / seconds, 1))
            found["results"].append(round((after.results - before.results) / seconds, 1))
            load = (after.busy_seconds - before.busy_seconds) / seconds
            found["load"].append(round(min(load, 1.0), 4))
            found["memory"].append(after.memory)
        return found

    def streams(self, sizes: Sizes) -> list[StreamView]:
        """Every stream and table as it stands."""
        rows, _, _ = self.rates()
        return [
            self._stream(line, rows.get(line.relation.name, 0.0), sizes)
            for line in list(self._service.engine.lines.values())
        ]

    def _stream(self, line: StreamInput, per_second: float, sizes: Sizes) -> StreamView:
        count, relation = line.count, line.relation
        kept, size = sizes.states.get(relation.name, (0, 0))
        time_type = relation.time_type if line.is_stream else None
        watermark = watermark_of(line)
        return StreamView(
            relation.name,
            line.is_stream,
            count.read,
            per_second,
            count.late,
            count.rejected,
            dict(count.reasons),
            count.waiting,
            self._service.registry.readers(fold(relation.name)),
            kept,
            size,
            watermark,
            line.latest_us if line.is_stream else None,
            lag_seconds(line, self._now()),
            time_type,
            line.is_stream and line.clock.is_idle(),
        )


def watermark_of(line: StreamInput) -> int | None:
    """The watermark of a stream in microseconds; None before the first row, after the end, and for tables."""
    if not line.is_stream or line.watermark_us in (NOTHING_SEEN, ALL_SEEN):
        return None
    return line.watermark_us


def lag_seconds(line: StreamInput, now: float) -> float | None:
    """How far a watermark is behind the clock on the wall; None where event time is a number, or nothing has come."""
    watermark = watermark_of(line)
    if watermark is None or line.relation.time_type is not ColumnType.TIMESTAMP:
        return None
    return now - watermark / _SECOND_US


def memory_bytes() -> int:
    """What the process takes of the machine's memory; the most that it ever took where the system tells no more."""
    try:
        return int(_STATM.read_text().split()[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
