"""Those who answer: this engine with kept results, the same engine recomputing every time (NoMat), DuckDB, and NumPy.

NoMat has the same tuples, the same time order and the same filter kernels; it only keeps no results. Of the tuples in the
window it reads the columns that the condition names, without copying them. DuckDB has the retained tuples in a table, in
time order, which is what its zone maps need to skip what a window excludes. NumPy is what a person would write by hand for
one selection over one table: the least that recomputing can cost in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

import cqc
from cqc.benchmarks.papers.pull.workload import STREAMS, batches, comparisons
from cqc.compiler.physical.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


class NumpyContestant:
    """A selection written by hand for its one table of NumPy columns in time order: no engine, no other queries."""

    name = "NumPy by hand"

    def __init__(
        self, conditions: Sequence[str], streams: Mapping[str, pa.Table], window: int
    ) -> None:
        self.queries = conditions
        self._conditions = [comparisons(condition) for condition in conditions]
        table = streams["r"]
        self._columns = {name: table[name].to_numpy() for name in table.column_names}
        self._window = window

    def ask(self, query: int, now: int) -> pa.Table:
        columns = self._columns
        bounds = [now - self._window + 1, now + 1]
        first, last = np.searchsorted(columns["ts"], bounds).tolist()
        inside = np.ones(last - first, np.bool_)
        for name, compare, constant in self._conditions[query]:
            inside &= compare(columns[name][first:last], constant)
        rows = first + np.flatnonzero(inside)
        return pa.table({name: columns[name][rows] for name in ("ts", "a", "b")})


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
