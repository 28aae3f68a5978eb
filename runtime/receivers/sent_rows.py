"""Results on their way, by column: numbers, ids, queries and lines of many results, of which each can be had as a `Sent`.

Spools keep results so, and receivers are given them so. One that takes results one by one need not know: it is a sequence of `Sent`, each
made when it is asked for. One that writes whole columns (PostgreSQL) takes the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

import numpy as np
import pyarrow as pa

from cqc.runtime.receivers.receiver import Columns, Sent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


class SentRows(Sequence[Sent]):
    """Some results, in the order of their numbers.

    Attributes:
        numbers: of each, in the spool.
        ids: of each.
        lines: of each, JSON with the id.
        of: for each which of `queries` found it.
        queries: names, each with the columns of its results.
    """

    __slots__ = ("ids", "lines", "numbers", "of", "queries")

    def __init__(
        self,
        numbers: NDArray[np.int64],
        ids: pa.StringArray,
        lines: pa.StringArray,
        of: NDArray[np.int64],
        queries: Sequence[tuple[str, Columns]],
    ) -> None:
        self.numbers, self.ids, self.lines, self.of = numbers, ids, lines, of
        self.queries = queries

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, at: int) -> Sent: ...
    @overload
    def __getitem__(self, at: slice) -> SentRows: ...
    def __getitem__(self, at: int | slice) -> Sent | SentRows:
        if isinstance(at, slice):
            begin, end, step = at.indices(len(self))
            if step != 1:
                return self.take(np.arange(begin, end, step))
            return SentRows(
                self.numbers[begin:end],
                self.ids.slice(begin, max(end - begin, 0)),
                self.lines.slice(begin, max(end - begin, 0)),
                self.of[begin:end],
                self.queries,
            )
        at = range(len(self))[at]
        name, columns = self.queries[int(self.of[at])]
        return Sent(
            int(self.numbers[at]), self.ids[at].as_py(), name, self.lines[at].as_py(), columns
        )

    def __iter__(self) -> Iterator[Sent]:
        queries = self.queries
        for number, id_, which, line in zip(
            self.numbers.tolist(),
            self.ids.to_pylist(),
            self.of.tolist(),
            self.lines.to_pylist(),
            strict=True,
        ):
            name, columns = queries[which]
            yield Sent(number, id_, name, line, columns)

    @property
    def text_bytes(self) -> int:
        """The bytes of the lines."""
        begin, end = text_offsets(self.lines)[[0, -1]]
        return int(end) - int(begin)

    def take(self, rows: NDArray[np.int64]) -> SentRows:
        """Some of them."""
        picks = pa.array(rows)
        return SentRows(
            self.numbers[rows],
            self.ids.take(picks),
            self.lines.take(picks),
            self.of[rows],
            self.queries,
        )

    def numbered(self, first: int) -> SentRows:
        """The same with numbers from one on."""
        numbers = np.arange(first, first + len(self))
        return SentRows(numbers, self.ids, self.lines, self.of, self.queries)

    def after(self, number: int) -> SentRows:
        """Those with larger numbers."""
        return self[int(np.searchsorted(self.numbers, number, side="right")) :]

    def upto(self, number: int) -> SentRows:
        """Those with numbers up to one."""
        return self[: int(np.searchsorted(self.numbers, number, side="right"))]

    def by_columns(self) -> list[tuple[Columns, SentRows]]:
        """Those of each shape together, in the order of their numbers."""
        shapes: dict[Columns, int] = {}
        used = np.unique(self.of).tolist()
        shape_of = np.zeros(len(self.queries), np.int64)
        for which in used:
            shape_of[which] = shapes.setdefault(self.queries[which][1], len(shapes))
        if len(shapes) == 1:
            return [(next(iter(shapes)), self)]
        of = shape_of[self.of]
        return [(each, self.take(np.flatnonzero(of == at))) for each, at in shapes.items()]


def text_offsets(texts: pa.StringArray) -> NDArray[np.int32]:
    """Where each text of an array begins in its data, and where the last one ends."""
    if not len(texts):
        return np.zeros(1, np.int32)
    offsets = np.frombuffer(texts.buffers()[1], np.int32)
    return offsets[texts.offset : texts.offset + len(texts) + 1]


def rows_of(results: Sequence[Sent]) -> SentRows:
    """Results by column, whatever they were before."""
    if isinstance(results, SentRows):
        return results
    if not results:
        return NO_ROWS
    queries: dict[tuple[str, Columns], int] = {}
    of = [queries.setdefault((each.query, each.columns), len(queries)) for each in results]
    return SentRows(
        np.array([each.number for each in results], np.int64),
        pa.array([each.id for each in results], pa.string()),
        pa.array([each.line for each in results], pa.string()),
        np.array(of, np.int64),
        list(queries),
    )


# Arrow would load pandas to make an array of a list, also of an empty one; this is made in every run.
_NO_TEXTS = pa.nulls(0, pa.string())
NO_ROWS = SentRows(np.zeros(0, np.int64), _NO_TEXTS, _NO_TEXTS, np.zeros(0, np.int64), [])


def joined(parts: Sequence[SentRows]) -> SentRows:
    """Results that follow each other as one."""
    if len(parts) < 2:
        return parts[0] if parts else NO_ROWS
    queries: dict[tuple[str, Columns], int] = {}
    of = []
    for part in parts:
        which = np.zeros(len(part.queries), np.int64)
        for at in np.unique(part.of).tolist():
            which[at] = queries.setdefault(part.queries[at], len(queries))
        of.append(which[part.of])
    return SentRows(
        np.concatenate([part.numbers for part in parts]),
        pa.concat_arrays([part.ids for part in parts]),
        pa.concat_arrays([part.lines for part in parts]),
        np.concatenate(of),
        list(queries),
    )
