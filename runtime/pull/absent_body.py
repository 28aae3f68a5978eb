"""The rows of a pull query with outer joins or EXISTS: everything is judged among the tuples of one window.

Nothing waits here. What the patterns of the query found is kept like the results of any body; for a window, the combinations inside
it are taken pattern by pattern, and a guard is an ordinary set of what its marks hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.absence import all_patterns
from cqc.runtime.absence.guard_entries import GuardEntries
from cqc.runtime.columns.columns import concatenate, null_column, take
from cqc.runtime.columns.event_time import ALL_SEEN
from cqc.runtime.filter.grouped_filter import StreamFilter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import Body
    from cqc.compiler.meaning.absence import Pattern
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.pull.body_results import BodyResults, Fetch
    from cqc.runtime.pull.history.result_history import Positions
    from cqc.runtime.state.shared_state import SharedState

NOTHING_YET = (0, -1)  # the window before anything was seen: the answer is over no rows
NOT_THERE = -1  # the position of an item that is not there


class TableRows:
    """The rows of one table that a pattern wants: they are inside every window."""

    def __init__(self, body: Body, state: SharedState) -> None:
        self.body = body
        self._state = state
        self._filter = StreamFilter([column.type for column in state.relation.columns])
        self._filter.add(0, body.filters[0])

    def rows(self, begin_us: int, end_us: int) -> Positions:
        """All of them, whatever the window."""
        del begin_us, end_us
        if not len(self._state):
            return (np.zeros(0, np.int64),)
        found = self._filter.match(self._state.packet()).tuples_of(0)
        return (self._state.first + np.asarray(found, np.int64),)

    def row_counts(
        self, begins_us: NDArray[np.int64], ends_us: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        del ends_us
        return np.full(len(begins_us), len(self._state), np.int64)


class AbsentBody:
    """What is kept for one pull query with outer joins or EXISTS; answers what `PullClause` asks of a body.

    Args:
        patterns: of the query.
        parts: what is kept for each of `all_patterns`, with where its items are among those of the part's body.
        states: of the items in FROM.
    """

    def __init__(
        self,
        patterns: tuple[Pattern, ...],
        parts: Sequence[tuple[BodyResults | TableRows, tuple[int, ...]]],
        states: Sequence[SharedState],
    ) -> None:
        self._patterns = patterns
        self._parts = list(parts)
        self._states = tuple(states)
        self._place = {id(each): at for at, each in enumerate(all_patterns(patterns))}
        self.body = parts[0][0].body
        self.history = None
        self.has_trees = False
        self.users = 0
        self.rows_answered = 0
        self.seconds = 0.0

    @property
    def _kept(self) -> list[BodyResults]:
        return [part for part, _ in self._parts if not isinstance(part, TableRows)]

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self._kept)

    @property
    def failures(self) -> int:
        """Those of the parts are counted with them."""
        return 0

    def settle(self) -> None:
        """Bring everything up to date before windows are asked for."""
        for part in self._kept:
            part.settle()

    def measure_use(self, begin_us: int, end_us: int) -> None:
        """A window is about to be asked for."""
        for part in self._kept:
            part.measure_use(begin_us, end_us)

    def row_counts(
        self, begins_us: NDArray[np.int64], ends_us: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """At most how many rows each window has, as far as memory is concerned."""
        found = np.zeros(len(begins_us), np.int64)
        for pattern in self._patterns:
            part, _ = self._parts[self._place[id(pattern)]]
            found += part.row_counts(begins_us, ends_us)
        return found

    def unsure_counts(
        self, begins_us: NDArray[np.int64], ends_us: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        return self.row_counts(begins_us, ends_us)

    def rows(self, begin_us: int, end_us: int) -> Positions:
        """The rows of a window, by item in FROM; -1 stands for NULL."""
        if (begin_us, end_us) == NOTHING_YET:
            return tuple(np.zeros(0, np.int64) for _ in self._states)
        found: list[list[NDArray[np.int64]]] = [[] for _ in self._states]
        for pattern in self._patterns:
            rows = self._passing(pattern, begin_us, end_us)
            missing = np.full(len(rows[0]), NOT_THERE, np.int64)
            at_item = dict(zip(pattern.items, rows, strict=True))
            for item, parts in enumerate(found):
                parts.append(at_item.get(item, missing))
        return tuple(np.concatenate(parts) for parts in found)

    def _passing(self, pattern: Pattern, begin_us: int, end_us: int) -> list[NDArray[np.int64]]:
        """The combinations of a pattern inside a window that its guards let pass, in the order of its items."""
        part, order = self._parts[self._place[id(pattern)]]
        inside = part.rows(begin_us, end_us)
        rows = [inside[at] for at in order]
        for guard in pattern.guards:
            if not len(rows[0]):
                break
            watched = [pattern.items[at] for at in guard.over]
            entries = GuardEntries(len(guard.over))
            for mark in guard.marks:
                found = self._passing(mark, begin_us, end_us)
                held = [found[mark.items.index(item)] for item in watched]
                entries.add(_keys(held, len(found[0])), np.zeros(len(found[0]), np.int64))
            own = _keys([rows[at] for at in guard.over], len(rows[0]))
            passes = (entries.find(own) >= 0) != guard.negated
            rows = [each[passes] for each in rows]
        return rows

    def fetch(self, items: tuple[int, ...], rows: Positions) -> Fetch:
        """Columns of FROM items at the rows."""
        states = self._states

        def column(item: int, column: int) -> Column:
            at = items[item]
            return column_with_nulls(states[at], column, rows[at])

        return column

    def newest_times(self, rows: Positions) -> NDArray[np.int64]:
        """The latest event time among the tuples of each row."""
        newest = np.full(len(rows[0]), -ALL_SEEN)
        for state, positions in zip(self._states, rows, strict=True):
            if state.relation.is_stream:
                there = positions >= 0
                newest[there] = np.maximum(newest[there], state.ts_at(positions[there]))
        return newest

    def oldest_times(self, rows: Positions) -> NDArray[np.int64]:
        """The oldest event time among the tuples of each row."""
        oldest = np.full(len(rows[0]), ALL_SEEN)
        for state, positions in zip(self._states, rows, strict=True):
            if state.relation.is_stream:
                there = positions >= 0
                oldest[there] = np.minimum(oldest[there], state.ts_at(positions[there]))
        return oldest


def _keys(columns: Sequence[NDArray[np.int64]], count: int) -> NDArray[np.int64]:
    return np.stack((np.zeros(count, np.int64), *columns), axis=1)


def column_with_nulls(state: SharedState, column: int, positions: NDArray[np.int64]) -> Column:
    """Values of a column at positions, NULL where there is none."""
    there = positions >= 0
    if there.all():
        return state.column(column, positions)
    known = state.column(column, positions[there])
    place = np.where(there, np.cumsum(there) - 1, len(known))
    return take(concatenate([known, null_column(known.type, 1)]), place)
