"""Random views over a random schema: filters, joins, unions, rows at instants and rows of windows, over one another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import cqc
from tests.support.generators.expressions import Expressions
from tests.support.generators.queries import DURATIONS, FromItem, Queries, names_of
from tests.support.generators.schema import ColumnDeclared, Declared

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random


@dataclass
class Views:
    """Makes views one after the other; each may read those before it."""

    rng: Random
    schema: Sequence[Declared]
    numeric: bool
    statements: list[str] = field(default_factory=list)
    streams: list[Declared] = field(default_factory=list)
    windowed: list[Declared] = field(default_factory=list)
    bodies: dict[str, str] = field(default_factory=dict)

    def add(self) -> None:
        """One more view."""
        kind = self.rng.choice(["simple", "simple", "join", "join", "union", "every", "window"])
        body = getattr(self, kind)()
        name = f"V{len(self.statements)}"
        self.statements.append(f"CREATE VIEW {name} AS {body};")
        self.bodies[name] = body
        declarations = "\n".join(each.text for each in self.schema)
        program = cqc.compile(declarations + "\n".join(self.statements))
        relation = program.catalog.views[name.lower()]
        columns = tuple(ColumnDeclared(each.name, each.type.value) for each in relation.columns)
        if relation.is_stream:
            self.streams.append(Declared(name, columns, 0))
        else:
            self.windowed.append(Declared(name, columns, None))

    def readers(self, *, pull: bool) -> Queries:
        """What makes queries over the views and the streams."""
        views = self.streams + (self.windowed if pull else [])
        streams = [each for each in self.schema if each.is_stream]
        tables = [each for each in self.schema if not each.is_stream]
        return ViewReaders(self.rng, [*views, *views, *streams, *tables], self.numeric, self)

    # Bodies

    def source(self, number: int) -> FromItem:
        streams = [each for each in self.schema if each.is_stream] + 2 * self.streams
        return FromItem(f"t{number}", self.rng.choice(streams))

    def simple(self) -> str:
        item = self.source(1)
        make = Expressions(self.rng, names_of([item]))
        ts = "t1.ts, " if self.rng.random() < 0.6 else ""
        return (
            f"SELECT {ts}t1.k, {self.values(make)} FROM {item.relation.name} t1"
            f" WHERE {make.condition(1)}"
        )

    def values(self, make: Expressions) -> str:
        return (
            f"{make.of('BIGINT', 1)} AS x, {make.of('DOUBLE', 1)} AS d, {make.of('STRING', 1)} AS s"
        )

    def join(self) -> str:
        items = [self.source(1), self.source(2)]
        make = Expressions(self.rng, names_of(items))
        queries = Queries(self.rng, self.schema, self.numeric)
        where = queries.join_conditions(items, make)
        window = queries.window(items, tight=False)
        between = f" WINDOW {' AND '.join(window)}" if window else ""
        return (
            f"SELECT t1.k, {self.values(make)} FROM {items[0].relation.name} t1, {items[1].relation.name} t2"
            f" WHERE {' AND '.join(where)}{between} MAXWINDOW {self.rng.choice(DURATIONS)}"
        )

    def union(self) -> str:
        branches = []
        ts = "t1.ts, " if self.rng.random() < 0.3 else ""
        for _ in range(2):
            item = self.source(1)
            make = Expressions(self.rng, names_of([item]))
            branches.append(
                f"SELECT {ts}t1.k, {self.values(make)} FROM {item.relation.name} t1 WHERE {make.condition(1)}"
            )
        return " UNION ALL ".join(branches)

    def every(self) -> str:
        every = self.rng.choice(["1 SEC", "2 SEC", "2.5s", "3 SEC"])
        begin = self.rng.choice(["AFTER NOW - 2 SECONDS", "NOW - 4"])
        end = self.rng.choice(["NOW", "NOW", "NOW - 1", "NOW + 1"])
        return self.grouped(f" BEGIN {begin} END {end} EVERY {every}")

    def window(self) -> str:
        return self.grouped("")

    def grouped(self, clauses: str) -> str:
        items = [self.source(1)]
        if not clauses and self.windowed and self.rng.random() < 0.5:
            items = [FromItem("t1", self.rng.choice(self.windowed))]
        key = self.rng.choice(["t1.k", "t1.k", "t1.k % 2"])
        made = (
            "COUNT(*) AS x, SUM(t1.d) AS d"
            if self._has(items[0], "d")
            else "COUNT(*) AS x, AVG(t1.k) AS d"
        )
        return f"SELECT {key} AS k, {made} FROM {items[0].relation.name} t1{clauses} GROUP BY {key}"

    def _has(self, item: FromItem, column: str) -> bool:
        return any(each.name == column for each in item.relation.columns)


@dataclass
class ViewReaders(Queries):
    """Queries whose FROM has views, by name or written out."""

    views: Views | None = None

    def stream_item(self, number: int) -> FromItem:
        assert self.views is not None
        known = self.views.bodies
        choices = [each for each in self.schema if each.is_stream or each.name in known]
        return FromItem(f"t{number}", self.rng.choice(choices))

    def join_items(self, count: int) -> list[FromItem]:
        return [self.stream_item(number) for number in range(1, count + 1)]

    def item_text(self, item: FromItem, bounded: str = "") -> str:
        assert self.views is not None
        body = self.views.bodies.get(item.relation.name)
        if body is None:
            return super().item_text(item, bounded)
        written = self.rng.random() < 0.3
        text = f"({body}) AS {item.alias}" if written else f"{item.relation.name} {item.alias}"
        if bounded and item.relation.is_stream:
            text += f" [RANGE {self.rng.choice(DURATIONS)}]"
        return text
