"""Those who answer: this engine with kept results, the same engine recomputing every time (NoMat), and DuckDB.

NoMat has the same tuples, the same time order and the same filter kernels; it only keeps no results. DuckDB has the retained
tuples in a table, in time order, which is what its zone maps need to skip what a window excludes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import cqc
from cqc.benchmarks.pull.workload import STREAMS, batches
from cqc.runtime.options import Strategy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

_BATCH = 8192


class Contestant(Protocol):
    """Somebody with tuples and queries."""

    name: str
    queries: Sequence[str]

    def ask(self, query: int, now: int) -> pa.Table:
        """The value of a query (by number) at an instant."""


class CqcContestant:
    """This engine."""

    def __init__(
        self, name: str, maintenance: str, queries: Sequence[str], streams: Mapping[str, pa.Table]
    ) -> None:
        self.name = name
        self.queries = queries
        self._engine = engine_with(queries, maintenance=maintenance)
        feed(self._engine, streams)

    def ask(self, query: int, now: int) -> pa.Table:
        return self._engine.invoke(f"p{query}", at=now)


class DuckContestant:
    """DuckDB over the retained tuples; `queries` have $begin and $end."""

    name = "DuckDB"

    def __init__(
        self, queries: Sequence[str], streams: Mapping[str, pa.Table], window: int
    ) -> None:
        import duckdb

        self._connection: Any = duckdb.connect()
        self._connection.execute("SET threads = 1; SET enable_progress_bar = false")
        for name, table in streams.items():
            self._connection.register("given", table)
            self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given ORDER BY ts")
            self._connection.unregister("given")
        self.queries = queries
        self._window = window

    def ask(self, query: int, now: int) -> pa.Table:
        bounds = {"begin": now - self._window, "end": now}
        return self._connection.sql(self.queries[query], params=bounds).to_arrow_table()


def engine_with(
    queries: Sequence[str], maintenance: str = "auto", *, sharing: bool = True
) -> cqc.Engine:
    """An engine with these queries, named p0, p1, ..."""
    named = ";\n".join(f"CREATE QUERY p{at} AS {text}" for at, text in enumerate(queries))
    program = cqc.compile(f"{STREAMS}{named};" if queries else STREAMS)
    return cqc.Engine(program, strategy=Strategy(maintenance=maintenance, sharing=sharing))


def feed(
    engine: cqc.Engine, streams: Mapping[str, pa.Table], size: int = _BATCH, *, drain: bool = False
) -> None:
    """Push all tuples, the streams' micro-batches side by side; with `drain` results are taken by column."""
    cut = {name: batches(table, size) for name, table in streams.items()}
    for at in range(max(map(len, cut.values()))):
        engine.push_batch({name: parts[at] for name, parts in cut.items() if at < len(parts)})
        if drain:
            for _ in engine.drain_blocks():
                pass
