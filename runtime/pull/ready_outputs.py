"""Outputs that lie ready beside a history, for a clause that is asked often (PSoup-C taken to the end).

They are Arrow record batches in the order of the history, so a window's answer is a slice of one table: nothing is copied or
evaluated when somebody asks, however many rows the answer has. Batches are never changed: rows that come are made into a
new one, neighbours of like size are put together, and rows that were moved by others out of order are made again.

It costs the memory of the outputs, and their evaluation for rows that may never be asked for, so it is done once a clause has
been asked for more rows than there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.runtime.pull.history.result_history import Batch, History, Positions

    Outputs = Callable[[Positions], pa.Table]


class MaterialisedOutputs:
    """The outputs of the rows of a history, in its order; `outputs` makes them."""

    def __init__(self, history: History, outputs: Outputs) -> None:
        self.history = history
        self._outputs = outputs
        self._first = self._made = history.first_row  # numbers of the first row, and after the last
        self._table: pa.Table = outputs(history.rows_from(history.end_row))
        history.followers.append(self)
        self._catch_up()

    @property
    def nbytes(self) -> int:
        return int(self._table.nbytes)

    def close(self) -> None:
        """Free the memory."""
        self.history.followers.remove(self)

    def offer(self, batch: Batch, number: int) -> None:
        """Make the rows from `number` on (again) when somebody asks."""
        del batch
        self._made = min(self._made, number)

    def purge(self, before_us: int) -> None:
        """What began earlier is dropped with the next rows."""

    def table(self, begin_us: int, end_us: int) -> pa.Table:
        """The outputs of the rows inside a window."""
        history = self.history
        if self._made != history.end_row:
            self._catch_up()
        start, stop = history.between(begin_us, end_us)
        if not history.has_span or not history.cuts(end_us):
            return self._table.slice(start - self._first, stop - start)
        sure, inside = history.cut(start, stop, end_us)
        unsure = self._table.slice(sure - self._first, stop - sure)
        certain = self._table.slice(start - self._first, sure - start)
        return pa.concat_tables([certain, unsure.filter(pa.array(inside))])

    def _catch_up(self) -> None:
        history = self.history
        first, end = history.first_row, history.end_row
        self._made = max(self._made, first)
        kept = self._table.slice(first - self._first, self._made - first)
        batches = kept.to_batches() if len(kept) else []
        if self._made < end:
            batches += self._outputs(history.rows_from(self._made)).to_batches()
        self._table = pa.Table.from_batches(_tidy(batches), schema=self._table.schema)
        self._first, self._made = first, end


def _tidy(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Few batches, each at least twice as long as the next: every row is copied a logarithmic number of times."""
    kept: list[pa.RecordBatch] = []
    for batch in batches:
        kept.append(batch)
        while len(kept) > 1 and kept[-2].num_rows < 2 * kept[-1].num_rows:
            last = kept.pop()
            joined = pa.Table.from_batches([kept.pop(), last]).combine_chunks().to_batches()
            kept += joined
            if len(joined) > 1:  # texts of more than two gigabytes stay apart
                break
    return kept
