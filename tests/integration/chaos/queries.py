"""Queries whose right answers can be worked out here, in a few lines each, from the rows that have arrived.

An answer is a multiset of lines in one canonical form. Every line names the rows it is made of by their numbers, so that a line
which comes twice was given twice.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tests.integration.chaos.world import LABELS

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping

    from tests.integration.chaos.world import Row, World

Rows = "Mapping[str, Sequence[Row]]"
Answer = Counter[str]


def canonical(result: dict[str, Any]) -> str:
    return json.dumps(result, sort_keys=True)


class Query(Protocol):
    """A query with its text, and its right answer over some rows."""

    name: str

    @property
    def text(self) -> str: ...

    def answer(self, rows: Rows, reached: Mapping[str, float]) -> Answer:
        """All results.

        Args:
            rows: of each stream, those that count.
            reached: the instant before which a stream is over; only EVERY asks.
        """


@dataclass(frozen=True)
class Filter:
    """Rows of one stream above a value; with a low enough one, every row."""

    name: str
    stream: str
    above: float = -1.0
    tag: int = 0  # tells one text under this name from another

    @property
    def text(self) -> str:
        return f"SELECT n, {self.tag} AS tag FROM {self.stream} WHERE x > {self.above}"

    def answer(self, rows: Rows, reached: Mapping[str, float]) -> Answer:
        del reached
        return _push(
            self.name,
            (
                (row.ts, {"n": row.n, "tag": self.tag})
                for row in rows[self.stream]
                if row.x > self.above
            ),
        )


@dataclass(frozen=True)
class Labelled:
    """Rows of one stream with what a table says of them."""

    name: str
    stream: str

    @property
    def text(self) -> str:
        return f"SELECT s.n, t.label, s.name FROM {self.stream} s, t WHERE s.k = t.k"

    def answer(self, rows: Rows, reached: Mapping[str, float]) -> Answer:
        del reached
        return _push(
            self.name,
            (
                (row.ts, {"n": row.n, "label": LABELS[row.k], "name": row.name})
                for row in rows[self.stream]
                if row.k in LABELS
            ),
        )


@dataclass(frozen=True)
class Join:
    """Rows of two streams with one key that are close in time; `after` asks for the right one later than the left one."""

    name: str
    left: str
    right: str
    within: int
    above: float
    after: bool
    tag: int = 0

    @property
    def text(self) -> str:
        window = (
            f"WINDOW r.ts > l.ts MAXWINDOW {self.within} SEC"
            if self.after
            else f"MAXWINDOW {self.within} SEC"
        )
        return (
            f"SELECT l.n AS n, r.n AS m, {self.tag} AS tag FROM {self.left} l, {self.right} r"
            f" WHERE l.k = r.k AND l.x > {self.above} {window}"
        )

    def answer(self, rows: Rows, reached: Mapping[str, float]) -> Answer:
        del reached
        by_key: dict[int, list[Row]] = defaultdict(list)
        for row in rows[self.right]:
            by_key[row.k].append(row)
        return _push(
            self.name,
            (
                (max(left.ts, right.ts), {"n": left.n, "m": right.n, "tag": self.tag})
                for left in rows[self.left]
                if left.x > self.above
                for right in by_key[left.k]
                if abs(left.ts - right.ts) <= self.within and (not self.after or right.ts > left.ts)
            ),
        )


@dataclass(frozen=True)
class Every:
    """Groups of one stream, asked every so many seconds about a window that ends then."""

    name: str
    stream: str
    every: int
    window: int
    grouped: bool

    @property
    def text(self) -> str:
        key, group = ("k, ", " GROUP BY k") if self.grouped else ("", "")
        return (
            f"SELECT {key}COUNT(*) AS c, SUM(x) AS total FROM {self.stream}"
            f" BEGIN AFTER NOW - {self.window} END NOW EVERY {self.every} SEC{group}"
        )

    def answer(self, rows: Rows, reached: Mapping[str, float]) -> Answer:
        own = rows[self.stream]
        if not own:
            return Counter()
        first = -(-min(row.ts for row in own) // self.every) * self.every
        instants = itertools.takewhile(
            lambda at: at < reached[self.stream], itertools.count(first, self.every)
        )
        found: Answer = Counter()
        for at in instants:
            inside = [row for row in own if at - self.window < row.ts <= at]
            for shown in self._groups(inside):
                found[canonical({"query": self.name, "at": at, "row": shown})] += 1
        return found

    def _groups(self, inside: list[Row]) -> Iterator[dict[str, Any]]:
        if not self.grouped:
            total = sum(row.x for row in inside) if inside else None
            yield {"c": len(inside), "total": total}
            return
        for key in {row.k for row in inside}:
            own = [row for row in inside if row.k == key]
            yield {"k": key, "c": len(own), "total": sum(row.x for row in own)}


def _push(name: str, results: Iterator[tuple[int, dict[str, Any]]]) -> Answer:
    return Counter(canonical({"query": name, "ts": ts, "row": row}) for ts, row in results)


def make_queries(world: World, rng: random.Random) -> list[Query]:
    """A query that shows every row of each stream, and some others at random."""
    names = list(world.streams)
    made: list[Query] = [Filter(f"seen_{name}", name) for name in names]
    made += [
        Filter(f"high{number}", rng.choice(names), float(rng.randint(5, 18)))
        for number in range(rng.randint(1, 3))
    ]
    made.append(Labelled("labelled", rng.choice(names)))
    made += [make_join(f"both{number}", world, rng) for number in range(rng.randint(1, 2))]
    made += [make_every(f"counted{number}", world, rng) for number in range(rng.randint(1, 2))]
    return made


def make_join(name: str, world: World, rng: random.Random, tag: int = 0) -> Join:
    left, right = rng.sample(list(world.streams), 2)
    return Join(
        name,
        left,
        right,
        rng.choice((2, 10, 70)),
        float(rng.randint(8, 17)),
        rng.random() < 0.5,
        tag,
    )


def make_every(name: str, world: World, rng: random.Random) -> Every:
    every = rng.choice((2, 5))
    return Every(
        name, rng.choice(list(world.streams)), every, every * rng.randint(1, 3), rng.random() < 0.5
    )


def only_at_the_end(world: World) -> str:
    """Queries whose answer the end of the input decides: they are judged by an undisturbed run."""
    first, second = list(world.streams)[:2]
    return (
        f"CREATE QUERY last_rows AS SELECT l.n AS n, r.n AS m FROM {first} [ROWS 3] l, {second} [ROWS 2] r"
        " WHERE l.k = r.k;\n"
        f"CREATE QUERY closing AS SELECT COUNT(*) AS c, MAX(n) AS last FROM {first} BEGIN NOW - 600 END NOW;\n"
    )


DECIDED_AT_THE_END = ("last_rows", "closing")
