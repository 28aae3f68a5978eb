"""A stream made up for tries: so many rows a second, counted from 0.

    WITH (format = 'rate', rows_per_second = '100', rows = '1000')

The event time goes up evenly from the start of the run (from 0 where it is a number); every other BIGINT column holds the
number of the row, every DOUBLE column too. `rows` ends the stream; without it it goes on for ever.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.errors import RunError
from cqc.runtime.intake.typed_batch import Intake
from cqc.runtime.sources.range import Range

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.typed_batch import TypedBatch

_SECOND_US = 1_000_000
_ROWS_PER_RANGE = 100_000


class RateFeed:
    """Rows by their numbers. The beginning is part of the key in `done`, so that a repetition gives the same rows."""

    def __init__(self, name: str, relation: Relation, *, done: dict[str, int | None]) -> None:
        self.name = name
        self.ended = False
        begun = next(iter(done), None)
        begin_us = time.time_ns() // 1000 if begun is None else int(begun.partition("@")[2])
        self._key = f"rate@{begin_us}"
        self.done: dict[str, int | None] = {self._key: (done.get(self._key) or 0)}
        self._rate = _number(relation, "rows_per_second", 1) or 1
        self._last = _number(relation, "rows", None)
        self._start = time.monotonic() - (self.done[self._key] or 0) / self._rate

    def take(self, rows: int | None) -> tuple[Range, int] | None:
        start = self.done[self._key] or 0
        due = int((time.monotonic() - self._start) * self._rate)
        stop = min(due, start + min(rows or _ROWS_PER_RANGE, _ROWS_PER_RANGE))
        if self._last is not None:
            stop = min(stop, self._last)
            self.ended = start >= self._last
        if stop <= start:
            return None
        self.done[self._key] = stop
        return Range(self.name, self._key, "rate", start, stop), stop - start

    def look(self) -> None:
        return

    def give_back(self, part: Range) -> None:
        self.done[part.path] = part.start

    def forget_gone(self) -> None:
        return

    def done_with_all(self) -> None:
        return

    def close(self) -> None:
        return


def read_rate(relation: Relation, part: Range) -> Iterator[TypedBatch]:
    """The rows of some numbers."""
    numbers = np.arange(part.start, part.stop or part.start)
    rate = _number(relation, "rows_per_second", 1) or 1
    begin_us = int(part.path.partition("@")[2])
    columns: dict[str, Any] = {}
    for at, column in enumerate(relation.declared):
        if at == relation.event_time:
            columns[column.name] = _times(column.type, numbers, rate, begin_us)
        elif column.type in (ColumnType.BIGINT, ColumnType.DOUBLE):
            columns[column.name] = numbers
    yield Intake(relation).take(pa.table(columns))


def _times(type_: ColumnType, numbers: Any, rate: int, begin_us: int) -> pa.Array:
    if type_ is ColumnType.TIMESTAMP:
        us = begin_us + numbers * _SECOND_US // rate
        return pa.array(us).cast(pa.timestamp("us", tz="UTC"))
    return pa.array(numbers / rate if type_ is ColumnType.DOUBLE else numbers // rate)


def _number(relation: Relation, key: str, default: int | None) -> int | None:
    text = relation.options.get(key)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise RunError(f"{key} of {relation.name} must be a whole number above 0, not '{text}'")
    return int(text)
