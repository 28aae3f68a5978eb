"""What is kept for the pull queries of one body, and how the rows of a window are found.

*Eager* (PSoup-C): the body sits in the shared filter or join, every result is noted in its history, and a window is a binary
search. *Lazy* (PSoup-P), for one stream: nothing is done when tuples arrive; a window's base tuples are found by the stream's
time order and the body's filter runs over them when somebody asks. *Shared*, for joins with many bodies: a row is noted once for all
of them (`shared_rows`), and a body that asks takes its own.

Which is cheaper depends on how often it is asked, so that is measured: a body that has been asked for fewer tuples than have
arrived since turns lazy, one whose windows have been scanned for more tuples than have arrived turns eager. Joins are always
eager or shared. None of it changes an answer.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.adapt import settings
from cqc.runtime.adapt.controller import Controller
from cqc.runtime.adapt.decision import Decision, counted
from cqc.runtime.columns.event_time import ALL_SEEN
from cqc.runtime.filter.grouped_filter import StreamFilter
from cqc.runtime.filter.selections import SelectionSeat
from cqc.runtime.pull.aggregate.group_tree import GroupTree
from cqc.runtime.pull.history.result_history import History

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import Body
    from cqc.compiler.meaning.bound import Expression
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.engine.circuit import Circuit
    from cqc.runtime.lineage.matches import Found, Seat
    from cqc.runtime.pull.history.match_log import MatchLog
    from cqc.runtime.pull.history.result_history import Positions
    from cqc.runtime.pull.history.stream_order import StreamOrder
    from cqc.runtime.pull.shared_rows import SharedRows
    from cqc.runtime.state.shared_state import SharedState

    Fetch = Callable[[int, int], Column]
    Items = tuple[int, ...]
    GroupBy = tuple[Expression, ...]

_BEFORE_ALL = -(2**63)
_NOTING = 4  # to keep a row for one body costs as much as to look at so many that are shared


class Maintenance(Enum):
    """When the results of pull queries are worked out."""

    AUTO = "auto"
    EAGER = "eager"
    LAZY = "lazy"


class BodyResults:
    """The kept results of one body, for all its pull queries."""

    def __init__(
        self,
        seat: Seat,
        circuit: Circuit,
        states: Sequence[SharedState],
        orders: Sequence[StreamOrder],  # of the states
        kept_from: Mapping[str, int],  # by folded stream name: nobody may ask for older tuples
        log: MatchLog,  # of the operator that the body sits at
        maintenance: Maintenance,
    ) -> None:
        self.body: Body = seat.body
        self.users = 0
        self.seat = seat
        self._circuit = circuit
        self._states = tuple(states)
        self._orders = tuple(orders)
        self._maintenance = maintenance
        self.history: History | None = History(self._states)  # None while the body is lazy
        self._trees: dict[tuple[Items, GroupBy], GroupTree] = {}
        self._failed_before = 0
        self._log = log
        self.log_head = log.head  # what was found before was taken
        self.controller = Controller(settings.MAINTENANCE, Maintenance.EAGER)
        self.rows_noted = 0
        self.rows_answered = 0
        self.seconds = 0.0  # spent on answers of periodic queries and closing invocations
        self._kept_from = kept_from
        self._streams = {fold(each.name) for each in seat.body.relations if each.is_stream}
        self._before_us = _BEFORE_ALL
        self._head = self._states[0].head  # tuples that had arrived when use was last measured
        self._asked = 0  # tuples that windows spanned since then
        self._filter: StreamFilter | None = None
        self.shared: SharedRows | None = None  # has its rows while there is no history
        self.number = 0  # of this body there
        self._leaves: Callable[[BodyResults], None] | None = None

    @property
    def failures(self) -> int:
        return self._failed_before + sum(tree.failures for tree in self._trees.values())

    @property
    def nbytes(self) -> int:
        """Memory of the kept results and of the aggregates over them."""
        kept = 0 if self.history is None else self.history.nbytes
        if self.shared is not None:
            kept = self.shared.nbytes // max(len(self.shared), 1)
        return kept + sum(tree.nbytes for tree in self._trees.values())

    def has_more_than(self, most: int) -> bool:
        """Whether more rows are kept for it."""
        if self.shared is not None:
            return len(self.shared.history) > most and self.shared.count(self.number) > most
        return len(self.history or ()) > most

    @property
    def tree_count(self) -> int:
        """How many trees of aggregates there are."""
        return len(self._trees)

    @property
    def changes(self) -> int:
        """From eager to lazy and back, after the start."""
        return self.controller.changes

    def decision(self, about: str) -> Decision | None:
        """Whether results are kept as they come, where that was changed by use."""
        if not self.changes:
            return None
        arm = self.controller.arm
        does = (
            "keeps results as tuples come"
            if arm is Maintenance.EAGER
            else "finds results when asked"
        )
        costs, note = self.controller.costs, counted(self.changes, "change")
        other = Maintenance.LAZY if arm is Maintenance.EAGER else Maintenance.EAGER
        ratio = costs[arm] / max(costs[other], 1.0)
        names = {Maintenance.EAGER: "keeping them", Maintenance.LAZY: "finding them when asked"}
        return Decision(about, does, names[other], ratio, note=note)

    # Results come

    def load_past(self, found: Sequence[Found]) -> None:
        """Note what the body finds in tuples that were there before it."""
        for each in found:
            for seat in each.hits():
                if seat is self.seat or isinstance(seat, SelectionSeat):
                    rows = each.rows_of(seat)
                    self.note(tuple(positions[rows] for positions in each.positions))

    def take(self) -> None:
        """Note what the log has for this body."""
        for rows in self._log.take(self.seat.key, self.log_head):
            self.note(rows)
        self.log_head = self._log.head

    def note(self, rows: Positions) -> None:
        """Note rows that were found; while the body is lazy they are not needed."""
        if self.history is not None:
            self.rows_noted += len(rows[0])
            self.history.append(rows)
            if self.history.is_full:
                self.history.settle()

    def forget_old(self) -> None:
        """Forget what began before the history that is kept."""
        before_us = max(self._kept_from.get(name, _BEFORE_ALL) for name in self._streams)
        if before_us > self._before_us:
            self._before_us = before_us
            if self.history is not None:
                self.history.purge(before_us)
            elif self.shared is not None:
                self.shared.purge(before_us)

    # Windows

    def rows(self, begin_us: int, end_us: int) -> Positions:
        """The rows inside a window (both ends inside), in the order of their oldest event time."""
        if not self.body.rows:
            return self._rows_between(begin_us, end_us)
        limits = self._row_limits(end_us)
        if limits and len(limits) == len(self._timed):
            begin_us = max(begin_us, min(ts_us for _, ts_us, _ in limits))
        found = self._rows_between(begin_us, end_us)
        for item, ts_us, position in limits:
            times = self._states[item].ts_at(found[item])
            last = (times > ts_us) | ((times == ts_us) & (found[item] >= position))
            if not last.all():
                found = tuple(positions[last] for positions in found)
        return found

    def row_counts(
        self, begins_us: NDArray[np.int64], ends_us: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """At most how many rows each window has: none where it is 0, and how many windows can be answered at once."""
        if self.shared is not None:
            oldest = self.shared.history.oldest
        else:
            oldest = self._orders[0].times() if self.history is None else self.history.oldest
        stops = oldest.searchsorted(ends_us, "right")
        counts: NDArray[np.int64] = np.maximum(stops - oldest.searchsorted(begins_us), 0)
        return counts

    def settle(self) -> None:
        """Bring everything up to date before windows are asked for."""
        if self._kept_from:
            self.forget_old()
        if self.shared is not None:
            self.shared.settle()
            return
        if self.log_head != self._log.head:
            self.take()
        if self.history is not None and self.history.has_pending:
            self.history.settle()

    @property
    def has_trees(self) -> bool:
        """Whether aggregate trees can answer windows."""
        return self.history is not None and not self.body.rows

    def unsure_counts(
        self, begins_us: NDArray[np.int64], ends_us: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """How many rows of each window aggregate trees cannot answer for, because they may have ended after it."""
        assert self.history is not None
        starts, stops = self.history.unsure(begins_us, ends_us)
        return stops - starts

    def is_current(self, tree: GroupTree) -> bool:
        """Whether a tree belongs to what is kept now."""
        return tree.history is self.history

    def use_tree(self, items: Items, group_by: GroupBy) -> GroupTree:
        """The aggregate tree of a GROUP BY clause, for one user more."""
        assert self.history is not None
        key = (items, group_by)
        if key not in self._trees:
            tree = GroupTree(self.history, group_by, lambda rows: self.fetch(items, rows))
            self._trees[key] = tree
            self.history.followers.append(tree)
        self._trees[key].users += 1
        return self._trees[key]

    def release_tree(self, tree: GroupTree) -> None:
        """One user of a tree less."""
        tree.users -= 1
        if not tree.users and self.history is not None and self.is_current(tree):
            self._failed_before += tree.failures
            self.history.followers.remove(tree)
            self._trees = {key: each for key, each in self._trees.items() if each is not tree}

    def fetch(self, items: Items, rows: Positions) -> Fetch:
        """Columns of FROM items at the rows; `items` leads from FROM positions to host positions."""
        states = self._states

        def column(item: int, column: int) -> Column:
            at = items[item]
            return states[at].column(column, rows[at])

        return column

    def oldest_times(self, rows: Positions) -> NDArray[np.int64]:
        """The oldest event time among the tuples of each row."""
        oldest = np.full(len(rows[0]), ALL_SEEN)
        for at in self._timed:
            oldest = np.minimum(oldest, self._states[at].ts_at(rows[at]))
        return oldest

    def newest_times(self, rows: Positions) -> NDArray[np.int64]:
        """The latest event time among the tuples of each row: its result time."""
        newest = np.full(len(rows[0]), _BEFORE_ALL)
        for at in self._timed:
            newest = np.maximum(newest, self._states[at].ts_at(rows[at]))
        return newest

    @property
    def _timed(self) -> list[int]:
        return [at for at, state in enumerate(self._states) if state.relation.is_stream]

    def _rows_between(self, begin_us: int, end_us: int) -> Positions:
        if self.history is not None:
            return self.history.window(begin_us, end_us)
        return self._scan(begin_us, end_us)

    def _row_limits(self, end_us: int) -> list[tuple[int, int, int]]:
        """For each item with ROWS k, the k-th last tuple of its stream inside the end: item, event time, position."""
        limits = []
        for item, rows in enumerate(self.body.rows):
            if rows is None or not self._states[item].relation.is_stream:
                continue
            last = self._orders[item].last(rows, end_us)
            if last is not None:
                limits.append((item, *last))
        return limits

    # Lazy or eager

    def measure_use(self, begin_us: int, end_us: int) -> None:
        """A window is about to be asked for: count it, and change over where that is cheaper."""
        state = self._states[0]
        if self.history is not None:
            self._head = state.head
            return
        if self.shared is not None:
            self._measure_shared(self.shared, begin_us, end_us)
            return
        self._asked += self._orders[0].count(begin_us, end_us)
        if self._maintenance is Maintenance.AUTO:
            arrived = max(state.head - self._head, len(state))
            costs = {Maintenance.LAZY: float(self._asked), Maintenance.EAGER: float(arrived)}
            if self.controller.prefer(costs) is Maintenance.EAGER:
                self.turn_eager()

    def _measure_shared(self, shared: SharedRows, begin_us: int, end_us: int) -> None:
        """The same where rows are shared: to note them anew and put them into aggregates costs as much as to be asked a few times."""
        shared.settle()
        first, end = shared.history.between(begin_us, end_us)
        self._asked += end - first
        arrived = _NOTING * len(shared.history)
        costs = {Maintenance.LAZY: float(self._asked), Maintenance.EAGER: float(arrived)}
        if self.controller.prefer(costs) is Maintenance.EAGER:
            self.leave_shared()

    def turn_lazy_if_unused(self) -> None:
        """Stop maintaining results that nobody has asked for during many tuples."""
        if self.history is None or not isinstance(self.seat, SelectionSeat):
            return
        if self._maintenance is Maintenance.EAGER:
            return
        if self._maintenance is Maintenance.LAZY or self._is_unused():
            self.turn_lazy()

    def _is_unused(self) -> bool:
        """Whether more tuples came without a question than a question would have to scan."""
        unused = self._states[0].head - self._head
        scanned = max(self.controller.rule.enough, len(self._states[0]))
        costs = {Maintenance.EAGER: float(unused), Maintenance.LAZY: float(scanned)}
        return self.controller.prefer(costs) is Maintenance.LAZY

    def turn_lazy(self) -> None:
        """From now on find the rows of a window when they are asked for."""
        assert isinstance(self.seat, SelectionSeat)
        self._circuit.suspend(self.seat)
        self._failed_before = self.failures
        self.history, self._trees = None, {}
        self._head, self._asked = self._states[0].head, 0
        self.log_head = self._log.head
        self._filter = StreamFilter([column.type for column in self.body.relations[0].columns])
        self._filter.add(0, self.body.filters[0])

    def share(self, shared: SharedRows, leaves: Callable[[BodyResults], None]) -> None:
        """Have rows in common with other bodies from now on; this one has found none yet. `leaves` is called when that ends."""
        self.shared, self.number = shared, shared.add(self.seat.key)
        self._leaves = leaves
        self._failed_before = self.failures
        self.history, self._trees, self._asked = None, {}, 0
        self.controller.arm = Maintenance.LAZY

    def leave_shared(self) -> None:
        """From now on note results as they come, those of the past included."""
        assert self.shared is not None
        shared, self.shared = self.shared, None
        shared.settle()
        rows = shared.rows(self.number, _BEFORE_ALL, 2**63 - 1)
        shared.remove(self.number)
        self.history = History(self._states)
        self.history.purge(self._before_us)
        self.history.append(rows)
        self.history.settle()
        self._asked = 0
        self.log_head = self._log.head
        self.controller.arm = Maintenance.EAGER
        assert self._leaves is not None
        self._leaves(self)

    def turn_eager(self) -> None:
        """From now on note results as they come, those of the past included."""
        assert isinstance(self.seat, SelectionSeat)
        rows = self._scan(_BEFORE_ALL, 2**63 - 1)
        self._circuit.resume(self.seat)
        self.history = History(self._states)
        self.history.purge(self._before_us)
        self.history.append(rows)
        self._head, self._asked = self._states[0].head, 0
        self.log_head = self._log.head
        self._filter = None
        self.history.settle()

    def _scan(self, begin_us: int, end_us: int) -> Positions:
        """The rows of a window from its base tuples, or from those that are shared."""
        if self.shared is not None:
            return self.shared.rows(self.number, begin_us, end_us)
        positions, packet = self._orders[0].packet(begin_us, end_us)
        if not len(positions):
            return (positions,)
        assert self._filter is not None
        return (positions[self._filter.match(packet).tuples_of(0)],)
