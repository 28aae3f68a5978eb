"""The rows of a view over the retained past, for the pull queries that read it.

Each branch over streams and tables alone is a body whose results are kept like those of every pull query; a branch over other
views is put together from theirs (`nested_query`). Which rows of it lie in a window depends on what it is:

- rows of a window (GROUP BY and the like): those of the window asked about, or of the view's own BEGIN-END at that instant;
- EVERY: those of the instants in the window, up to the latest event time seen, as if the input ended now;
- else: those whose result time is inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from cqc.compiler.diagnostics.record import record
from cqc.runtime.columns.columns import Column, concatenate, null_column, take
from cqc.runtime.columns.event_time import time_column
from cqc.runtime.columns.packet import Packet
from cqc.runtime.columns.unnested import unnested
from cqc.runtime.pull.nested_query import longest_span
from cqc.runtime.pull.pull_window import FAR_US, first_edge, last_edge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import Pull
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.runtime.pull.nested_absence import NestedAbsence
    from cqc.runtime.pull.nested_query import NestedQuery
    from cqc.runtime.pull.pull_clause import PullClause, Seen
    from cqc.runtime.pull.pull_plan import PullPlan
    from cqc.runtime.pull.pull_query import AnyLine

    Fetch = Callable[[int, int], Column]
    Rows = tuple[tuple[Column, ...], NDArray[np.int64]]


class Branch(Protocol):
    """One branch of a view: rows for a window."""

    def window_rows(self, begin_us: int, end_us: int, at_us: int) -> tuple[Column, ...]:
        """The answer of its clauses over a window."""

    def rows_at(self, instants: Instants) -> Rows:
        """The answers over many windows, each row with the number of its window."""

    def timed_rows(self, begin_us: int, end_us: int, at_us: int) -> Rows:
        """Its rows by result time."""


@record
class Instants:
    """Instants of EVERY, and the windows around them."""

    at_us: NDArray[np.int64]
    begins_us: NDArray[np.int64]
    ends_us: NDArray[np.int64]


class KeptBranch:
    """A branch over streams and tables alone, whose results are kept."""

    def __init__(self, query: NormalQuery, clause: PullClause) -> None:
        self.clause = clause
        timed = [at for at, item in enumerate(query.items) if item.relation.is_stream]
        self._span_us = longest_span(query.bounds, timed)

    def window_rows(self, begin_us: int, end_us: int, at_us: int) -> tuple[Column, ...]:
        """The answer of its clauses over a window."""
        del at_us
        self.clause.kept.measure_use(begin_us, end_us)
        return self.clause.answer_one(begin_us, end_us).columns

    def rows_at(self, instants: Instants) -> Rows:
        """The answers over many windows, by one walk over them."""
        return together(
            [
                (answer.columns, answer.window + first)
                for first, answer in self.clause.answer_many(instants.begins_us, instants.ends_us)
            ]
        )

    def timed_rows(self, begin_us: int, end_us: int, at_us: int) -> Rows:
        """The combinations whose latest event time is inside a window."""
        del at_us
        return self.clause.newest_between(self._since(begin_us), begin_us, end_us)

    def firsts(
        self, by: PullPlan, begin_us: int, end_us: int, seen: Seen
    ) -> tuple[Fetch, NDArray[np.int64]] | None:
        """Of `timed_rows` those that a query takes as the first of their partition (`PullClause.firsts_between`)."""
        return self.clause.firsts_between(self._since(begin_us), begin_us, end_us, by, seen)

    def _since(self, begin_us: int) -> int:
        return -FAR_US if self._span_us is None else max(begin_us - self._span_us, -FAR_US)


class Decider(Protocol):
    """What makes the rows of a query with windows or OVER, of rows in the order of the arrival of one item."""

    by: int

    def answer(self, ts_us: NDArray[np.int64], fetch: Callable[[int, int], Column]) -> Rows:
        """Its rows, and the event time of each, as if the input ended now."""


class DecidedBranch:
    """A branch with windows or OVER: its rows are made of all that is kept, whatever the window is.

    Args:
        decider: makes rows of rows.
        past: the event times of all rows that the query reads, in the order of arrival, and their columns; given the instant asked about.
    """

    def __init__(
        self,
        decider: Decider,
        past: Callable[[int], tuple[NDArray[np.int64], Callable[[int, int], Column]]],
    ) -> None:
        self._decider = decider
        self._past = past

    def window_rows(self, begin_us: int, end_us: int, at_us: int) -> tuple[Column, ...]:
        """Rows with event time are asked for by it."""
        return self.timed_rows(begin_us, end_us, at_us)[0]

    def rows_at(self, instants: Instants) -> Rows:
        """EVERY does not go with windows."""
        raise NotImplementedError

    def timed_rows(self, begin_us: int, end_us: int, at_us: int) -> Rows:
        """The rows whose event time is inside a window."""
        columns, times = self._decider.answer(*self._past(at_us))
        inside = np.flatnonzero((times >= begin_us) & (times <= end_us))
        if len(inside) == len(times):
            return columns, times
        return tuple(take(column, inside) for column in columns), times[inside]


class NestedBranch:
    """A branch that reads other views."""

    def __init__(self, nested: NestedQuery | NestedAbsence) -> None:
        self.nested = nested

    def window_rows(self, begin_us: int, end_us: int, at_us: int) -> tuple[Column, ...]:
        """The answer of its clauses over a window."""
        return self.nested.answer(begin_us, end_us, at_us).columns

    def rows_at(self, instants: Instants) -> Rows:
        """The answers over many windows, one after the other."""
        found = []
        for number, (begin_us, end_us, at_us) in enumerate(
            zip(
                instants.begins_us.tolist(),
                instants.ends_us.tolist(),
                instants.at_us.tolist(),
                strict=True,
            )
        ):
            columns = self.nested.answer(begin_us, end_us, at_us).columns
            found.append((columns, np.full(len(columns[0]), number, np.int64)))
        return together(found)

    def timed_rows(self, begin_us: int, end_us: int, at_us: int) -> Rows:
        """Its rows by result time."""
        return self.nested.timed_rows(begin_us, end_us, at_us)


class ViewRows:
    """The rows of a view, branch by branch.

    Args:
        relation: the view.
        branches: with what each asks for.
        lines: of the declared streams beneath.
        kept_from: the oldest instant of EVERY that can be answered (None: all).
    """

    def __init__(
        self,
        relation: Relation,
        branches: Sequence[tuple[Branch, Pull | None]],
        lines: Sequence[AnyLine],
        kept_from: Callable[[], int | None],
    ) -> None:
        assert relation.made_by is not None
        self._relation = relation
        self._adds_time = relation.made_by.adds_time
        self._branches = branches
        self._lines = lines
        self._kept_from = kept_from

    def packet(self, begin_us: int, end_us: int, at_us: int) -> Packet:
        """The rows in a window, both ends inside, when NOW is `at_us`."""
        rows = [
            self._rows(branch, pull, max(begin_us, -FAR_US), end_us, at_us)
            for branch, pull in self._branches
        ]
        times = together(rows)[1]
        first = 1 if self._adds_time else 0
        types = [column.type for column in self._relation.columns[first:]]
        columns = list(together(rows)[0])
        unnest = self._relation.made_by.unnest if self._relation.made_by else None
        if columns and unnest is not None:
            columns, times = unnested(self._relation, unnest, columns, times)
        columns = columns or [null_column(type_, 0) for type_ in types]
        if self._adds_time:
            columns.insert(0, time_column(times, self._relation.time_type))
        return Packet(tuple(columns), times, np.arange(len(times)))

    def firsts(self, by: PullPlan, begin_us: int, end_us: int) -> Packet | None:
        """Of these rows those alone that a query takes as the first of their partition; None where all must be made."""
        relation, made_by = self._relation, self._relation.made_by
        if len(self._branches) != 1 or made_by is None or made_by.unnest is not None:
            return None
        ((branch, pull),) = self._branches
        if pull is not None or not relation.is_stream or not isinstance(branch, KeptBranch):
            return None

        def seen(output: Callable[[int], Column], times: NDArray[np.int64]) -> Fetch:
            def column(item: int, at: int) -> Column:
                del item  # there is only one
                if not self._adds_time:
                    return output(at)
                return output(at - 1) if at else time_column(times, relation.time_type)

            return column

        found = branch.firsts(by, max(begin_us, -FAR_US), end_us, seen)
        if found is None:
            return None
        fetch, times = found
        columns = tuple(fetch(0, at) for at in range(len(relation.columns)))
        return Packet(columns, times, np.arange(len(times)))

    def _rows(
        self, branch: Branch, pull: Pull | None, begin_us: int, end_us: int, at_us: int
    ) -> Rows:
        if pull is None and not self._relation.is_stream:  # of tables alone, whatever the window
            columns = branch.window_rows(begin_us, end_us, at_us)
            return columns, np.zeros(len(columns[0]), np.int64)
        if pull is None:
            return branch.timed_rows(begin_us, end_us, at_us)
        if pull.every_us is not None:
            return self._at_instants(branch, pull, begin_us, end_us)
        if not pull.inherits:
            begin_us, end_us = first_edge(pull.begin).at(at_us), last_edge(pull.end).at(at_us)
        columns = branch.window_rows(begin_us, end_us, at_us)
        return columns, np.zeros(len(columns[0]), np.int64)

    def _at_instants(self, branch: Branch, pull: Pull, begin_us: int, end_us: int) -> Rows:
        instants = self._instants(pull, begin_us, end_us)
        if not len(instants):
            return (), instants
        first, last = first_edge(pull.begin), last_edge(pull.end)
        asked = Instants(instants, first.at(instants), last.at(instants))
        columns, window = branch.rows_at(asked)
        return columns, row_times(pull, instants)[window]

    def _instants(self, pull: Pull, begin_us: int, end_us: int) -> NDArray[np.int64]:
        """The instants of EVERY whose rows lie in a window."""
        every_us = pull.every_us
        assert every_us is not None
        seen = [line for line in self._lines if line.first_us is not None]
        if not seen:
            return np.zeros(0, np.int64)
        first_us = min(line.first_us for line in seen if line.first_us is not None)
        latest_us = max(line.latest_us for line in seen if line.latest_us is not None)
        kept_from_us = self._kept_from()
        if kept_from_us is not None:
            first_us = max(first_us, kept_from_us)
        # The time of a row is its instant, or later by a fixed distance; a fixed END may be later than all of them.
        behind_us = max(pull.end.offset_us, 0) if pull.end.from_now else 0
        if pull.end.from_now or begin_us > pull.end.offset_us:
            first_us = max(first_us, begin_us - behind_us)
        last_us = min(latest_us, end_us - behind_us)
        first_us = -(-first_us // every_us) * every_us
        instants = np.arange(first_us, last_us + 1, every_us, dtype=np.int64)
        times = row_times(pull, instants)
        return instants[(times >= begin_us) & (times <= end_us)]


def together(parts: Sequence[Rows]) -> Rows:
    """Rows after rows; parts without rows may have no columns."""
    parts = [part for part in parts if len(part[1])]
    if not parts:
        return (), np.zeros(0, np.int64)
    outputs = tuple(
        concatenate([columns[at] for columns, _ in parts]) for at in range(len(parts[0][0]))
    )
    return outputs, np.concatenate([each for _, each in parts])


def row_times(pull: Pull, instants_us: NDArray[np.int64]) -> NDArray[np.int64]:
    """The event times of rows at instants of EVERY: the instant, or the end of its window where that is later."""
    end = pull.end
    ends = instants_us + end.offset_us if end.from_now else np.full_like(instants_us, end.offset_us)
    times: NDArray[np.int64] = np.maximum(instants_us, ends)
    return times
