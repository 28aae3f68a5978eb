"""What every contestant of the join benchmarks is given, and what it must hand back.

Input is Arrow, as a user has it: one table a stream, or the record batches of each micro-batch, cut before the clock runs.
Everything after that is timed, on all sides alike: taking the batch in, typing it, keeping what later batches need,
joining, and handing each query its own rows by column (or only counting them, where that is asked for). A contestant first
answers the beginning of the input once, untimed, so that libraries are loaded and kernels compiled; the timed pass starts
afresh. CPU time is that of the whole process with all its threads.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import cqc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cqc.runtime.deliver.results import ResultGroup

    Tables = Mapping[str, pa.Table]
    Batches = Sequence[Mapping[str, pa.RecordBatch]]

WARM_SHARE = 20  # one part in so many is answered first, untimed


def tables_of(streams: Mapping[str, Mapping[str, Any]]) -> dict[str, pa.Table]:
    """The streams as Arrow tables; `ts` counts microseconds."""
    return {
        name: pa.table(
            {
                column: pa.array(values).cast(pa.timestamp("us", "UTC"))
                if column == "ts"
                else values
                for column, values in columns.items()
            }
        )
        for name, columns in streams.items()
    }


def beginning(tables: Tables, share: int = WARM_SHARE) -> dict[str, pa.Table]:
    """The first part of every stream, for the pass that is not timed."""
    return {name: table.slice(0, len(table) // share) for name, table in tables.items()}


def batches_of(tables: Tables, batch_us: int) -> list[dict[str, pa.RecordBatch]]:
    """The streams cut by event time into micro-batches."""
    times = {name: table["ts"].cast(pa.int64()).to_numpy() for name, table in tables.items()}
    last = max(int(each[-1]) for each in times.values())
    edges = np.arange(0, last + batch_us + 1, batch_us)
    batches: list[dict[str, pa.RecordBatch]] = [{} for _ in edges[1:]]
    for name, table in tables.items():
        (whole,) = table.combine_chunks().to_batches()
        cuts = np.searchsorted(times[name], edges).tolist()
        for at, batch in enumerate(batches):
            if cuts[at] < cuts[at + 1]:
                batch[name] = whole.slice(cuts[at], cuts[at + 1] - cuts[at])
    return batches


def timed(answer: Callable[[], int], tuples: int) -> dict[str, Any]:
    """One measurement; `answer` gives the number of results."""
    started = time.process_time()
    results = answer()
    return {"cpu_s": time.process_time() - started, "tuples": tuples, "results": results}


class Feed:
    """A program in cqc, fed micro-batch by micro-batch."""

    def __init__(self, program: str, *, deliver: bool) -> None:
        self._program = program
        self._deliver = deliver
        self._engine = self._fresh()

    def _fresh(self) -> cqc.Engine:
        return cqc.Engine(cqc.compile(self._program), collect=self._deliver, keep_past=False)

    def measure(self, batches: Batches, warm: Batches) -> dict[str, Any]:
        """Warm up, start afresh, and time the batches."""
        self.answer(warm)
        self._engine = self._fresh()
        return timed(lambda: self.answer(batches), _tuples(batches))

    def measure_last(self, batches: Batches, last: int) -> dict[str, Any]:
        """Time only the last batches, when the state has its full size."""
        self._push(batches[:-last])
        timed_batches = batches[-last:]
        found = timed(lambda: self._push(timed_batches), _tuples(timed_batches))
        self._engine.finish()
        return found

    def answer(self, batches: Batches) -> int:
        """Push the batches, end the input, and take every query's rows; returns how many there are."""
        delivered = self._push(batches)
        self._engine.finish()
        if self._deliver:
            return delivered + self._take()
        return sum(self._engine.result_counts().values())

    def _push(self, batches: Batches) -> int:
        delivered = 0
        for batch in batches:
            self._engine.push_batch(batch)
            if self._deliver:
                delivered += self._take()
        return delivered

    def _take(self) -> int:
        return sum(_rows_of(group) for groups, _ in self._engine.drain_groups() for group in groups)


def _rows_of(group: ResultGroup) -> int:
    """Each query's own rows by column, side by side, as a consumer would use them."""
    columns = group.own_columns()
    assert len(columns[0]) == group.ends[-1]
    return len(group)


def _tuples(batches: Batches) -> int:
    return sum(rows.num_rows for batch in batches for rows in batch.values())
