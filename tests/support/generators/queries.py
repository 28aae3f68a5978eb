"""Random queries over a random schema, as text that must compile."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support.generators.expressions import COMPARISONS, Expressions, Names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from tests.support.generators.schema import Declared

DURATIONS = [
    "500 MS",
    "1 SEC",
    "2 SECONDS",
    "3s",
    "INTERVAL '4' SECOND",
    "6 SEC",
    "1.5 SEC",
    "0 SEC",
]
OUTPUT_TYPES = ["BIGINT", "DOUBLE", "STRING", "BOOLEAN", "TIMESTAMP", "DATE"]


@dataclass(frozen=True)
class FromItem:
    alias: str
    relation: Declared


@dataclass
class Queries:
    """Makes queries; `numeric` says that event times are numbers of seconds."""

    rng: Random
    schema: Sequence[Declared]
    numeric: bool

    def any(self) -> str:
        maker = self.rng.choice(
            [self.filter, self.join, self.join, self.pull, self.pull, self.periodic]
        )
        return maker()

    # Push

    def filter(self) -> str:
        item = self.stream_item(1)
        make = Expressions(self.rng, names_of([item]))
        outputs = "*" if self.rng.random() < 0.3 else self.outputs(make)
        where = f" WHERE {make.condition(3)}" if self.rng.random() < 0.9 else ""
        return f"SELECT {outputs} FROM {self.item_text(item)}{where}"

    def join(self) -> str:
        items = self.join_items(self.rng.choice([2, 2, 2, 3, 3, 4]))
        streams = [item for item in items if item.relation.is_stream]
        make = Expressions(self.rng, names_of(items))
        bounded = self.rng.choice(["maxwindow", "maxwindow", "range", "rows", "mixed", "relative"])
        froms = [self.item_text(item, bounded) for item in items]
        window = self.window(streams, tight=bounded == "relative")
        clauses = [
            f"WHERE {' AND '.join(self.join_conditions(items, make))}",
            f"WINDOW {' AND '.join(window)}" if window else "",
            f"MAXWINDOW {self.rng.choice(DURATIONS)}" if bounded == "maxwindow" else "",
        ]
        self.rng.shuffle(clauses)
        outputs = "*" if self.rng.random() < 0.2 else self.outputs(make)
        return f"SELECT {outputs} FROM {', '.join(froms)} {' '.join(filter(None, clauses))}"

    def join_conditions(self, items: Sequence[FromItem], make: Expressions) -> list[str]:
        conditions = []
        for left, right in itertools.pairwise(items):
            chance = self.rng.random()
            if chance < 0.5:
                conditions.append(f"{left.alias}.k = {right.alias}.k")
            elif chance < 0.7:
                op = self.rng.choice(COMPARISONS)
                conditions.append(f"{left.alias}.k * 2 {op} {right.alias}.k + 1")
        if self.rng.random() < 0.5:
            conditions.append(make.condition(2))
        return conditions or ["TRUE"]

    def window(self, streams: Sequence[FromItem], *, tight: bool) -> list[str]:
        """Conditions between event times; `tight` ones bound every pair from both sides."""
        conditions = []
        for left, right in itertools.pairwise(streams):
            a, b = f"{left.alias}.ts", f"{right.alias}.ts"
            seconds = self.rng.choice(["1 SEC", "2 SECONDS", "500 MS", "3", "0"])
            if tight:
                conditions.append(self.bounded_pair(a, b, seconds))
            elif self.rng.random() < 0.4:
                conditions.append(self.half_pair(a, b, seconds))
        if streams and self.rng.random() < 0.15:
            conditions.append(f"{streams[0].alias}.ts >= {self.instant_literal()}")
        return conditions

    def bounded_pair(self, a: str, b: str, seconds: str) -> str:
        return self.rng.choice(
            [
                f"{a} = {b}",
                f"{b} BETWEEN {a} AND {a} + {seconds}",
                f"{a} <= {b} AND {b} - {a} <= {seconds}",
                f"{b} > {a} - {seconds} AND {b} < {a} + 2 SEC",
            ]
        )

    def half_pair(self, a: str, b: str, seconds: str) -> str:
        return self.rng.choice(
            [
                f"{a} < {b}",
                f"{b} >= {a}",
                f"{b} - {a} <= {seconds}",
                f"{a} + {seconds} > {b}",
                f"NOT ({b} < {a})",
                f"({a} < {b} OR {a} - {b} > {seconds})",
                f"{a} <> {b}",
            ]
        )

    # Pull

    def pull(self, every: str = "") -> str:
        items = self.join_items(self.rng.choice([1, 1, 1, 2, 2, 3]))
        froms = [self.item_text(item, self.rng.choice(["", "", "mixed"])) for item in items]
        make = Expressions(self.rng, names_of(items))
        where = self.join_conditions(items, make)
        body = self.grouped(make) if self.rng.random() < 0.6 else self.listed(make)
        maxwindow = " MAXWINDOW 2 SEC" if self.rng.random() < 0.2 else ""
        return (
            f"SELECT {body[0]} FROM {', '.join(froms)} WHERE {' AND '.join(where)}{maxwindow}"
            f" {self.begin_end()}{every}{body[1]}"
        )

    def periodic(self) -> str:
        return self.pull(f" EVERY {self.rng.choice(['1 SEC', '2 SEC', '2.5s', '700 MS', '5 SEC'])}")

    def begin_end(self) -> str:
        after = self.rng.choice(["", "", "AFTER "])
        before = self.rng.choice(["", "", "BEFORE "])
        begin = self.rng.choice(
            ["NOW - 4", "NOW - 2 SECONDS", "(NOW - 6 SEC)", self.instant_literal()]
        )
        end = self.rng.choice(["NOW", "NOW", "NOW - 1", self.instant_literal()])
        return f"BEGIN {after}{begin} END {before}{end}"

    def grouped(self, make: Expressions) -> tuple[str, str]:
        """SELECT list and tail of a query with aggregates."""
        types = [self.rng.choice(["BIGINT", "STRING", "DOUBLE", "BOOLEAN"]) for _ in range(2)]
        keys = [make.of(type_, 1) for type_ in types[: self.rng.randint(0, 2)]]
        # A bare number in GROUP BY is the position of an output.
        keys = list(dict.fromkeys(key for key in keys if not key.lstrip("-").isdigit()))
        made = [self.aggregate(make) for _ in range(self.rng.randint(1, 3))]
        outputs = [f"{part} AS o{at}" for at, part in enumerate([*keys, *made])]
        tail = f" GROUP BY {', '.join(keys)}" if keys else ""
        if self.rng.random() < 0.3:
            tail += f" HAVING COUNT(*) {self.rng.choice(COMPARISONS)} {self.rng.randint(0, 3)}"
        return self.distinct() + ", ".join(outputs), tail + self.order(len(outputs))

    def listed(self, make: Expressions) -> tuple[str, str]:
        count = self.rng.randint(1, 3)
        outputs = [f"{make.of(self.rng.choice(OUTPUT_TYPES), 1)} AS o{at}" for at in range(count)]
        return self.distinct() + ", ".join(outputs), self.order(count)

    def distinct(self) -> str:
        return "DISTINCT " if self.rng.random() < 0.2 else ""

    def order(self, count: int) -> str:
        """ORDER BY every output, so that only equal rows can change places; then perhaps LIMIT."""
        if self.rng.random() < 0.5:
            return ""
        keys = [
            f"o{at}{self.rng.choice(['', ' DESC', ' ASC'])}{self.rng.choice(['', '', ' NULLS LAST'])}"
            for at in range(count)
        ]
        limit = f" LIMIT {self.rng.randint(0, 4)}" if self.rng.random() < 0.5 else ""
        return f" ORDER BY {', '.join(keys)}{limit}"

    def aggregate(self, make: Expressions) -> str:
        exact = [name for name, _ in make.names if name.endswith((".d", ".k"))]
        anything = [name for name, _ in make.names]
        wholes = [
            name for name, type_ in make.names if type_ == "BIGINT" and not name.endswith(".ts")
        ]
        distinct = self.rng.choice(["", "", "DISTINCT "])
        return self.rng.choice(
            [
                "COUNT(*)",
                f"COUNT({distinct}{self.rng.choice(anything)})",
                f"SUM({distinct}{self.rng.choice(exact)})",
                f"SUM({self.rng.choice(wholes)})",
                f"AVG({self.rng.choice(exact)})",
                f"MIN({self.rng.choice(anything)})",
                f"MAX({self.rng.choice(anything)})",
                f"SUM({self.rng.choice(exact)}) + COUNT(*)",
                f"coalesce(MAX({self.rng.choice(wholes)}), -1)",
            ]
        )

    # Pieces

    def instant_literal(self) -> str:
        second = self.rng.randint(0, 12)
        return str(second - 2) if self.numeric else f"TIMESTAMP '2024-01-01 00:00:{second:02d}'"

    def outputs(self, make: Expressions) -> str:
        types = [self.rng.choice(OUTPUT_TYPES) for _ in range(self.rng.randint(1, 3))]
        return ", ".join(f"{make.of(type_, 2)} AS o{at}" for at, type_ in enumerate(types))

    def stream_item(self, number: int) -> FromItem:
        streams = [relation for relation in self.schema if relation.is_stream]
        return FromItem(f"t{number}", self.rng.choice(streams))

    def join_items(self, count: int) -> list[FromItem]:
        items = [self.stream_item(number) for number in range(1, count + 1)]
        if count > 1 and self.rng.random() < 0.2:
            table = next(relation for relation in self.schema if not relation.is_stream)
            items[self.rng.randrange(count)] = FromItem("p", table)
        if not any(item.relation.is_stream for item in items):
            items[0] = self.stream_item(1)
        return items

    def item_text(self, item: FromItem, bounded: str = "") -> str:
        text = f"{item.relation.name} {self.rng.choice(['', 'AS '])}{item.alias}"
        if not item.relation.is_stream:
            return text
        kind = self.rng.choice(["range", "rows"]) if bounded == "mixed" else bounded
        if kind == "range":
            return f"{text} [RANGE {self.rng.choice(DURATIONS)}]"
        return f"{text} [ROWS {self.rng.randint(1, 4)}]" if kind == "rows" else text


def names_of(items: Sequence[FromItem]) -> Names:
    return [
        (f"{item.alias}.{column.name}", column.type)
        for item in items
        for column in item.relation.columns
    ]
