"""Pull queries in a cell that holds only some of their rows: they give parts of answers, which the driver puts together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.columns.event_time import ALL_SEEN
from cqc.runtime.deliver.results import NO_TIME
from cqc.runtime.engine.engine import Engine
from cqc.runtime.engine.turns import changes
from cqc.runtime.pull.pull_queries import PullQueries
from cqc.runtime.spark.distributed.wire import PartialAnswer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from cqc.runtime.deliver.results import ResultBlock
    from cqc.runtime.pull.aggregate.partial_groups import PartialGroups, PartialRows
    from cqc.runtime.pull.pull_clause import PullClause
    from cqc.runtime.pull.pull_queries import Asked


class PartialPulls(PullQueries):
    """Notes parts instead of delivering answers."""

    parts: list[PartialAnswer]

    def take_parts(self) -> list[PartialAnswer]:
        """The parts noted since the last call."""
        taken = getattr(self, "parts", [])
        self.parts = []
        return taken

    def note(self, name: str, at_us: int | None, ask: int | None = None) -> None:
        """Note the part of one invocation."""
        query = self._query(name)
        instant = query.latest_us if at_us is None else at_us
        begin_us, end_us = self._window(query, instant)
        instants = np.array([NO_TIME if instant is None else instant], np.int64)
        begins, ends = np.array([begin_us], np.int64), np.array([end_us], np.int64)
        self._note(PartialAnswer(name, instants, _part(query.clause, begins, ends), ask))

    def closing(self, at_us: int | None = None) -> list[ResultBlock]:
        """Note the parts of the closing invocations."""
        for name, query in self._queries.items():
            if query.every_us is None:
                self.note(name, at_us)
        return []

    def _blocks(self, clause: PullClause, asked: Sequence[Asked]) -> Iterator[ResultBlock]:
        for query, instants in asked:
            begins, ends = self._begins(query, instants), query.last.at(instants)
            clause.kept.measure_use(int(begins.min()), int(ends.max()))
            self._note(PartialAnswer(query.name, instants, _part(clause, begins, ends)))
        yield from ()

    def _note(self, part: PartialAnswer) -> None:
        self.parts = [*getattr(self, "parts", []), part]


class PartialEngine(Engine):
    """The engine of a cell that shares its pull queries with other cells."""

    _make_pulls = PartialPulls
    _pulls: PartialPulls

    @changes
    def note_part(self, query: str, at_us: int | None, ask: int) -> None:
        """Note this cell's part of an answer that somebody asks for."""
        self._pulls.note(query, at_us, ask)

    @changes
    def take_parts(self) -> list[PartialAnswer]:
        """The parts of answers since this was last asked."""
        return self._pulls.take_parts()


def _part(
    clause: PullClause, begins_us: NDArray[np.int64], ends_us: NDArray[np.int64]
) -> PartialRows | PartialGroups:
    """What one cell knows of the answers over some windows."""
    clause.kept.settle()
    if clause.plan.has_partials:
        request = clause.request_for(begins_us, ends_us)
        if request is not None:
            return request.tree.parts(request, begins_us, ends_us)
    windows = list(zip(begins_us.tolist(), ends_us.tolist(), strict=True))
    found = [clause.kept.rows(begin_us, end_us) for begin_us, end_us in windows]
    rows = tuple(np.concatenate(parts) for parts in zip(*found, strict=True))
    window = np.repeat(np.arange(len(found)), [len(each[0]) for each in found])
    fetch = clause.kept.fetch(clause._items, rows)
    if clause.plan.is_aggregate:
        return clause.plan.partial_groups(window, fetch)
    return clause.plan.partial_rows(window, _oldest(clause, rows), fetch)


def _oldest(clause: PullClause, rows: tuple[NDArray[np.int64], ...]) -> NDArray[np.int64]:
    oldest = np.full(len(rows[0]), ALL_SEEN)
    for state, positions in zip(clause.kept._states, rows, strict=True):
        if state.relation.is_stream:
            oldest = np.minimum(oldest, state.ts_at(positions))
    return oldest
