"""Random join programs with random input, and what the oracle says of them.

Queries of one program have the same FROM and the same equalities, so that they meet on one host; they differ in filters,
windows, theta conditions and residuals. Every item selects its `id`, so an answer is a list of (result time, ids).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler import compile as compile_program
from cqc.compiler.graph.graph import Graph
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.physical.executors import Flat, Rows
from cqc.compiler.pipeline import normalise
from cqc.runtime.columns.columns import from_python, to_python
from cqc.runtime.columns.packet import Packet
from cqc.runtime.join.choice.build_join import build_join
from cqc.runtime.join.execute.join_node import push_packet
from cqc.runtime.state.shared_state import SharedState
from tests.support.oracle.brute_force import push_answer

if TYPE_CHECKING:
    from random import Random

    from cqc.compiler.graph.nodes import JoinHost
    from cqc.compiler.meaning.bound import Query
    from cqc.runtime.join.execute.join_node import JoinNode
    from cqc.runtime.lineage.matches import Found, Seat

COLUMNS = "id BIGINT, a BIGINT, d DOUBLE, s STRING, x BIGINT"
DECLARATIONS = "".join(f"CREATE STREAM {name} (ts TIMESTAMP, {COLUMNS});" for name in "ABC")
DECLARATIONS += f"CREATE TABLE W ({COLUMNS});"
TYPES = (
    ColumnType.BIGINT,
    ColumnType.BIGINT,
    ColumnType.DOUBLE,
    ColumnType.STRING,
    ColumnType.BIGINT,
)
SECOND = 1_000_000
DELAY_US = 2 * SECOND
Answer = list[tuple[int, tuple[int, ...]]]


@dataclass
class Shape:
    """What the queries of one program share: the relations of FROM and the equalities between them."""

    relations: list[str]
    equalities: list[str]

    @property
    def aliases(self) -> list[str]:
        return [f"t{at}" for at in range(len(self.relations))]


def random_shape(random: Random) -> Shape:
    relations = [random.choice("ABC") for _ in range(random.choice((2, 2, 3, 3, 4)))]
    if random.random() < 0.25:
        relations.append("W")
    pairs = ("a", "a"), ("d", "d"), ("s", "s"), ("a", "d"), ("x", "x")
    equalities = []
    for at in range(1, len(relations)):
        for _ in range(random.choice((0, 1, 1, 2))):
            left, right = random.choice(pairs)
            equalities.append(f"t{random.randrange(at)}.{left} = t{at}.{right}")
    return Shape(relations, equalities)


def random_query(random: Random, shape: Shape, *, rows: bool = False) -> str:
    aliases = shape.aliases
    streams = [alias for alias, name in zip(aliases, shape.relations, strict=True) if name != "W"]
    conditions = list(shape.equalities)
    conditions += [_filter(random, alias) for alias in aliases if random.random() < 0.5]
    conditions += [_theta(random, aliases) for _ in range(random.choice((0, 0, 1, 1, 2)))]
    if random.random() < 0.2:
        left, right = random.sample(aliases, 2)
        conditions.append(f"({left}.x = {right}.x OR {left}.d < 1.0)")
    items = []
    for name, alias in zip(shape.relations, aliases, strict=True):
        window = ""
        if rows and name != "W":
            window = f" [ROWS {random.randint(1, 3)}]"
        elif name != "W" and random.random() < 0.2:
            window = f" [RANGE {random.randint(0, 5)} SEC]"
        items.append(f"{name} AS {alias}{window}")
    text = f"SELECT {', '.join(f'{alias}.id AS i{at}' for at, alias in enumerate(aliases))} FROM {', '.join(items)}"
    if conditions:
        text += f" WHERE {' AND '.join(conditions)}"
    if len(streams) > 1 and random.random() < 0.4:
        left, right = random.sample(streams, 2)
        text += f" WINDOW {_window(random, left, right)}"
    if not rows or random.random() < 0.5:
        text += f" MAXWINDOW {random.randint(0, 6)} SEC"
    return text + ";"


def _filter(random: Random, alias: str) -> str:
    return random.choice(
        (
            f"{alias}.x >= {random.randint(0, 4)}",
            f"{alias}.d < {random.choice((0.5, 2.5, 3.0))}",
            f"{alias}.x IS NULL",
            f"{alias}.x <> 3",
            f"{alias}.s LIKE 'x%'",
            f"({alias}.x = 1 OR {alias}.a = 0)",
            f"{alias}.d IN (0, 1, 2.5)",
        )
    )


def _theta(random: Random, aliases: list[str]) -> str:
    left, right = random.sample(aliases, 2)
    first, second = random.choice((("d", "d"), ("x", "x"), ("d", "x"), ("x", "d")))
    op = random.choice(("<", "<=", ">", ">=", "<>"))
    constant = random.choice(("0.5", "1.5", "2.0", "3.0", "-1.0", "0.1"))
    return random.choice(
        (
            f"{left}.{first} {op} {constant} * {right}.{second}",
            f"{left}.{first} {op} {right}.{second} + {constant}",
            f"{left}.{first} - {right}.{second} {op} {constant}",
            f"{left}.{first} * 3.0 / {constant} {op} {right}.{second}",
            f"{left}.x {op} {right}.x",
        )
    )


def _window(random: Random, left: str, right: str) -> str:
    seconds = random.randint(0, 4)
    return random.choice(
        (
            f"{left}.ts > {right}.ts",
            f"{left}.ts - {right}.ts <= {seconds} SEC",
            f"{left}.ts BETWEEN {right}.ts AND {right}.ts + {seconds} SEC",
            f"{left}.ts = {right}.ts",
        )
    )


def random_row(random: Random, number: int) -> tuple[Any, ...]:
    return (
        number,
        random.choice((None, 0, 1, 2)),
        random.choice((None, 0.0, -0.0, 1.0, float("nan"), 2.5, float("inf"))),
        random.choice((None, "", "x", "xyz")),
        random.choice((None, 0, 1, 3, 5, 1 << 60))
        if random.random() < 0.05
        else random.randint(0, 5),
    )


def packet_of(rows: list[tuple[Any, ...]], times: list[int] | None, first_arrival: int) -> Packet:
    columns = [from_python(type_, [row[at] for row in rows]) for at, type_ in enumerate(TYPES)]
    if times is not None:
        columns.insert(0, from_python(ColumnType.TIMESTAMP, times))
    ts_us = np.array(times or [0] * len(rows), np.int64)
    return Packet(tuple(columns), ts_us, np.arange(first_arrival, first_arrival + len(rows)))


@dataclass
class Running:
    """A query under test: where it sits, what it found, and which tuples it may see."""

    query: Query
    seat: Seat
    join: JoinNode
    positions: tuple[int, ...]
    since: dict[str, int]
    found: Answer = field(default_factory=list)
    until: dict[str, int] | None = None  # where it was removed


class Bench:
    """States, joins and queries, fed packet by packet."""

    def __init__(self, table_rows: list[tuple[Any, ...]] | None = None) -> None:
        self._program = compile_program(DECLARATIONS + "SELECT id FROM A;")
        self.states = {
            name: SharedState(each) for name, each in self._program.catalog.relations.items()
        }
        self.joins: dict[int, JoinNode] = {}
        self.queries: list[Running] = []
        self.input: dict[str, list[tuple[tuple[Any, ...], int]]] = {name: [] for name in "abc"}
        self.newest: dict[str, int] = dict.fromkeys("abc", -(10**15))
        self._graph = Graph()
        self._table = table_rows or []
        if self._table:
            self.states["w"].insert(packet_of(self._table, None, 0))

    def new_join(self, host: JoinHost) -> JoinNode:
        return build_join(host, Flat(), self.states)

    def add(self, text: str, *, past: bool = False) -> Running:
        query = self._bound(text)
        node = self._graph.add(normalise(query)).query
        body = node.body
        assert body.host is not None
        if body.rows:
            join = build_join(body.host, Rows(), self.states, body=body)
            self.joins[-1 - len(self.joins)] = join
        elif body.host.number in self.joins:
            join = self.joins[body.host.number]
        else:
            join = self.joins[body.host.number] = self.new_join(body.host)
        seat = join.add(body, past=past)
        since = dict.fromkeys(self.input, 0) if past else self._lengths()
        running = Running(query, seat, join, node.positions, since)
        self.queries.append(running)
        if past:
            self._collect(join.past(seat))
        return running

    def remove(self, running: Running) -> None:
        assert running.seat.results == len(running.found)
        running.until = self._lengths()
        running.join.remove(running.seat)

    def push(
        self,
        name: str,
        rows: list[tuple[Any, ...]],
        times: list[int],
        *,
        keep_all: bool = False,
        more: bool = False,
    ) -> None:
        packet = packet_of(rows, times, len(self.input[name]))
        self.input[name] += [
            ((ts, *row), len(self.input[name]) + at)
            for at, (ts, row) in enumerate(zip(times, rows, strict=True))
        ]
        joins = [join for join in self.joins.values() if name in join.relations]
        self._collect(push_packet(self.states[name], joins, packet, keep_all=keep_all, more=more))

    def end_batch(self, *, at_end: bool = False, purge: bool = True) -> None:
        for name, seen in self.input.items():
            self.newest[name] = max([self.newest[name], *(row[0] for row, _ in seen)])
        watermarks = {name: newest - DELAY_US for name, newest in self.newest.items()}
        if at_end:
            watermarks = dict.fromkeys(watermarks, 10**16)
        for join in self.joins.values():
            self._collect(join.advance(watermarks))
        if purge:
            for name in "abc":
                joins = [join for join in self.joins.values() if name in join.relations]
                befores = [join.purge_before(name, watermarks) for join in joins]
                if None not in befores:
                    self.states[name].purge(
                        min((each for each in befores if each is not None), default=10**16)
                    )

    def wanted(self, running: Running) -> Answer:
        """The oracle's answer for what the query may see."""
        until = running.until or self._lengths()
        seen = {name: rows[running.since[name] : until[name]] for name, rows in self.input.items()}
        answer = push_answer(running.query, seen, {"w": self._table})
        return sorted(answer)  # type: ignore[arg-type]

    def _collect(self, found: list[Found]) -> None:
        for each in found:
            hits = {id(seat) for seat in each.hits()}
            for running in self.queries:
                if running.until is not None or running.join is not self._join_of(each, running):
                    continue
                if id(running.seat) in hits:
                    running.found += self._answer(each, running)

    def _join_of(self, found: Found, running: Running) -> JoinNode | None:
        """The query's join when the finding is of it (a seat is hit only by its own join's findings)."""
        return running.join if any(seat is running.seat for seat in found.hits()) else None

    def _answer(self, found: Found, running: Running) -> Answer:
        rows = found.rows_of(running.seat)
        ids = []
        for at, item in enumerate(running.query.items):
            column = 0 if item.relation.event_time is None else 1
            ids.append(to_python(found.column(running.positions[at], column, rows)))
        times = found.ts_us[rows].tolist()
        return [(ts, tuple(each)) for ts, each in zip(times, zip(*ids, strict=True), strict=True)]

    def _bound(self, text: str) -> Query:
        program = compile_program(DECLARATIONS + f"CREATE QUERY n{len(self.queries)} AS {text}")
        return next(iter(program.queries))

    def _lengths(self) -> dict[str, int]:
        return {name: len(rows) for name, rows in self.input.items()}


def random_times(random: Random, clock: int, count: int, newest: int) -> list[int]:
    """Event times that are out of order within the delay."""
    times = [clock * SECOND - random.choice((0, 0, SECOND, DELAY_US)) for _ in range(count)]
    return [max(ts, newest - DELAY_US) for ts in times]
