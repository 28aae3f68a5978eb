"""Rows far ahead of their stream wait aside until others confirm them: `SET MAX_AHEAD = 1 DAY`.

One row dated 2094 among those of today would make every other row late. So a row more than MAX_AHEAD after the latest event
time of its stream waits. It counts when 16 later rows are within MAX_AHEAD of it: then the stream has really moved on, after
a pause for example. With it counts every other waiting row that is no longer ahead then, except for those that are left more
than MAX_AHEAD behind. A row that is no longer ahead because the stream went on as before is rejected; so are those that still
wait at the end, and the oldest of too many.

    MAX_AHEAD 100: times 1 2 900 3 4      900 waits, 3 and 4 come as if it was not there; 900 is rejected at the end
    MAX_AHEAD 100: times 1 2 900 901 ...  900 to 915 wait; with 916, its sixteenth companion, 900 counts, and so do the others

So MAX_AHEAD must be long enough for 17 rows of the stream; one with a row a day needs a month.

The first row of a stream has nothing to be ahead of, and counts. What is decided depends on the order of the rows alone, not
on how they are cut into micro-batches: whoever waits, and how much company it had, is part of what a checkpoint holds.
"""

from __future__ import annotations

import base64
import io
import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cqc.compiler.wording.expressions import duration_text
from cqc.runtime.columns.columns import take
from cqc.runtime.columns.convert.arrow_out import to_arrow
from cqc.runtime.columns.event_time import span
from cqc.runtime.intake.typed_batch import Intake, Reject, TypedBatch, join_taken
from cqc.runtime.kernel import njit
from cqc.runtime.sinks.json_text import json_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.compiler.meaning.catalog import Relation

COMPANY = 16  # later rows that confirm one
MOST_WAITING = 256  # rows; with one more the oldest is rejected
_MOST_US = 2**62  # room for times to be added without overflow
_COUNTS, _STRAY, _WAITS = 0, 1, 2


@njit(cache=True, nogil=True)
def _decide(ts, waiting, company, latest, is_begun, most, needed, room):  # type: ignore[no-untyped-def]
    """What becomes of rows, one after the other; the first `waiting` of them wait already, with `company` of so many.

    Gives the fate of each, those that count in the order in which they do, and the latest event time after them.
    """
    count = len(ts)
    fate = np.zeros(count, np.int8)
    order = np.empty(count, np.int64)
    taken = 0
    held = np.empty(count, np.int64)
    number = waiting
    least = np.int64(2**63 - 1)
    for at in range(waiting):
        held[at] = at
        least = min(least, ts[at])
    for row in range(waiting, count):
        time = ts[row]
        if not is_begun or time <= latest + most:
            order[taken] = row
            taken += 1
            if is_begun and time <= latest:
                continue
            latest = time
            is_begun = True
            if number == 0 or least > latest + most:
                continue
            kept = 0
            for at in range(number):
                if ts[held[at]] <= latest + most:
                    fate[held[at]] = 1
                else:
                    held[kept] = held[at]
                    kept += 1
            number = kept
        else:
            confirmed = -1
            for at in range(number):
                other = held[at]
                if abs(time - ts[other]) <= most:
                    company[other] += 1
                    if confirmed < 0 and company[other] >= needed:
                        confirmed = other
            held[number] = row
            number += 1
            if confirmed >= 0:
                from_time = ts[confirmed] - most
                latest = ts[confirmed]
                went = True
                while went:  # each may bring others within reach
                    went = False
                    kept = 0
                    for at in range(number):
                        other = held[at]
                        if ts[other] > latest + most:
                            held[kept] = other
                            kept += 1
                        elif ts[other] < from_time:
                            fate[other] = 1
                        else:
                            order[taken] = other
                            taken += 1
                            latest = max(latest, ts[other])
                            went = True
                    number = kept
            elif number > room:
                fate[held[0]] = 1
                number -= 1
                for at in range(number):
                    held[at] = held[at + 1]
        least = np.int64(2**63 - 1)
        for at in range(number):
            least = min(least, ts[held[at]])
    for at in range(number):
        fate[held[at]] = 2
    return fate, order[:taken], latest


