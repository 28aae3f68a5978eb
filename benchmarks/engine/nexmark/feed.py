"""Nexmark's events in micro-batches, and a program that reads them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import cqc
from cqc.runtime.columns.columns import to_arrow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from cqc.runtime.deliver.results import ResultBlock

    Batch = Mapping[str, pa.RecordBatch]

STREAMS = ("person", "auction", "bid")
BATCH_EVENTS = 50_000


def micro_batches(tables: Mapping[str, pa.Table], size: int = BATCH_EVENTS) -> list[Batch]:
    """The events so many at a time, the table first."""
    total = sum(len(tables[name]) for name in STREAMS)
    count = max(total // size, 1)
    batches: list[Batch] = [{"side_input": _one(tables["side_input"])}]
    for number in range(count):
        batch = {}
        for name in STREAMS:
            rows = len(tables[name])
            begin, end = rows * number // count, rows * (number + 1) // count
            if end > begin:
                batch[name] = _one(tables[name].slice(begin, end - begin))
        batches.append(batch)
    return batches


def _one(table: pa.Table) -> pa.RecordBatch:
    (batch,) = table.combine_chunks().to_batches()
    return batch


class Feed:
    """A program of Nexmark's queries."""

    def __init__(self, text: str) -> None:
        self._program = cqc.compile(text)
        self._asked = [each.name for each in self._program.queries if each.pull is not None]
        self._engine = cqc.Engine(self._program, keep_past=False)

    def measure(self, batches: Sequence[Batch]) -> dict[str, Any]:
        """CPU time from Arrow to each query's rows by column, and how many there are."""
        events = sum(batch.num_rows for each in batches[1:] for batch in each.values())
        started = time.process_time()
        results = sum(len(block) for block in self._blocks(batches))
        results += sum(len(self._engine.invoke(name)) for name in self._asked)
        return {"cpu_s": time.process_time() - started, "events": events, "results": results}

    def rows(self, batches: Sequence[Batch]) -> dict[str, list[tuple[object, ...]]]:
        """The rows of each query."""
        found: dict[str, list[tuple[object, ...]]] = {
            each.name: [] for each in self._program.queries
        }
        for block in self._blocks(batches):
            columns = [to_arrow(column).to_pylist() for column in block.own_columns()]
            found[block.query] += zip(*columns, strict=True)
        for name in self._asked:
            found[name] += [tuple(row.values()) for row in self._engine.invoke(name).to_pylist()]
        return found

    def _blocks(self, batches: Sequence[Batch]) -> Iterator[ResultBlock]:
        for batch in batches:
            self._engine.push_batch(batch)
            yield from self._delivered()
        self._engine.finish()
        yield from self._delivered()

    def _delivered(self) -> Iterator[ResultBlock]:
        for blocks in self._engine.drain_blocks():
            for block in blocks:
                block.own_columns()
                yield block
