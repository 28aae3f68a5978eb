"""What the load run asks of a service: a stream of vehicles, pull queries over it, and the answers they must give.

Event time only goes up, a micro-batch a second, so the value of a query at the last instant of an acknowledged micro-batch
is settled: no later row can change it. The judge works it out from the rows themselves, with nothing of the engine.
"""

from __future__ import annotations

import io
import random
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

STATIONS = 200
WINDOWS_S = (10, 60, 300, 900)

DECLARATION = """CREATE STREAM traffic (ts BIGINT, station BIGINT, speed BIGINT);
SET RETENTION = 1 HOUR;
"""


@dataclass(frozen=True, slots=True)
class Question:
    """A pull query: vehicles of one station above a speed, over the last so many seconds."""

    station: int
    speed: int
    window_s: int

    @property
    def text(self) -> str:
        return (
            "SELECT COUNT(*) AS vehicles, SUM(speed) AS total, MAX(speed) AS fastest FROM traffic "
            f"WHERE station = {self.station} AND speed > {self.speed} "
            f"BEGIN AFTER NOW - {self.window_s} END NOW"
        )


def questions(count: int, seed: int = 7) -> list[Question]:
    """So many queries, no two need be different."""
    chooser = random.Random(seed)
    return [
        Question(chooser.randrange(STATIONS), chooser.randrange(150), chooser.choice(WINDOWS_S))
        for _ in range(count)
    ]


def program_text(asked: list[Question]) -> str:
    """A program with the queries c0, c1, ..."""
    lines = [f"CREATE QUERY c{at} AS {question.text};" for at, question in enumerate(asked)]
    return DECLARATION + "\n".join(lines)


class Recorder:
    """All rows that were acknowledged, and what queries must answer over them."""

    def __init__(self, rows_per_batch: int, seed: int = 11) -> None:
        self._rows_per_batch = rows_per_batch
        self._chooser = np.random.default_rng(seed)
        self._batches: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
        self._lock = threading.Lock()
        self.rows = 0

    def next_batch(self) -> tuple[bytes, Any]:
        """The rows of the next second as an Arrow stream, and what to acknowledge."""
        second = len(self._batches) + 1
        station = self._chooser.integers(0, STATIONS, self._rows_per_batch)
        speed = self._chooser.integers(0, 160, self._rows_per_batch)
        ts = np.full(self._rows_per_batch, second)
        table = pa.table({"ts": ts, "station": station, "speed": speed})
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return sink.getvalue(), (station, speed)

    def acknowledge(self, batch: Any) -> None:
        """The service has taken the batch."""
        with self._lock:
            self._batches.append(batch)
            self.rows += self._rows_per_batch

    @property
    def settled(self) -> int:
        """The last instant of which all rows are in."""
        return len(self._batches)

    def expected(self, question: Question, at: int) -> dict[str, int | None]:
        """What a query must answer at a settled instant."""
        with self._lock:
            seen = self._batches[max(at - question.window_s, 0) : at]
        found = [
            speed[(station == question.station) & (speed > question.speed)]
            for station, speed in seen
        ]
        speeds = np.concatenate(found) if found else np.zeros(0, np.int64)
        if not len(speeds):
            return {"vehicles": 0, "total": None, "fastest": None}
        return {
            "vehicles": len(speeds),
            "total": int(speeds.sum()),
            "fastest": int(speeds.max()),
        }