class AheadGuard:
    """The rows of one stream that wait.

    Args:
        relation: the stream.
        most_us: how far ahead a row may be.
    """

    def __init__(self, relation: Relation, most_us: int) -> None:
        assert relation.event_time is not None
        self._relation = relation
        self._most_us = min(most_us, _MOST_US)
        self._waiting: TypedBatch | None = None
        self._company = np.zeros(0, np.int64)
        self._least_us = 0  # of those that wait
        column = relation.columns[relation.event_time].name
        self.reason = f"{column} is more than {duration_text(most_us)} ahead of {relation.name}"

    def __len__(self) -> int:
        return 0 if self._waiting is None else len(self._waiting)

    def sort_out(self, taken: TypedBatch, latest_us: int | None) -> tuple[TypedBatch, list[Reject]]:
        """Sort rows: those that count now, and those that are rejected. The others wait.

        Args:
            taken: what came.
            latest_us: the latest event time of the stream before that; None for nothing.
        """
        if self._is_usual(taken, latest_us):
            return taken, []
        rows, fate, order, _, company = self._decided(taken, latest_us)
        strays = np.flatnonzero(fate == _STRAY)
        waits = np.flatnonzero(fate == _WAITS)
        rejects = self._rejects(_pick(rows, strays))
        self._wait(_pick(rows, waits), company[waits])
        counts = _pick(rows, order)
        return TypedBatch(counts.columns, counts.ts_us, taken.read, taken.rejects), rejects

    def reach_us(self, taken: TypedBatch, latest_us: int | None) -> int | None:
        """The latest event time of the stream once these rows have come."""
        if not len(taken):
            return latest_us
        if self._is_usual(taken, latest_us):
            largest_us = _span(taken)[1]
            return largest_us if latest_us is None else max(latest_us, largest_us)
        return self._decided(taken, latest_us)[3]

    def all_count(self, taken: TypedBatch, latest_us: int | None) -> bool:
        """Whether all rows count, also those that are far ahead of the first, and nobody who waits hears of it."""
        if self._is_usual(taken, latest_us):
            return True
        times = taken.ts_us
        reached = np.maximum.accumulate(times)
        if latest_us is not None:
            reached = np.maximum(reached, latest_us)
        if self._waiting is not None and self._least_us <= int(reached[-1]) + self._most_us:
            return False
        is_first_ahead = latest_us is not None and int(times[0]) > latest_us + self._most_us
        return not is_first_ahead and not bool((times[1:] > reached[:-1] + self._most_us).any())

    def end(self) -> list[Reject]:
        """Reject the rows that wait, because the input has ended."""
        waiting = self._waiting
        self._waiting = None
        return [] if waiting is None else self._rejects(waiting)

    # What a checkpoint holds

    def saved(self) -> tuple[str, list[int]]:
        """The waiting rows as text, each with the number of rows that confirm it so far."""
        if self._waiting is None:
            return "", []
        names = [column.name for column in self._relation.declared]
        columns = self._waiting.columns[: len(names)]
        table = pa.Table.from_arrays([to_arrow(each) for each in columns], names)
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return base64.b64encode(sink.getvalue()).decode("ascii"), self._company.tolist()

    def restore(self, text: str, company: list[int]) -> None:
        """Let the rows of `saved` wait again."""
        if not text:
            self._waiting = None
            return
        table = pa.ipc.open_stream(base64.b64decode(text)).read_all()
        self._wait(Intake(self._relation).take(table), np.array(company, np.int64))

    # Inside

    def _is_usual(self, taken: TypedBatch, latest_us: int | None) -> bool:
        """Whether all rows count, and nobody who waits hears of it."""
        if not len(taken):
            return True
        largest_us = _span(taken)[1]
        reached_us = largest_us if latest_us is None else max(latest_us, largest_us)
        if self._waiting is not None and self._least_us <= reached_us + self._most_us:
            return False
        first_us = int(taken.ts_us[0]) if latest_us is None else latest_us
        return largest_us <= first_us + self._most_us

    def _decided(
        self, taken: TypedBatch, latest_us: int | None
    ) -> tuple[TypedBatch, NDArray[np.int8], NDArray[np.int64], int, NDArray[np.int64]]:
        rows = taken if self._waiting is None else join_taken([self._waiting, taken])
        company = np.zeros(len(rows), np.int64)
        company[: len(self)] = self._company[: len(self)]
        fate, order, latest = _decide(
            np.ascontiguousarray(rows.ts_us),
            len(self),
            company,
            0 if latest_us is None else latest_us,
            latest_us is not None,
            self._most_us,
            COMPANY,
            MOST_WAITING,
        )
        return rows, fate, order, int(latest), company

    def _wait(self, rows: TypedBatch, company: NDArray[np.int64]) -> None:
        self._waiting, self._company = (rows, company) if len(rows) else (None, company)
        self._least_us = int(rows.ts_us.min()) if len(rows) else 0

    def _rejects(self, rows: TypedBatch) -> list[Reject]:
        if not len(rows):
            return []
        names = [column.name for column in self._relation.columns]
        texts = json_rows(names, rows.columns, len(rows)).to_pylist()
        return [Reject(self.reason, json.loads(text)) for text in texts]


def _span(taken: TypedBatch) -> tuple[int, int]:
    """The least and the largest event time, remembered for whoever asks next."""
    if taken.span_us is None:
        least_us, largest_us = span(taken.ts_us)
        taken.span_us = int(least_us), int(largest_us)
    return taken.span_us


def _pick(rows: TypedBatch, positions: NDArray[np.int64]) -> TypedBatch:
    columns = tuple(take(column, positions) for column in rows.columns)
    return TypedBatch(columns, rows.ts_us[positions], len(positions))


def warm() -> None:
    """Compile this module's kernel."""
    numbers = np.zeros(1, np.int64)
    _decide(numbers, 0, numbers.copy(), 0, True, 1, COMPANY, MOST_WAITING)
    numbers.flags.writeable = False
    _decide(numbers, 0, np.zeros(1, np.int64), 0, True, 1, COMPANY, MOST_WAITING)
