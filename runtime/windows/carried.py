"""OVER values that count from the first row of a key on: what must be remembered of the rows before.

ROW_NUMBER, ranks, and aggregates from UNBOUNDED PRECEDING on need only the last row of each key and the value that they had at that row:
a number, a value, or a partial aggregate. A `Carried` has this value beside every row that is kept.

    SUM(x) from the first row on, k = a:   rows 3, 4 gave 3, 7;   the last has 7 beside it;   a new 5 gives 12
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.bound import EndKind, OverFunction
from cqc.runtime.columns.columns import Column, take
from cqc.runtime.columns.saved_columns import loaded_array, loaded_column
from cqc.runtime.pull.aggregate.aggregates import count_column, finish, has_partials
from cqc.runtime.pull.aggregate.partials import absorb_partials_by_group
from cqc.runtime.pull.over.over_values import at_places, frame_partials
from cqc.runtime.windows.waiting_rows import joined_columns

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import Over
    from cqc.runtime.pull.over.over_plan import CompiledOver
    from cqc.runtime.pull.over.partitions import Partitions

    Fetch = Callable[[int, int], Column]
    Places = NDArray[np.int64]

_NUMBERED = (OverFunction.ROW_NUMBER, OverFunction.RANK, OverFunction.DENSE_RANK)


def is_carried(over: Over) -> bool:
    """Whether the last row of a key is enough."""
    if over.function in _NUMBERED:
        return True
    if over.frame is None or over.frame.start.kind is not EndKind.FIRST:
        return False
    if over.aggregate is None:
        return over.function is OverFunction.FIRST_VALUE
    return not over.aggregate.inputs or has_partials(over.aggregate)


class Carried:
    """One such OVER, with the value that it had at each row of the past that is kept."""

    def __init__(self, member: CompiledOver) -> None:
        self.member = member
        self.over = member.over
        # Numbers, ranks or counts beside each row; partial aggregates have two dimensions, first values are a column.
        self.past: list[NDArray[Any] | Column] = []

    def at_places(self, partitions: Partitions, fetch: Fetch, kept: int) -> Column:
        """The value at each place. The first `kept` rows are of the past, and their values are of no use; `past` has the new rows too from now on."""
        before = _Before.of(partitions, kept)
        if self.over.function is OverFunction.FIRST_VALUE:
            return self._first_value(partitions, fetch, before)
        if self.over.function is not None:
            return self._numbers(partitions, before)
        return self._aggregate(partitions, fetch, before)

    def _numbers(self, partitions: Partitions, before: _Before) -> Column:
        here = np.arange(len(partitions), dtype=np.int64)
        rows_before = before.carried(self.past[0] if self.past else None)
        number = rows_before + here - before.first_new + 1
        known = [number]
        if self.over.function is not OverFunction.ROW_NUMBER:
            is_peer = before.has & (partitions.peer_first < before.first_new)
            rank_before = before.carried(self.past[1] if self.past else None)
            if self.over.function is OverFunction.RANK:
                rank = rows_before + partitions.peer_first - before.first_new + 1
            else:
                begins = (partitions.peer_first == here) & before.is_new
                seen = np.cumsum(begins)
                earlier = np.where(before.first_new > 0, seen[before.first_new - 1], 0)
                rank = rank_before + seen - earlier
            known.append(np.where(is_peer, rank_before, rank))
        self._remember(partitions, before, known)
        return count_column(known[-1])

    def _first_value(self, partitions: Partitions, fetch: Fetch, before: _Before) -> Column:
        column = self.member.argument(fetch, len(partitions), partitions.rows)
        assert column is not None
        own = at_places(column, before.first_new, np.ones(len(partitions), np.bool_))
        if not self.past:
            found = own
        else:
            past = self.past[0]
            assert isinstance(past, Column)
            both = joined_columns([own, past]) if len(past) else own
            found = take(both, np.where(before.has, before.row + len(own), np.arange(len(own))))
        back = np.empty(len(partitions), np.int64)
        back[partitions.rows] = np.arange(len(partitions))
        fresh = take(found, back[before.kept :])
        self.past = [joined_columns([self.past[0], fresh])] if self.past else [fresh]  # type: ignore[list-item]
        return found

    def _aggregate(self, partitions: Partitions, fetch: Fetch, before: _Before) -> Column:
        aggregate, frame = self.over.aggregate, self.over.frame
        assert aggregate is not None
        assert frame is not None
        column = self.member.argument(fetch, len(partitions), partitions.rows)
        _, stops = partitions.ends(frame)
        begins = np.minimum(before.first_new, stops)
        if column is None:
            counts = before.carried(self.past[0] if self.past else None) + stops - begins
            self._remember(partitions, before, [counts])
            return count_column(counts)
        partials = frame_partials(column, begins, stops)
        if self.past and before.has.any():
            places = np.flatnonzero(before.has)
            past = self.past[0]
            assert isinstance(past, np.ndarray)
            absorb_partials_by_group(past[before.row[places]], places, partials)
        self._remember(partitions, before, [partials])
        found, failed = finish(aggregate, partials, lambda row: _overflowed(partials, row))
        self.member.failed += failed
        return found

    def _remember(self, partitions: Partitions, before: _Before, known: list[NDArray[Any]]) -> None:
        back = np.empty(len(partitions), np.int64)
        back[partitions.rows] = np.arange(len(partitions))
        fresh = [each[back[before.kept :]] for each in known]
        if not self.past:
            self.past = list(fresh)
        else:
            self.past = [
                np.concatenate([old, new]) for old, new in zip(self.past, fresh, strict=True)
            ]

    def keep(self, rows: Places) -> None:
        """Keep only some rows."""
        self.past = [
            take(each, rows) if isinstance(each, Column) else each[rows] for each in self.past
        ]

    def apart(self, rows: Places) -> list[NDArray[Any] | Column]:
        """The values beside some rows."""
        return [take(each, rows) if isinstance(each, Column) else each[rows] for each in self.past]

    def join(self, others: list[NDArray[Any] | Column]) -> None:
        """Add rows of the past after those that are there."""
        self.past = (
            [
                joined_columns([old, new])
                if isinstance(old, Column) and isinstance(new, Column)
                else np.concatenate([old, new])
                for old, new in zip(self.past, others, strict=True)
            ]
            if self.past
            else others
        )

    def named(self, prefix: str) -> dict[str, NDArray[Any] | Column]:
        """What a checkpoint holds."""
        return {f"{prefix}_{at}": each for at, each in enumerate(self.past)}

    def load(self, table: pa.Table, prefix: str) -> None:
        """Go on where another one was."""
        count = 2 if self.over.function in _NUMBERED[1:] else 1
        if self.over.function is OverFunction.FIRST_VALUE:
            self.past = [loaded_column(table, f"{prefix}_0", self.over.type)]
        else:
            self.past = [loaded_array(table, f"{prefix}_{at}") for at in range(count)]


class _Before:
    """For each place: the first new place of its partition, and the row of the past right before it."""

    def __init__(
        self,
        kept: int,
        is_new: NDArray[np.bool_],
        first_new: Places,
        has: NDArray[np.bool_],
        row: Places,
    ) -> None:
        self.kept = kept
        self.is_new = is_new
        self.first_new = first_new
        self.has = has
        self.row = row

    @staticmethod
    def of(partitions: Partitions, kept: int) -> _Before:
        is_new = partitions.rows >= kept
        seen = np.concatenate(([0], np.cumsum(is_new)))
        new = seen[partitions.last] - seen[partitions.first]
        first_new = np.minimum(partitions.last - new, max(len(partitions) - 1, 0))
        has = (partitions.last - new) > partitions.first
        row = np.where(has, partitions.rows[np.maximum(partitions.last - new - 1, 0)], 0)
        return _Before(kept, is_new, first_new, has, row)

    def carried(self, past: NDArray[Any] | Column | None) -> Places:
        """A number that stands beside the row before; 0 where there is none."""
        if past is None or isinstance(past, Column) or not len(past):
            return np.zeros(len(self.row), np.int64)
        return np.where(self.has, past[self.row], 0)


def _overflowed(partials: NDArray[Any], row: int) -> NDArray[np.float64]:
    """Values whose exact total is beyond the largest double, as the sum of a partial that overflowed is."""
    sign = -1.0 if partials[row, 1] < 0 else 1.0
    return np.full(2, sign * np.finfo(np.float64).max)
