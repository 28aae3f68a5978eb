"""Answers by EVERY: all instants that are due, those of one clause together.

A thousand periodic queries that share a clause and are due together are answered by one walk over their windows. One that takes
too long, or is not wanted any more, is left out, and the others are answered again without it.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.adapt.work_watch import REMOVED, too_long
from cqc.runtime.join.execute.result_limits import Flood
from cqc.runtime.pull.every_schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.runtime.adapt.work_watch import WorkWatch
    from cqc.runtime.deliver.results import ResultBlock
    from cqc.runtime.pull.every_schedule import Due
    from cqc.runtime.pull.pull_query import AnyClause, Asked, PullQuery

    Blocks = Callable[[AnyClause, Sequence[Asked]], Iterable[ResultBlock]]

_INSTANTS_AT_ONCE = 1 << 16


class PeriodicAnswers:
    """The periodic queries that are due, and what they took.

    Args:
        queries: all pull queries, by name.
        watch: says when an answer takes too long, or is not wanted.
        blocks: the answers of periodic queries of one clause.
        check: told of each query that is due, before it is answered; it may refuse.
    """

    def __init__(
        self,
        queries: Mapping[str, PullQuery],
        watch: WorkWatch,
        blocks: Blocks,
        check: Callable[[Due], None],
    ) -> None:
        self.schedule = Schedule()
        self.seconds = 0.0  # spent on all answers
        self._queries = queries
        self._watch = watch
        self._blocks = blocks
        self._check = check
        self._answering: tuple[float, Sequence[Asked]] | None = None  # since when, and for whom
        self._silenced: dict[str, str] = {}

    def due(self, among: Callable[[str], bool] | None = None) -> list[ResultBlock]:
        """What periodic queries deliver now; `among`: which are meant, all without it.

        Raises:
            RunError: when `check` refuses one.
        """
        blocks: list[ResultBlock] = []
        asked: dict[AnyClause, list[Asked]] = {}
        waiting = 0
        for due in self.schedule.due(among):
            query = self._queries[due.name]
            self._check(due)
            for instants in _instants(due):
                asked.setdefault(query.clause, []).append((query, instants))
                waiting += len(instants)
                if waiting >= _INSTANTS_AT_ONCE:
                    blocks += self._all_blocks(asked)
                    asked, waiting = {}, 0
        return blocks + self._all_blocks(asked) if asked else blocks

    def look(self) -> None:
        """Between two steps of an answer.

        Raises:
            Flood: when periodic queries take too long, or one is not wanted any more.
            Unwanted: when that is so for the query that is being asked.
            Halted: when everything has to stop.
        """
        watch = self._watch
        if self._answering is None:
            if watch.query:
                watch.check()
            return
        started, asked = self._answering
        watch.check_halted()
        if watch.dropped and any(query.name in watch.dropped for query, _ in asked):
            raise Flood([], REMOVED)
        if watch.most_seconds is not None and watch.processor() - started > watch.most_seconds:
            raise Flood([], too_long(watch.most_seconds))
        if watch.is_time_to_tell():
            watch.busiest = asked[0][0].name

    def take_silenced(self) -> dict[str, str]:
        """The periodic queries that took too long since this was last asked, and why."""
        silenced, self._silenced = self._silenced, {}
        return silenced

    def _all_blocks(self, asked: Mapping[AnyClause, Sequence[Asked]]) -> list[ResultBlock]:
        blocks: list[ResultBlock] = []
        for clause, many in asked.items():
            started, kept, worked = perf_counter(), clause.kept, self._watch.processor()
            found = self._blocks_within(clause, many)
            kept.seconds += perf_counter() - started
            self._credit(many, self._watch.processor() - worked)
            kept.rows_answered += sum(map(len, found))
            for block in found:
                self._queries[block.query].results += len(block)
            blocks += found
        return blocks

    def _blocks_within(self, clause: AnyClause, asked: Sequence[Asked]) -> list[ResultBlock]:
        """The answers of one clause, without those that take too long: the others are answered again."""
        asked = [each for each in asked if each[0].name not in self._silenced]
        while asked:
            self._answering = self._watch.processor(), asked
            try:
                return list(self._blocks(clause, asked))
            except Flood as flood:
                dropped = [each for each in asked if each[0].name in self._watch.dropped]
                slowest = dropped or [max(asked, key=_rows_asked)]
                self._silenced |= dict.fromkeys((query.name for query, _ in slowest), flood.why)
                asked = [each for each in asked if each[0].name not in self._silenced]
            finally:
                self._answering = None
        return []

    def _credit(self, asked: Sequence[Asked], seconds: float) -> None:
        """Queries of one clause are answered together: each has its part by its number of instants."""
        self.seconds += seconds
        each = seconds / sum(len(instants) for _, instants in asked)
        for query, instants in asked:
            query.seconds += each * len(instants)


def _rows_asked(asked: Asked) -> int:
    query, instants = asked
    begins, ends = query.first.at(instants), query.last.at(instants)
    return int(query.clause.kept.row_counts(begins, ends).sum())


def _instants(due: Due) -> Iterator[NDArray[np.int64]]:
    """The instants of a query that are due, as many at a time as memory allows."""
    count = (due.last_us - due.first_us) // due.every_us + 1
    for start in range(0, count, _INSTANTS_AT_ONCE):
        many = np.arange(start, min(start + _INSTANTS_AT_ONCE, count), dtype=np.int64)
        yield due.first_us + many * due.every_us
