"""What a random case must answer, by the brute-force oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.meaning.catalog import fold
from tests.support.oracle.brute_force import Data, every_answers, pull_answer, push_answer
from tests.support.oracle.scalars import Row

if TYPE_CHECKING:
    from cqc.compiler.meaning import bound
    from tests.support.generators.cases import Case

Timed = list[tuple[int | None, Row]]


def data_of(case: Case, first: int = 0, last: int | None = None) -> Data:
    """The input of a case, or the part of it that arrives from position `first` up to `last`."""
    streams: dict[str, list[tuple[Row, int]]] = {
        fold(relation.name): [] for relation in case.schema if relation.is_stream
    }
    for name, row in case.arrivals[first:last]:
        rows = streams[fold(name)]
        rows.append((row, len(rows)))
    return Data(streams, {fold(name): rows for name, rows in case.tables.items()})


def oracle_answer(query: bound.Query, data: Data, at_us: int | None = None) -> Timed:
    """Push results, EVERY results, or the answer of one invocation (timed with None)."""
    if query.pull is None:
        return list(push_answer(query, data.streams, data.tables))
    if query.pull.every_us is not None:
        return list(every_answers(query, data))
    return [(None, row) for row in pull_answer(query, data, at_us)]
