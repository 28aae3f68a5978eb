"""Results: by column inside the engine, one by one for those who drain it.

Thousands of queries may pick rows of the same output columns, so a `ResultBlock` of a query holds positions in shared
columns, not rows of its own. Whoever needs rows (a sink, `drain`) makes each shared row once. Blocks of one micro-batch are
delivered together, in result-time order over all queries; equal times keep the order of the blocks and of their rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import take
from cqc.runtime.columns.convert.arrow_out import to_objects
from cqc.runtime.columns.timestamp_text import to_datetime
from cqc.runtime.deliver.alert_columns import STATES, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column
    from cqc.runtime.deliver.alert_columns import AlertColumns

NO_TIME = -(2**63)  # the instant of an invocation before anything was seen
_SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class ResultBlock:
    """Result rows of one query in one micro-batch.

    `picks` are the rows of `columns` that belong to the query (None: all), `times_us` the result time of each of them, or
    with `is_at` the instant of the invocation.
    """

    query: str
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    picks: NDArray[np.int64] | None
    times_us: NDArray[np.int64]
    time_type: ColumnType
    is_at: bool
    alert: AlertColumns | None = None  # of the same rows as `columns`
    in_order: bool = False  # known to be in result-time order

    def __len__(self) -> int:
        return len(self.times_us)

    def positions(self) -> NDArray[np.int64]:
        """The rows of `columns` that belong to the query."""
        return np.arange(len(self.times_us)) if self.picks is None else self.picks

    def own_columns(self) -> tuple[Column, ...]:
        """The query's rows alone, by column."""
        if self.picks is None:
            return self.columns
        picks = self.picks
        if self.columns and len(picks) == len(self.columns[0]) and (np.diff(picks) == 1).all():
            return self.columns
        return tuple(take(column, picks) for column in self.columns)


@dataclass(slots=True)
class ResultGroup:
    """Result rows of several push queries with one SELECT list, found by one packet.

    Rows are by query, in the order of `queries`, those of a query in result-time order: the rows of query k end at
    `ends[k]`. `picks` are their rows in `columns`, `times_us` their result times.
    """

    queries: Sequence[str]
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    picks: NDArray[np.int64]
    times_us: NDArray[np.int64]
    ends: NDArray[np.int64]
    time_type: ColumnType

    def __len__(self) -> int:
        return len(self.times_us)

    def own_columns(self) -> tuple[Column, ...]:
        """The rows of all queries by column; a query's are side by side."""
        return tuple(take(column, self.picks) for column in self.columns)

    def blocks(self) -> Iterator[ResultBlock]:
        """The same query by query."""
        begin = 0
        for query, end in zip(self.queries, self.ends.tolist(), strict=True):
            yield ResultBlock(
                query,
                self.names,
                self.columns,
                self.picks[begin:end],
                self.times_us[begin:end],
                self.time_type,
                is_at=False,
            )
            begin = end


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """One result row.

    Attributes:
        query: the name of the query.
        row: output names and values: int, float, str, bool, datetime (in UTC) for TIMESTAMP, date for DATE, None for NULL.
        ts: the result time: a datetime in UTC, or a number of seconds where event time is numeric. None when `at` is set.
        at: the instant asked about, for queries with BEGIN-END. None when `ts` is set.
        alert: of an alert: `state`, `severity`, `key`, `since`, `count`, and the texts of WITH. None for other queries.

    Example:
        >>> import cqc
        >>> engine = cqc.Engine(cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT); SELECT x FROM s"))
        >>> engine.push("s", [{"ts": 5, "x": 1}])
        >>> list(engine.drain())
        [Result(query='q1', row={'x': 1}, ts=5, at=None)]
    """

    query: str
    row: dict[str, Any]
    ts: datetime | float | str | None = None
    at: datetime | float | str | None = None
    alert: dict[str, Any] | None = None

    def __repr__(self) -> str:
        shown = f"query={self.query!r}, row={self.row!r}, ts={self.ts!r}, at={self.at!r}"
        return (
            f"Result({shown})" if self.alert is None else f"Result({shown}, alert={self.alert!r})"
        )


def in_time_order(blocks: Sequence[ResultBlock]) -> list[ResultBlock]:
    """The blocks with the rows of each in result-time order; `merge` interleaves them."""
    return [_sorted_block(block) for block in blocks if len(block)]


