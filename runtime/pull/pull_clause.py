"""Everything of a pull query but its window: answers windows, one or many at a time.

Queries that differ only in their windows and periods share one clause, so a thousand periodic queries that are due together
are answered by one walk over their windows, and compiled once.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.adapt import settings
from cqc.runtime.pull.absent_body import AbsentBody
from cqc.runtime.pull.pull_plan import Answer, PullPlan
from cqc.runtime.pull.pull_window import FAR_US
from cqc.runtime.pull.ready_outputs import MaterialisedOutputs
from cqc.runtime.pull.shared_answers import SharedGroups, firsts_alone, shared_firsts

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.bound import Expression
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.lineage.matches import Seat
    from cqc.runtime.pull.aggregate.group_tree import GroupTree, Request
    from cqc.runtime.pull.aggregate.partial_groups import PartialGroups, PartialRows
    from cqc.runtime.pull.body_results import BodyResults, Fetch
    from cqc.runtime.pull.history.result_history import Positions

    # Of the outputs of rows, by place, and their times: what a query over them sees.
    Seen = Callable[[Callable[[int], Column], NDArray[np.int64]], Fetch]

_ROWS_AT_ONCE = 1 << 18


def clause_key(node: QueryNode, seat: Seat | None) -> tuple[Any, ...]:
    """Equal for queries that share a clause."""
    pull = node.pull
    assert pull is not None
    outputs = tuple((output.name, output.expression) for output in node.outputs)
    rest = (
        pull.distinct,
        pull.group_by,
        pull.grouping_sets,
        pull.having,
        pull.qualify,
        pull.order_by,
        pull.limit,
    )
    return seat, node.positions, outputs, rest


class PullClause:
    """A body's kept results, and what is made of the rows of each window."""

    def __init__(
        self,
        key: Hashable,
        node: QueryNode,
        kept: BodyResults | AbsentBody,
        look: Callable[[], None],
    ) -> None:
        """`look` is called between two steps of an answer: it may raise when that takes too long."""
        assert node.pull is not None
        self._look = look
        self.key = key
        _, *alike = clause_key(node, None)
        self._alike: Hashable = tuple(alike)  # for clauses that differ in what their bodies find
        self.kept = kept
        self.plan = PullPlan(node.outputs, node.pull)
        self.users = 0
        self._items = node.positions
        self._trees_in_use: list[GroupTree] = []  # of the GROUP BY clause, and finer ones
        self._request: Request | None = None
        self._ready: MaterialisedOutputs | None = None
        self._can_be_ready = self.plan.outputs_can_be_kept and not kept.body.rows
        self._asked = 0  # what was asked before outputs lay ready, in rows

    @property
    def failures(self) -> int:
        return self.plan.failures

    def close(self) -> None:
        """Free what only this clause used."""
        self._release_trees()
        if self._ready is not None:
            self._ready.close()

    def answer_one(self, begin_us: int, end_us: int, at_us: int | None = None) -> Answer:
        """The answer over one window, both ends inside; it is the same whatever NOW is."""
        del at_us
        self.kept.settle()
        if self.plan.is_aggregate:
            return self._answer(np.array([begin_us], np.int64), np.array([end_us], np.int64))
        rows = self.kept.rows(begin_us, end_us)
        self._asked += settings.READY_ASKING + len(rows[0])
        fetch = self._fetch(rows)
        return self.plan.answer_rows(np.zeros(len(rows[0]), np.int64), fetch, 1)

    def _fetch(self, rows: Positions) -> Fetch:
        """The columns of rows; whoever needs one begins a step."""
        fetch = self.kept.fetch(self._items, rows)

        def column(item: int, column: int) -> Column:
            self._look()
            return fetch(item, column)

        return column

    def newest_between(
        self, oldest_us: int, begin_us: int, end_us: int
    ) -> tuple[tuple[Column, ...], NDArray[np.int64]]:
        """The outputs of rows whose latest event time is inside a window, with these times; none began before `oldest_us`."""
        self.kept.settle()
        rows, times = self._since(begin_us, self.kept.rows(oldest_us, end_us))
        return self.plan.outputs(self._fetch(rows), len(times)), times

    def firsts_between(
        self, oldest_us: int, begin_us: int, end_us: int, by: PullPlan, seen: Seen
    ) -> tuple[Fetch, NDArray[np.int64]] | None:
        """The same rows, those alone that `by` takes as the first of their partition; None where it does not take such, or outputs must be made.

        `seen` makes of rows and their times what `by` sees of them; that is given back, with the times.
        """
        first, kept = by.first_of_order, self.kept
        if first is None or by.is_aggregate or isinstance(kept, AbsentBody):
            return None
        if not self.plan.outputs_are_columns:
            return None
        kept.settle()
        (sorting,) = by.over_plan.sortings
        shared = None if kept.body.rows else kept.shared
        if shared is None:
            rows, times = self._since(begin_us, kept.rows(oldest_us, end_us))
        else:
            all_rows, times = shared.window_since(
                oldest_us, begin_us, end_us, lambda rows: self._since(begin_us, rows)
            )
            rows, audiences = all_rows[:-1], all_rows[-1]
            firsts = shared.together(
                kept.number,
                ("firsts", self._alike, by.over_plan.overs, first, oldest_us, begin_us, end_us),
                audiences,
                lambda: shared_firsts(
                    sorting, first, seen(self._output(rows), times), shared, audiences
                ),
            )
            if firsts is not None:
                places = firsts.of(kept.number)
                own = tuple(each[places] for each in rows)
                return seen(self._output(own), times[places]), times[places]
            wanted = shared.wanted(kept.number, audiences)
            rows, times = tuple(each[wanted] for each in rows), times[wanted]
        places = firsts_alone(sorting, first, seen(self._output(rows), times), len(times))
        rows, times = tuple(each[places] for each in rows), times[places]
        return seen(self._output(rows), times), times

    def _since(self, begin_us: int, rows: Positions) -> tuple[Positions, NDArray[np.int64]]:
        """The rows that ended at an instant or later, with their result times."""
        times = self.kept.newest_times(rows)
        inside = times >= begin_us
        if inside.all():
            return rows, times
        return tuple(each[inside] for each in rows), times[inside]

    def _output(self, rows: Positions) -> Callable[[int], Column]:
        fetch = self._fetch(rows)
        return lambda at: self.plan.output_column(at, fetch)

    def all_rows(self, by: int) -> tuple[NDArray[np.int64], Fetch]:
        """The event times and columns of all rows that are kept, in the order in which the tuples of one item came."""
        self.kept.settle()
        rows = self.kept.rows(-FAR_US, FAR_US)
        order = np.argsort(rows[self._items[by]], kind="stable")
        rows = tuple(positions[order] for positions in rows)
        return self.kept.newest_times(rows), self._fetch(rows)

    def table(self, begin_us: int, end_us: int, at_us: int | None = None) -> pa.Table:
        """The same as users get it, a slice of outputs that lie ready where there are any."""
        del at_us
        self.kept.settle()
        ready = self._ready
        if ready is None or ready.history is not self.kept.history:
            ready = self._ready = self._make_ready()
            if ready is None:
                return self.plan.table(self.answer_one(begin_us, end_us).columns)
        return ready.table(begin_us, end_us)

    def _make_ready(self) -> MaterialisedOutputs | None:
        """Keep the outputs of all rows from now on, once enough has been asked."""
        history = self.kept.history
        if (
            history is None
            or not self._can_be_ready
            or self._asked <= settings.READY_AFTER + len(history)
        ):
            return None
        self._asked = 0
        return MaterialisedOutputs(history, self._outputs)

    def _outputs(self, rows: Positions) -> pa.Table:
        fetch = self.kept.fetch(self._items, rows)
        return self.plan.table(self.plan.outputs(fetch, len(rows[0])))

    def answer_many(
        self,
        begins_us: NDArray[np.int64],
        ends_us: NDArray[np.int64],
        at_us: NDArray[np.int64] | None = None,
    ) -> Iterator[tuple[int, Answer]]:
        """The answers over windows, as many at a time as memory allows; with each the number of its first window."""
        del at_us
        self.kept.settle()
        for part in self._parts(begins_us, ends_us):
            yield part.start, self._answer(begins_us[part], ends_us[part])

    def _answer(self, begins_us: NDArray[np.int64], ends_us: NDArray[np.int64]) -> Answer:
        self._look()
        count = len(begins_us)
        request = self.request_for(begins_us, ends_us)
        if request is not None:
            groups = request.tree.answer(request, begins_us, ends_us)
            return self.plan.answer_groups(groups, count)
        if count == 1:
            shared = self._of_shared_groups(int(begins_us[0]), int(ends_us[0]))
            if shared is not None:
                return shared
        some = np.flatnonzero(self.kept.row_counts(begins_us, ends_us))
        windows = zip(begins_us[some].tolist(), ends_us[some].tolist(), strict=True)
        found = [self.kept.rows(begin_us, end_us) for begin_us, end_us in windows]
        found = found or [self.kept.rows(0, -1)]
        rows = tuple(np.concatenate(parts) for parts in zip(*found, strict=True))
        window = np.repeat(some, [len(each[0]) for each in found][: len(some)])
        return self.plan.answer_rows(window, self._fetch(rows), count)

    def _of_shared_groups(self, begin_us: int, end_us: int) -> Answer | None:
        """The answer from groups that were made for all queries alike; None where these rows are better grouped alone."""
        if isinstance(self.kept, AbsentBody) or self.kept.shared is None or self.kept.body.rows:
            return None
        if not self.plan.has_partials:
            return None
        shared, number = self.kept.shared, self.kept.number
        *rows, audiences = shared.history.window(begin_us, end_us)
        key = ("groups", self._alike, begin_us, end_us)
        groups = shared.together(
            number,
            key,
            audiences,
            lambda: SharedGroups(self.plan, self._fetch(tuple(rows)), audiences),
        )
        if groups is None:
            return None
        return groups.answer(self.plan, shared.wanted(number, groups.audiences))

    def part(
        self, begins_us: NDArray[np.int64], ends_us: NDArray[np.int64]
    ) -> PartialRows | PartialGroups:
        """What is known here of the answers over some windows, when others hold more rows of them."""
        self.kept.settle()
        if self.plan.has_partials:
            request = self.request_for(begins_us, ends_us)
            if request is not None:
                return request.tree.parts(request, begins_us, ends_us)
        windows = zip(begins_us.tolist(), ends_us.tolist(), strict=True)
        found = [self.kept.rows(begin_us, end_us) for begin_us, end_us in windows]
        rows = tuple(np.concatenate(parts) for parts in zip(*found, strict=True))
        window = np.repeat(np.arange(len(found)), [len(each[0]) for each in found])
        fetch = self.kept.fetch(self._items, rows)
        if self.plan.is_aggregate:
            return self.plan.partial_groups(window, fetch)
        return self.plan.partial_rows(window, self.kept.oldest_times(rows), fetch)

    def request_for(
        self, begins_us: NDArray[np.int64], ends_us: NDArray[np.int64]
    ) -> Request | None:
        """What to ask of the aggregate trees; None where the rows of the windows must be looked at, or are fewer."""
        if not self.plan.has_trees or not self.kept.has_trees or isinstance(self.kept, AbsentBody):
            return None
        if self._request is None or not self.kept.is_current(self._request.tree):
            self._release_trees()
            tree = self._use_tree()
            self._request = tree.request(self.plan.aggregates, self._use_tree)
        finer = [tree.groups for tree in self._trees_in_use[1:]]
        if finer and len(begins_us) * max(finer) > 4 * int(
            self.kept.row_counts(begins_us, ends_us).sum()
        ):
            return None
        return self._request

    def _use_tree(self, *finer: Expression) -> GroupTree:
        assert not isinstance(self.kept, AbsentBody)
        tree = self.kept.use_tree(self._items, (*self.plan.group_by, *finer))
        self._trees_in_use.append(tree)
        return tree

    def _release_trees(self) -> None:
        for tree in self._trees_in_use:
            assert not isinstance(self.kept, AbsentBody)
            self.kept.release_tree(tree)
        self._trees_in_use = []
        self._request = None

    def _parts(self, begins_us: NDArray[np.int64], ends_us: NDArray[np.int64]) -> Iterator[slice]:
        """Stretches of windows that together have not too many rows to look at."""
        if self.request_for(begins_us, ends_us) is None:
            rows = np.cumsum(self.kept.row_counts(begins_us, ends_us))
        else:
            rows = np.cumsum(self.kept.unsure_counts(begins_us, ends_us))
        stops = np.flatnonzero(np.diff(rows // _ROWS_AT_ONCE)) + 1
        edges = [0, *stops.tolist(), len(begins_us)]
        for start, stop in itertools.pairwise(edges):
            yield slice(start, stop)
