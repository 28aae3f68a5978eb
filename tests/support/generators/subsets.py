"""Join queries over different subsets of the same streams: what one join node serves together.

A pool has three to five items, of which some may be of one stream and one may be the table. Each pair of items has a link: an
equality, a comparison, or none. A member takes some of the items, in any order, with the links among them, and has filters,
windows and a SELECT list of its own; now and then it has another link, a window nothing fits, or ROWS.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

from tests.support.generators.families import WINDOWS, Families

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from tests.support.generators.schema import Declared

LINKS = [
    "{a}.k = {b}.k",
    "{a}.k = {b}.k",
    "{a}.k <= {b}.k + {n}",
    "{a}.k > {f} * {b}.k",
    "{a}.k - {b}.k < {n}",
    "",
    "",
]


@dataclass
class Subsets:
    """Makes the queries of one pool."""

    rng: Random
    schema: Sequence[Declared]
    pool: dict[str, Declared] = field(init=False)
    links: dict[tuple[str, str], str] = field(init=False)

    def __post_init__(self) -> None:
        streams = [each for each in self.schema if each.is_stream]
        tables = [each for each in self.schema if not each.is_stream]
        size = self.rng.choice([3, 3, 4, 4, 5])
        chosen = self.rng.sample(streams, min(size, len(streams)))
        chosen += self.rng.choices(streams, k=size - len(chosen))
        if self.rng.random() < 0.25:
            chosen[self.rng.randrange(size)] = self.rng.choice(streams)
        if self.rng.random() < 0.25:
            chosen[self.rng.randrange(size)] = self.rng.choice(tables)
        self.pool = {f"i{at}": each for at, each in enumerate(chosen)}
        self.links = {pair: self.rng.choice(LINKS) for pair in combinations(self.pool, 2)}

    def members(self) -> list[str]:
        """Several queries; some are there twice."""
        made = [self.member() for _ in range(self.rng.randint(3, 7))]
        return made + [each for each in made if self.rng.random() < 0.2]

    def member(self) -> str:
        """One query over some of the items."""
        families = Families(self.rng, self.schema)
        names = self.items()
        streams = [name for name in names if self.pool[name].is_stream]
        conditions = self.conditions(names, families)
        bounded = self.rng.choice(["maxwindow", "maxwindow", "maxwindow", "range", "rows"])
        text = f"SELECT {', '.join(f'{name}.k AS {name}k' for name in names)} FROM "
        text += ", ".join(self.from_item(name, bounded) for name in names)
        if conditions:
            text += f" WHERE {' AND '.join(conditions)}"
        if bounded == "maxwindow":
            text += f" MAXWINDOW {self.rng.choice(WINDOWS)}"
        return text + self.window(streams)

    def items(self) -> list[str]:
        while True:
            names = self.rng.sample(list(self.pool), self.rng.randint(2, len(self.pool)))
            if any(self.pool[name].is_stream for name in names):
                return names

    def conditions(self, names: Sequence[str], families: Families) -> list[str]:
        found = []
        for pair in combinations(sorted(names), 2):
            link = self.links[pair] if self.rng.random() < 0.9 else self.rng.choice(LINKS)
            numbers = {"n": self.rng.choice(["0", "1", "2.5"]), "f": self.rng.choice(["0.5", "2"])}
            found += [link.format(a=pair[0], b=pair[1], **numbers)] if link else []
        found += [families.atom(self.pool[name], name) for name in names if self.rng.random() < 0.3]
        if self.rng.random() < 0.15:
            one, two = self.rng.sample(list(names), 2)
            found.append(f"({one}.k = {two}.k OR {one}.k IS NULL OR {two}.k > 1)")
        return found

    def window(self, streams: Sequence[str]) -> str:
        if len(streams) < 2 or self.rng.random() < 0.6:
            return ""
        one, two = self.rng.sample(list(streams), 2)
        return self.rng.choice(
            [
                f" WINDOW {one}.ts <= {two}.ts",
                f" WINDOW {one}.ts <= {two}.ts",
                f" WINDOW {two}.ts - {one}.ts <= 1 SEC",
                f" WINDOW {one}.ts BETWEEN {two}.ts AND {two}.ts + 2 SEC",
                f" WINDOW {one}.ts = {two}.ts",
                f" WINDOW {one}.ts < {two}.ts AND {two}.ts < {one}.ts",  # never
            ]
        )

    def from_item(self, name: str, bounded: str) -> str:
        relation = self.pool[name]
        text = f"{relation.name} AS {name}"
        if not relation.is_stream:
            return text
        if bounded == "rows":
            return f"{text} [ROWS {self.rng.randint(1, 3)}]"
        if bounded == "range" or self.rng.random() < 0.15:
            return f"{text} [RANGE {self.rng.choice(WINDOWS)}]"
        return text
