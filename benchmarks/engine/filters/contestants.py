"""Those who answer the filter workload: this engine's grouped filter, and others beside it.

Each has a method that takes one micro-batch and adds to the counts per query. What can be prepared once (statements,
expressions, indexes over queries) is prepared once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from bitarray import bitarray
from sortedcontainers import SortedKeyList

from cqc.benchmarks.engine.filters.workload import COLUMNS, Query, Range, Rule, TextAtom
from cqc.compiler.meaning.bound import PatternKind
from cqc.compiler.meaning.normal import AllOf, AnyOf, Formula, Interval, PatternAtom, ValueAtom
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column, text_column
from cqc.runtime.columns.packet import Packet
from cqc.runtime.filter.grouped_filter import StreamFilter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[Any]  # [columns, tuples]


def formula_of(query: Query, type_: ColumnType) -> Formula:
    """A conjunction as the compiler normalises it."""
    kind = float if type_ is ColumnType.DOUBLE else int
    atoms = tuple(
        ValueAtom(
            each.column,
            type_,
            (
                Interval(
                    None if each.low is None else kind(each.low), each.low is not None,
                    None if each.high is None else kind(each.high), each.high is not None,
                ),
            ),
        )
        for each in query
    )  # fmt: skip
    return atoms[0] if len(atoms) == 1 else AllOf(atoms)


def packet_of(numbers: Numbers) -> Packet:
    """A micro-batch as a packet."""
    type_ = ColumnType.DOUBLE if numbers.dtype == np.float64 else ColumnType.BIGINT
    columns = tuple(Column(type_, np.ascontiguousarray(values)) for values in numbers)
    order = np.arange(numbers.shape[1], dtype=np.int64)
    return Packet(columns, order, order)


class GroupedFilter:
    """This engine."""

    def __init__(self, queries: Sequence[Query], *, doubles: bool = False) -> None:
        type_ = ColumnType.DOUBLE if doubles else ColumnType.BIGINT
        self.filters = StreamFilter((type_,) * COLUMNS)
        for slot, query in enumerate(queries):
            self.filters.add(slot, formula_of(query, type_))

    def count(self, packet: Packet) -> NDArray[np.int64]:
        return self.filters.match(packet).counts()


class PolarsSelect:
    """One select with an expression a query; Polars shares equal sub-expressions."""

    def __init__(self, queries: Sequence[Query]) -> None:
        import polars as pl

        self._expressions = [
            _polars_condition(query).sum().alias(str(at)) for at, query in enumerate(queries)
        ]
        self._pl = pl

    def count(self, numbers: Numbers) -> NDArray[np.int64]:
        frame = self._pl.DataFrame({f"c{at}": values for at, values in enumerate(numbers)})
        return frame.select(self._expressions).to_numpy()[0]  # type: ignore[no-any-return]


def _polars_condition(query: Query) -> Any:
    import polars as pl

    condition: Any = None
    for each in query:
        column = pl.col(f"c{each.column}")
        if each.low is not None and each.high is not None:
            one = column.is_between(each.low, each.high)
        else:
            one = column >= each.low if each.low is not None else column <= each.high
        condition = one if condition is None else condition & one
    return condition


class DuckStatement:
    """One statement with a count a query; `count(*) FILTER` would be five times slower."""

    def __init__(self, conditions: Sequence[str]) -> None:
        import duckdb

        self._connection: Any = duckdb.connect()
        self._connection.execute("SET threads = 1")
        counts = ", ".join(f"count_if({condition})" for condition in conditions)
        self._statement = f"SELECT {counts} FROM batch"

    def count(self, batch: Any) -> NDArray[np.int64]:
        self._connection.register("batch", batch)
        (row,) = self._connection.execute(self._statement).fetchall()
        return np.array(row, np.int64)


class DuckJoin:
    """The queries as a table of limits, joined with the batch: one statement of thousands of counts takes gigabytes."""

    def __init__(self, queries: Sequence[Query]) -> None:
        import duckdb
        import pyarrow as pa

        limits: dict[str, Any] = {"query": np.arange(len(queries))}
        for column in range(COLUMNS):
            limits[f"low{column}"] = np.full(len(queries), -np.inf)
            limits[f"high{column}"] = np.full(len(queries), np.inf)
        for number, query in enumerate(queries):
            for each in query:
                if each.low is not None:
                    limits[f"low{each.column}"][number] = each.low
                if each.high is not None:
                    limits[f"high{each.column}"][number] = each.high
        self._count = len(queries)
        self._connection: Any = duckdb.connect()
        self._connection.execute("SET threads = 1")
        self._connection.register("limits", pa.table(limits))
        self._connection.execute("CREATE TABLE queries AS SELECT * FROM limits")
        where = " AND ".join(f"c{at} BETWEEN low{at} AND high{at}" for at in range(COLUMNS))
        self._statement = f"SELECT query, count(*) FROM batch, queries WHERE {where} GROUP BY query"

    def count(self, batch: Any) -> NDArray[np.int64]:
        self._connection.register("batch", batch)
        counts = np.zeros(self._count, np.int64)
        for number, count in self._connection.execute(self._statement).fetchall():
            counts[number] = count
        return counts


def sql_condition(query: Query) -> str:
    """A conjunction as SQL."""
    parts = []
    for each in query:
        parts += [] if each.low is None else [f"c{each.column} >= {each.low!r}"]
        parts += [] if each.high is None else [f"c{each.column} <= {each.high!r}"]
    return " AND ".join(parts)


class NumpyPerQuery:
    """Masks of NumPy, query by query."""

    def __init__(self, queries: Sequence[Query]) -> None:
        self._queries = queries

    def count(self, numbers: Numbers) -> NDArray[np.int64]:
        return np.array([self._one(query, numbers) for query in self._queries], np.int64)

    def _one(self, query: Query, numbers: Numbers) -> int:
        mask = np.ones(numbers.shape[1], np.bool_)
        for each in query:
            values = numbers[each.column]
            if each.low is not None:
                mask &= values >= each.low
            if each.high is not None:
                mask &= values <= each.high
        return int(np.count_nonzero(mask))


class PerTuple:
    """CACQ as published: per column and direction the constants in order, per tuple a bit for each query still alive."""

    def __init__(self, queries: Sequence[Query]) -> None:
        self._count = len(queries)
        lows = [self._sorted(queries, column, low=True) for column in range(COLUMNS)]
        highs = [self._sorted(queries, column, low=False) for column in range(COLUMNS)]
        self._lows, self._highs = lows, highs

    @staticmethod
    def _sorted(queries: Sequence[Query], column: int, *, low: bool) -> Any:
        found = SortedKeyList(key=lambda entry: entry[0])
        for number, query in enumerate(queries):
            for each in query:
                limit = each.low if low else each.high
                if each.column == column and limit is not None:
                    found.add((limit, number))
        return found

    def count(self, numbers: Numbers) -> NDArray[np.int64]:
        totals = np.zeros(self._count, np.int64)
        for row in numbers.T.tolist():
            alive = self._alive(row)
            totals += np.unpackbits(np.frombuffer(alive.tobytes(), np.uint8), count=self._count)
        return totals

    def _alive(self, row: Sequence[float]) -> bitarray:
        alive = bitarray(self._count)
        alive.setall(1)
        for column, value in enumerate(row):
            for _, number in self._lows[column].irange_key(value, None, (False, True)):
                alive[number] = 0
            for _, number in self._highs[column].irange_key(None, value, (True, False)):
                alive[number] = 0
        return alive


class TextFilter:
    """This engine over text rules."""

    def __init__(self, rules: Sequence[Rule], columns: int) -> None:
        self.filters = StreamFilter((ColumnType.STRING,) * columns)
        for slot, rule in enumerate(rules):
            groups = tuple(AnyOf(tuple(map(pattern_of, group))) for group in rule)
            self.filters.add(slot, AllOf(groups))

    def count(self, packet: Packet) -> NDArray[np.int64]:
        return self.filters.match(packet).counts()


def pattern_of(atom: TextAtom) -> PatternAtom:
    """A text condition as a LIKE pattern."""
    return PatternAtom(atom.column, PatternKind.LIKE, _like(atom), "\\", negated=False)


def _like(atom: TextAtom) -> str:
    before = "" if atom.kind == "starts" else "%"
    return f"{before}{atom.literal}{'' if atom.kind == 'ends' else '%'}"


def sql_rule(rule: Rule) -> str:
    """A text rule as SQL, with the functions that DuckDB has for it."""
    functions = {"starts": "starts_with", "ends": "ends_with", "contains": "contains"}
    groups = [
        " OR ".join(f"{functions[atom.kind]}(c{atom.column}, '{atom.literal}')" for atom in group)
        for group in rule
    ]
    return " AND ".join(f"({group})" for group in groups)


def text_packet(arrays: Sequence[Any]) -> Packet:
    """Arrow text columns as a packet."""
    order = np.arange(len(arrays[0]), dtype=np.int64)
    return Packet(tuple(text_column(array) for array in arrays), order, order)


__all__ = [
    "DuckJoin",
    "DuckStatement",
    "GroupedFilter",
    "NumpyPerQuery",
    "PerTuple",
    "PolarsSelect",
    "Range",
    "TextFilter",
    "formula_of",
    "packet_of",
    "sql_condition",
    "sql_rule",
    "text_packet",
]
