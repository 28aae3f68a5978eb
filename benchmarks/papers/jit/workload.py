"""The paper's clique joins: N sources, an equality between every two of them, each on a column of its own.

Values are uniform in 1..dmax, tuples come at random with a rate, a sliding window holds for all sources. For the left-deep
settings the last source draws from 1..100 dmax.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.benchmarks.harness.side_by_side import micro_batches
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from cqc.runtime.intake.typed_batch import TypedBatch

SECOND_US = 1_000_000


@dataclass(frozen=True)
class Clique:
    """One setting; the defaults are those of the paper's bushy plans."""

    sources: int = 6
    window_s: float = 1200
    rate: float = 1.0
    dmax: int = 200
    hours: float = 5.0
    wide_last: bool = False  # the last source draws from a range a hundred times as large

    @property
    def names(self) -> list[str]:
        return [chr(ord("A") + at) for at in range(self.sources)]

    def program(self) -> str:
        """The declarations and the query."""
        lines = []
        for name in self.names:
            columns = ", ".join(f"{column} BIGINT" for column in self._columns(name))
            lines.append(f"CREATE STREAM {name} (ts TIMESTAMP, {columns});")
        equalities = " AND ".join(
            f"{one}.{one}{two} = {two}.{one}{two}"
            for at, one in enumerate(self.names)
            for two in self.names[at + 1 :]
        )
        chosen = ", ".join(f"{name}.ts AS t{name}" for name in self.names)
        lines.append(
            f"SELECT {chosen} FROM {', '.join(self.names)} WHERE {equalities} MAXWINDOW {self.window_s:g} SEC;"
        )
        return "\n".join(lines)

    def sql(self, fresh_us: int | None = None) -> str:
        """The number of combinations, with `fresh_us` of those that have a tuple from then on."""
        pairs = [(one, two) for at, one in enumerate(self.names) for two in self.names[at + 1 :]]
        window_us = int(self.window_s * SECOND_US)
        conditions = [f"{one}.{one}{two} = {two}.{one}{two}" for one, two in pairs]
        conditions += [
            f"{one}.ts - {two}.ts BETWEEN {-window_us} AND {window_us}" for one, two in pairs
        ]
        if fresh_us is not None:
            times = ", ".join(f"{name}.ts" for name in self.names)
            conditions.append(f"greatest({times}) >= {fresh_us}")
        return f"SELECT count(*) FROM {', '.join(self.names)} WHERE {' AND '.join(conditions)}"

    def streams(self, seed: int = 5) -> dict[str, dict[str, Any]]:
        """The input by stream and column."""
        random = np.random.default_rng(seed)
        count = int(self.rate * self.hours * 3600)
        streams = {}
        for name in self.names:
            most = self.dmax * (100 if self.wide_last and name == self.names[-1] else 1)
            times = random.integers(0, int(self.hours * 3600 * SECOND_US), count)
            columns = {"ts": np.sort(times)}
            for column in self._columns(name):
                columns[column] = random.integers(1, most + 1, count)
            streams[name] = columns
        return streams

    def batches(self, batch_s: float, seed: int = 5) -> list[dict[str, TypedBatch]]:
        """The input in micro-batches of so many seconds of stream time."""
        streams = self.streams(seed)
        types = {
            column: ColumnType.TIMESTAMP if column == "ts" else ColumnType.BIGINT
            for columns in streams.values()
            for column in columns
        }
        return micro_batches(streams, types, int(batch_s * SECOND_US))

    def _columns(self, name: str) -> list[str]:
        return [f"{min(name, other)}{max(name, other)}" for other in self.names if other != name]
