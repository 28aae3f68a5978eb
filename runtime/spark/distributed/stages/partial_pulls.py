"""Pull queries in a cell that holds only some of their rows: they give parts of answers, which the driver puts together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.deliver.results import NO_TIME
from cqc.runtime.engine.engine import Engine
from cqc.runtime.engine.turns import changes
from cqc.runtime.pull.pull_clause import PullClause
from cqc.runtime.pull.pull_queries import PullQueries
from cqc.runtime.spark.distributed.stages.wire import PartialAnswer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cqc.runtime.deliver.results import ResultBlock
    from cqc.runtime.pull.pull_query import AnyClause, Asked


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
        query = self.query(name)
        instant = query.latest_us if at_us is None else at_us
        begin_us, end_us = self.window(query, instant)
        instants = np.array([NO_TIME if instant is None else instant], np.int64)
        begins, ends = np.array([begin_us], np.int64), np.array([end_us], np.int64)
        assert isinstance(query.clause, PullClause)  # views are not distributed
        self._note(PartialAnswer(name, instants, query.clause.part(begins, ends), ask))

    def closing(self, at_us: int | None = None) -> list[ResultBlock]:
        """Note the parts of the closing invocations."""
        for name in self.asked_once():
            self.note(name, at_us)
        return []

    def blocks(self, clause: AnyClause, asked: Sequence[Asked]) -> Iterator[ResultBlock]:
        """Note the parts of periodic queries."""
        assert isinstance(clause, PullClause)
        for query, instants in asked:
            begins, ends = self.retention.begins(query, instants), query.last.at(instants)
            clause.kept.measure_use(int(begins.min()), int(ends.max()))
            self._note(PartialAnswer(query.name, instants, clause.part(begins, ends)))
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
