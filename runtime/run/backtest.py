"""What a program would have delivered over recorded data: counted by query and day, with a few rows of each.

Nothing is delivered to the program's sinks, and nothing that runs is touched: the engine is one of this process.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.timestamp_text import to_datetime
from cqc.runtime.errors import RunError
from cqc.runtime.run.declared_sinks import DeclaredSinks
from cqc.runtime.run.finite_run import LocalRun
from cqc.runtime.sinks.lines import line_arrays
from cqc.runtime.sources.connections import is_connection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.compiler import Program
    from cqc.runtime.deliver.results import ResultBlock
    from cqc.runtime.options import RunOptions
    from cqc.runtime.run.finite_run import RunSummary

DAY_US = 86_400_000_000
SAMPLES = 10


@dataclass
class QueryHistory:
    """What one query delivered."""

    query: str
    results: int = 0
    days: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)  # of an alert
    first: Any = None
    last: Any = None
    samples: list[dict[str, Any]] = field(default_factory=list)
    lines: Counter[str] = field(default_factory=Counter)  # all results, where two sets are compared

    def to_json(self) -> dict[str, Any]:
        return {
            "query": self.query,
            "results": self.results,
            "days": dict(sorted(self.days.items())),
            **({"states": dict(sorted(self.states.items()))} if self.states else {}),
            "first": self.first,
            "last": self.last,
            "samples": self.samples,
        }


class HistorySink:
    """Counts results instead of writing them.

    Args:
        queries: all that run, so that silent ones are shown too.
        samples: how many rows of each query to keep.
        keeps_lines: whether every result is kept, to be compared with another set's.
    """

    def __init__(self, queries: Sequence[str], samples: int, *, keeps_lines: bool) -> None:
        self.histories = {name: QueryHistory(name) for name in queries}
        self._samples, self._keeps_lines = samples, keeps_lines
        self._times: dict[str, tuple[int, int]] = {}

    def write(self, blocks: Sequence[ResultBlock]) -> None:
        for block in blocks:
            if len(block):
                self._take(block)

    def close(self) -> None:
        """Nothing is open."""

    def _take(self, block: ResultBlock) -> None:
        history = self.histories.setdefault(block.query, QueryHistory(block.query))
        history.results += len(block)
        days, counts = np.unique(block.times_us // DAY_US, return_counts=True)
        for day, count in zip(days.tolist(), counts.tolist(), strict=True):
            history.days[day_name(day, block.time_type)] += count
        is_alert = getattr(block, "alerts", None) is not None
        missing = self._samples - len(history.samples)
        if self._keeps_lines or is_alert:
            lines = [line for part in line_arrays([block]) for line in part.to_pylist()]
            parsed = lines if is_alert else lines[: max(missing, 0)]
            self._keep(history, lines, [json.loads(line) for line in parsed])
        elif missing > 0:
            lines = [
                line for part in line_arrays([_head(block, missing)]) for line in part.to_pylist()
            ]
            self._keep(history, (), [json.loads(line) for line in lines])
        self._note_times(history, block)

    def _keep(
        self, history: QueryHistory, lines: Sequence[str], rows: Sequence[Mapping[str, Any]]
    ) -> None:
        if self._keeps_lines:
            history.lines.update(lines)
        for row in rows:
            if "alert" in row:
                history.states[row["alert"]["state"]] += 1
            if len(history.samples) < self._samples:
                history.samples.append({key: row[key] for key in row if key != "query"})

    def _note_times(self, history: QueryHistory, block: ResultBlock) -> None:
        first, last = int(block.times_us.min()), int(block.times_us.max())
        if history.query in self._times:
            before = self._times[history.query]
            first, last = min(first, before[0]), max(last, before[1])
        self._times[history.query] = first, last
        history.first = time_name(first, block.time_type)
        history.last = time_name(last, block.time_type)


class Backtest(LocalRun):
    """A run whose results are counted; the sinks of its program get nothing."""

    def __init__(
        self,
        program: Program,
        options: RunOptions,
        *,
        samples: int = SAMPLES,
        keeps_lines: bool = False,
    ) -> None:
        chosen = {fold(name) for name in options.only}
        names = [name for name in program.queries.names if not chosen or fold(name) in chosen]
        self.collected = HistorySink(names, samples, keeps_lines=keeps_lines)
        super().__init__(program, options, sink=self.collected)
        for name in self.engine.relations_used():
            relation = program.catalog.relations[name]
            if relation.is_stream and is_connection(relation, options.binds):
                raise RunError(
                    f"{relation.name} is read from a connection; a backtest reads recorded data: use --bind {relation.name}=PATH"
                )

    def _open_sinks(self) -> None:
        self._sinks = DeclaredSinks(self.engine, self._options, {})

    @property
    def histories(self) -> list[QueryHistory]:
        """What each query delivered, the noisiest first."""
        return sorted(
            self.collected.histories.values(), key=lambda each: (-each.results, each.query)
        )


@dataclass(frozen=True)
class Difference:
    """What another program adds to, and loses of, the results of one query."""

    query: str
    before: int
    after: int
    added: list[dict[str, Any]]
    lost: list[dict[str, Any]]
    added_count: int
    lost_count: int

    def to_json(self) -> dict[str, Any]:
        return {
            "query": self.query,
            "before": self.before,
            "after": self.after,
            "added": self.added_count,
            "lost": self.lost_count,
            "added_samples": self.added,
            "lost_samples": self.lost,
        }


def compare(
    before: Sequence[QueryHistory], after: Sequence[QueryHistory], samples: int = SAMPLES
) -> list[Difference]:
    """What a changed set of queries adds and loses, the largest change first; equal queries are left out."""
    old, new = ({each.query: each for each in histories} for histories in (before, after))
    found = []
    for name in {**old, **new}:
        one, two = old.get(name, QueryHistory(name)), new.get(name, QueryHistory(name))
        added, lost = two.lines - one.lines, one.lines - two.lines
        if added or lost or (name in old) != (name in new):
            found.append(
                Difference(
                    name,
                    one.results,
                    two.results,
                    _rows(added, samples),
                    _rows(lost, samples),
                    added.total(),
                    lost.total(),
                )
            )
    return sorted(found, key=lambda each: (-each.added_count - each.lost_count, each.query))


def run_backtest(backtest: Backtest) -> RunSummary:
    """Read the recorded data to its end."""
    try:
        backtest.to_end()
    except BaseException:
        backtest.abandon()
        raise
    return backtest.close()


def day_name(day: int, time_type: ColumnType) -> str:
    """A day of the calendar; numbers of seconds have days counted from 0."""
    if time_type is not ColumnType.TIMESTAMP:
        return str(day)
    moment = to_datetime(day * DAY_US)
    return moment if isinstance(moment, str) else moment.date().isoformat()


def time_name(us: int, time_type: ColumnType) -> Any:
    """A result time as result lines have it."""
    if time_type is not ColumnType.TIMESTAMP:
        return us // 1_000_000 if us % 1_000_000 == 0 else us / 1_000_000
    moment = to_datetime(us)
    return moment if isinstance(moment, str) else moment.isoformat().replace("+00:00", "Z")


def _rows(lines: Counter[str], samples: int) -> list[dict[str, Any]]:
    chosen = sorted(lines.elements())[:samples]
    rows = [json.loads(line) for line in chosen]
    return [{key: row[key] for key in row if key != "query"} for row in rows]


def _head(block: ResultBlock, rows: int) -> ResultBlock:
    return replace(block, picks=block.positions()[:rows], times_us=block.times_us[:rows])
