"""In which spans of event time the rows of a stream lie, as far as queries with EVERY must know.

A span has no gap that could be too long for any of them, so there is mostly one for all the rows of a task; it is told by its ends.

    EVERY 1 SEC, at most 1,000,000 instants: rows at 5, 7, 6 and 90000000 are two spans, 5-7 and 90000000-90000000
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.pull.instant_leaps import row_words
from cqc.runtime.sinks.json_text import json_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.runtime.columns.packet import Packet

Span = tuple[int, int, str]  # the first and the last event time, and the first row in words


def gaps_of(queries: Iterable[NormalQuery], most: int | None) -> dict[str, int]:
    """By folded stream name, how long a time without a row may be for every query with EVERY over it."""
    gaps: dict[str, int] = {}
    for query in queries:
        if most is not None and query.pull is not None and query.pull.every_us is not None:
            for item in query.items:
                name, gap = fold(item.relation.name), query.pull.every_us * most
                gaps[name] = min(gaps.get(name, gap), gap)
    return gaps


def spans_of(packet: Packet, relation: Relation, gap_us: int) -> list[Span]:
    """The spans of rows, of which there is at least one."""
    times = packet.ts_us
    order = np.argsort(times, kind="stable") if int(np.ptp(times)) > gap_us else None
    if order is None:
        firsts, ends = np.array([times.argmin()]), times.max()[None]
    else:
        cuts = np.flatnonzero(np.diff(times[order]) > gap_us)
        firsts = order[np.concatenate(([0], cuts + 1))]
        ends = times[order[np.concatenate((cuts, [len(order) - 1]))]]
    names = [column.name for column in relation.declared]
    texts = json_rows(names, packet.take(firsts).columns, len(firsts)).to_pylist()
    words = [row_words(relation.name, text) for text in texts]
    return list(zip(times[firsts].tolist(), ends.tolist(), words, strict=True))


def put_together(spans: Iterable[Span], gap_us: int) -> list[Span]:
    """The spans of all rows from those of some rows each."""
    found: list[Span] = []
    for first, last, words in sorted(spans):
        if found and first - found[-1][1] <= gap_us:
            found[-1] = (found[-1][0], max(found[-1][1], last), found[-1][2])
        else:
            found.append((first, last, words))
    return found
