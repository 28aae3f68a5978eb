"""Rows that were decided in one micro-batch, as delivery reads what operators found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.filter.selections import SlotCounts
from cqc.runtime.join.execute.results import time_order
from cqc.runtime.kernel import njit
from cqc.runtime.lineage.matches import Matches, RowSlots, SlotRows

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import Body
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.lineage.matches import Seat
    from cqc.runtime.state.shared_state import SharedState


@dataclass(slots=True, eq=False)
class DecidedSeat:
    """A query among those whose rows a pattern decides."""

    body: Body
    rule: int
    source: Hashable
    counts: SlotCounts = field(default_factory=SlotCounts)  # by rule, of all seats at the pattern
    seconds: float = field(default=0.0)

    @property
    def results(self) -> int:
        return self.counts.of(self.rule)

    @property
    def key(self) -> int:
        return self.rule

    @property
    def slot_number(self) -> int:
        return self.rule


class DecidedRows:
    """Rows of one pattern, for the rules of a node; positions by item in the order of the pattern."""

    def __init__(
        self,
        source: object,
        seats: Mapping[int, DecidedSeat],
        states: Sequence[SharedState],
        rules: NDArray[np.int64],
        positions: Sequence[NDArray[np.int64]],
        times_us: NDArray[np.int64],
    ) -> None:
        self._source = source
        self._seats = seats
        self._states = states
        order, self._counts = by_rule(rules, time_order(times_us))
        self._rules = rules[order]
        self.positions: Sequence[NDArray[np.int64]] = [each[order] for each in positions]
        self.ts_us: NDArray[np.int64] = times_us[order]

    def count(self, counts: SlotCounts) -> None:
        """Credit the seats with their rows."""
        counts.add(self._counts)

    def __len__(self) -> int:
        return len(self.ts_us)

    @property
    def source(self) -> Hashable:
        return id(self._source)

    def _stretches(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        rules = np.flatnonzero(self._counts)
        ends = np.cumsum(self._counts[rules])
        return rules, ends - self._counts[rules], ends

    def hits(self) -> Sequence[DecidedSeat]:
        """The seats with at least one row."""
        return [self._seats[rule] for rule in self._stretches()[0].tolist()]

    def matches(self, keys: NDArray[np.int64]) -> Matches:
        """The rows of all seats with one of these keys (ascending)."""
        rules, begins, ends = self._stretches()
        wanted = np.isin(rules, keys)
        rows = np.flatnonzero(np.isin(self._rules, keys))
        return Matches(rules[wanted], (ends - begins)[wanted], rows)

    def rows_of(self, seat: Seat) -> NDArray[np.int64]:
        """The rows of a seat."""
        rows: NDArray[np.int64] = np.flatnonzero(self._rules == seat.key)
        return rows

    def by_slot(self) -> SlotRows:
        """The rows of all seats at once, those of each in result-time order."""
        rules, begins, ends = self._stretches()
        rows = np.arange(len(self))
        return SlotRows(self._source, rules, begins, ends, rows, times_us=self.ts_us)

    def by_row(self) -> RowSlots | None:
        """Rows are of one rule each."""
        return None

    def seats_at(self, slot: int) -> Sequence[DecidedSeat]:
        """The seat of a rule."""
        seat = self._seats.get(slot)
        return [] if seat is None else [seat]

    def column(self, item: int, column: int, rows: NDArray[np.int64] | None) -> Column:
        """Values of one item's column for the rows (None: all rows)."""
        positions = self.positions[item]
        return self._states[item].column(column, positions if rows is None else positions[rows])


@njit(cache=True, nogil=True)
def by_rule(rules, order):  # type: ignore[no-untyped-def]
    """The rows rule by rule, those of each as in `order`, and how many each rule has."""
    most = -1
    for rule in rules:
        most = max(most, rule)
    counts = np.zeros(most + 1, np.int64)
    for rule in rules:
        counts[rule] += 1
    cursors = np.cumsum(counts) - counts
    sorted_rows = np.empty(len(rules), np.int64)
    for row in order:
        rule = rules[row]
        sorted_rows[cursors[rule]] = row
        cursors[rule] += 1
    return sorted_rows, counts


def warm() -> None:
    """Compile this module's kernel."""
    numbers = np.zeros(1, np.int64)
    by_rule(numbers, numbers)