def merge(blocks: Sequence[ResultBlock]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All rows of the blocks in result-time order: for each its block, and its place within the block."""
    counts = np.array([len(block) for block in blocks], dtype=np.int64)
    block_of = np.repeat(np.arange(len(blocks)), counts)
    ends = np.cumsum(counts)
    place = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)
    if not len(block_of):
        return block_of, place
    times = np.concatenate([block.times_us for block in blocks])
    if (times[1:] >= times[:-1]).all():
        return block_of, place
    order = np.argsort(times, kind="stable")
    return block_of[order], place[order]


def results_of(blocks: Sequence[ResultBlock]) -> Iterator[Result]:
    """The rows of the blocks of one micro-batch, in result-time order."""
    rows = _shared_rows(blocks)
    times = [time_values(block.times_us, block.time_type) for block in blocks]
    positions = [block.positions().tolist() for block in blocks]
    alerts = [None if block.alert is None else alerts_of(block) for block in blocks]
    block_of, place = merge(blocks)
    for at, within in zip(block_of.tolist(), place.tolist(), strict=True):
        block = blocks[at]
        row = dict(zip(block.names, rows[at][positions[at][within]], strict=True))
        time = times[at][within]
        told = alerts[at]
        if told is not None:
            yield Result(block.query, row, ts=time, alert=told[within])
        elif block.is_at:
            yield Result(block.query, row, at=time)
        else:
            yield Result(block.query, row, ts=time)


def rows_of(
    blocks: Sequence[ResultBlock], put_back: Callable[[list[ResultBlock]], None]
) -> Iterator[Result]:
    """The same for somebody who may not take all of them: the rest is put back then."""
    given = 0
    try:
        for result in results_of(blocks):
            given += 1
            yield result
    finally:
        if given < sum(map(len, blocks)):
            put_back(rest_of(blocks, given))


def rest_of(blocks: Sequence[ResultBlock], given: int) -> list[ResultBlock]:
    """What is left of the blocks when so many rows of them, in the order of `results_of`, have been given."""
    block_of, place = merge(blocks)
    block_of, place = block_of[given:], place[given:]
    rest = []
    for at in np.unique(block_of).tolist():
        own = np.sort(place[block_of == at])
        picks, times_us = blocks[at].positions()[own], blocks[at].times_us[own]
        rest.append(replace(blocks[at], picks=picks, times_us=times_us))
    return rest


def time_values(times_us: NDArray[np.int64], type_: ColumnType) -> list[Any]:
    """Result times as users see them: datetimes, or seconds where event time is a number."""
    return [time_value(us, type_) for us in times_us.tolist()]


def time_value(us: int, type_: ColumnType) -> datetime | float | str | None:
    """One result time as users see it."""
    if us == NO_TIME:
        return None
    if type_ is ColumnType.TIMESTAMP:
        return to_datetime(us)
    if type_ is ColumnType.BIGINT and us % _SECOND_US == 0:
        return us // _SECOND_US
    return us / _SECOND_US


def python_values(column: Column) -> list[Any]:
    """The values of a column as users see them: datetimes for instants, seconds for durations, dicts and lists for nested ones."""
    return to_objects(column)


def alerts_of(block: ResultBlock) -> list[dict[str, Any]]:
    """What each result of an alert says beside its row, as users see it."""
    assert block.alert is not None
    picks = block.positions()
    alert = block.alert.take(picks)
    keys = [python_values(column) for column in alert.key_columns]
    named = [dict(zip(alert.key_names, each, strict=True)) for each in zip(*keys, strict=True)]
    texts = [(text.name, text_of(text, block.columns, picks).to_pylist()) for text in alert.texts]
    return [
        {
            "state": STATES[state],
            "severity": alert.severity,
            "key": named[at] if keys else {},
            "since": time_value(since, block.time_type),
            "count": count,
            **{name: values[at] for name, values in texts},
        }
        for at, (state, since, count) in enumerate(
            zip(alert.states.tolist(), alert.since_us.tolist(), alert.counts.tolist(), strict=True)
        )
    ]


def _sorted_block(block: ResultBlock) -> ResultBlock:
    times = block.times_us
    if block.in_order or (times[1:] >= times[:-1]).all():
        return block
    order = np.argsort(times, kind="stable")
    return replace(block, picks=block.positions()[order], times_us=times[order])


def _shared_rows(blocks: Sequence[ResultBlock]) -> list[_Rows]:
    asked: dict[int, list[NDArray[np.int64]]] = {}
    for block in blocks:
        asked.setdefault(id(block.columns), []).append(block.positions())
    made: dict[int, _Rows] = {}
    for block in blocks:
        if id(block.columns) not in made:
            made[id(block.columns)] = _Rows(block.columns, asked[id(block.columns)])
    return [made[id(block.columns)] for block in blocks]


class _Rows:
    """Rows of shared columns as tuples of Python values: all of them, or those that are asked for where these are few."""

    def __init__(self, columns: tuple[Column, ...], asked: Sequence[NDArray[np.int64]]) -> None:
        count = sum(map(len, asked))
        length = len(columns[0]) if columns else count
        self._made: dict[int, tuple[Any, ...]] | None = None
        self._all: list[tuple[Any, ...]] = []
        if count * 4 >= length:
            self._all = _values_of(columns)
        else:
            positions = np.unique(np.concatenate(asked))
            rows = _values_of([take(column, positions) for column in columns])
            self._made = dict(zip(positions.tolist(), rows, strict=True))

    def __getitem__(self, position: int) -> tuple[Any, ...]:
        return self._all[position] if self._made is None else self._made[position]


def _values_of(columns: Sequence[Column]) -> list[tuple[Any, ...]]:
    return list(zip(*map(python_values, columns), strict=True))
