"""The rows of a user's DataFrames inside a task: which stream each belongs to, and what somebody asks in between.

On the driver `Slots` lays the columns of all streams side by side. What a worker needs to take them apart is names alone; the
control source is one more stream among them, whose rows are texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CONTROL = -1
CONTROL_COLUMN = "control"


@dataclass(frozen=True, slots=True)
class SlotRows:
    """By tag: the stream's folded name, and for each of its columns the slot and the name."""

    streams: tuple[tuple[int, str, tuple[tuple[str, str], ...]], ...]

    def split(self, batches: Sequence[pa.RecordBatch]) -> Iterator[tuple[str, pa.Table]]:
        """The rows of each stream, with its own column names."""
        if not batches:
            return
        table = pa.Table.from_batches(batches)
        for tag, name, columns in self.streams:
            rows = table.filter(pc.equal(table["tag"], tag))
            if rows.num_rows:
                arrays = [rows[slot] for slot, _ in columns]
                yield name, pa.Table.from_arrays(arrays, names=[column for _, column in columns])

    def controls(self, batches: Sequence[pa.RecordBatch]) -> list[str]:
        """What the rows of the control source say."""
        return [
            text
            for batch in batches
            for text in batch.column(CONTROL_COLUMN).drop_null().to_pylist()
        ]
