"""The results of one run, as many as are shown: the sink of a query that was typed in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.cli.shell.session import Table
from cqc.runtime.sinks.alert_text import flat
from cqc.runtime.sinks.csv_text import csv_times
from cqc.runtime.sinks.protocol import shape_of_block, time_label
from cqc.runtime.sinks.table import cell_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.runtime.deliver.results import ResultBlock


class Collected:
    """Keeps the first rows as texts and counts the rest.

    Args:
        limit: how many rows are kept; None is all.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._titles: list[str] = []
        self._right: list[bool] = []
        self._rows: list[tuple[str, ...]] = []
        self._count = 0

    def write(self, blocks: Sequence[ResultBlock]) -> None:
        """Take the results of one micro-batch."""
        for block in map(flat, blocks):
            self._count += len(block)
            room = len(block) if self._limit is None else self._limit - len(self._rows)
            if room <= 0 or not len(block):
                continue
            if not self._titles:
                self._titles = [time_label(shape_of_block(block)), *block.names]
                numeric = (column.type.is_numeric for column in block.columns)
                self._right = [block.time_type.is_numeric, *numeric]
            times = csv_times(block.times_us, block.time_type).to_pylist()
            columns = [[text or "NULL" for text in times], *map(cell_texts, block.own_columns())]
            self._rows += list(zip(*(cells[:room] for cells in columns), strict=True))

    def close(self) -> None:
        """Nothing is held open."""

    def table(self, note: str = "") -> Table:
        """What was found."""
        return Table(self._titles, self._rows, self._right, self._count - len(self._rows), note)
