"""The queries of a service as a table that is searched, sorted and cut into pages here, not by whoever looks.

What changes with every micro-batch (results, cost) is read once for all queries and kept for a moment: with a hundred thousand of
them that takes a fraction of a second, so it is not done again before twenty times as long has passed. Sorting and searching work on
that copy, in another thread than the engine's.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.serve.registry import results_per_second

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.serve.registry import Entry, Place
    from cqc.runtime.serve.service import Service
    from cqc.runtime.serve.views.prices import Price, Prices

SORTS = (
    "name", "kind", "owner", "age", "results", "invoked", "rate", "cost", "alone", "shared", "kept",
)  # fmt: skip
KINDS = ("push", "pull", "every", "stopped")
_LEAST_S, _TIMES = 0.5, 20.0  # how long a copy is kept: at least, and times what it took
_NUMBERS = {"age", "results", "invoked", "rate", "cost", "alone", "shared", "kept"}


@dataclass(
    slots=True
)  # not frozen: making a frozen one costs three times as much, and there may be a hundred thousand
class QueryRow:
    """One query with its figures."""

    entry: Entry
    cost_seconds: float
    alone_seconds: float | None  # None: not measured yet
    shared_with: int
    kept_bytes: int
    results_per_second: float


@dataclass(frozen=True, slots=True)
class Page:
    """Some queries, how many match what was searched for, and how many there are in all."""

    rows: Sequence[QueryRow]
    matching: int
    total: int


@dataclass(frozen=True, slots=True)
class Measured:
    """What only the engine knows of queries, by name: work that was measured, bytes that are kept; who shares which joins."""

    seconds: dict[str, float]
    kept: dict[str, int]
    join_mates: dict[str, int]  # by operator: the queries at the same join node

    @staticmethod
    def of(service: Service) -> Measured:
        """In the engine's thread; queries that only filter a stream have nothing of their own to measure."""
        entries = [each for each in service.registry if not each.stopped]
        names = [
            each.name for each in entries if each.place.host is not None or each.kind != "push"
        ]
        engine = service.engine
        measured = engine.query_metrics(names)
        mates: dict[str, int] = {}
        for hosts in engine.hosts_together():
            operators = [f"join:{number}" for number in hosts]
            together = sum(map(service.registry.at, operators))
            mates |= dict.fromkeys(operators, together)
        return Measured(
            {name: each.seconds for name, each in measured.items()},
            {name: each.kept_bytes for name, each in measured.items()},
            mates,
        )


@dataclass(frozen=True, slots=True)
class _Common:
    """What the queries at one place have in common: the accounts of their streams, their price, how many others there are."""

    seconds: float
    batches: int
    tuples: int
    price: Price | None
    shared_with: int


class QueryTable:
    """A copy of the figures of all queries, and what is made of it."""

    def __init__(self, service: Service, prices: Prices) -> None:
        self._service = service
        self._prices = prices
        self._rows: list[QueryRow] = []
        self._texts: list[str] | None = (
            None  # what is searched, folded; made when somebody searches
        )
        self._numbers: dict[str, NDArray[np.float64]] = {}
        self._version = -1
        self._stale_at = 0.0
        self.cost_seconds = 0.0  # of all queries together
        self.alone_seconds = 0.0  # of those whose price is known
        self.priced_cost_seconds = 0.0  # what these cost now

    @property
    def is_stale(self) -> bool:
        """Whether the copy should be made anew."""
        return time.monotonic() >= self._stale_at or self._version != self._service.registry.version

    def copy(self, measured: Measured) -> None:
        """Read the figures of all queries, in any thread but one at a time."""
        started = time.monotonic()
        version = self._service.registry.version
        facts: dict[int, _Common] = {}
        rows = [self._row(entry, measured, started, facts) for entry in self._service.registry]
        if version != self._version:
            self._texts = None
        self._rows, self._numbers, self._version = rows, {}, version
        priced = [row for row in rows if row.alone_seconds is not None]
        self.cost_seconds = sum(row.cost_seconds for row in rows)
        self.priced_cost_seconds = sum(row.cost_seconds for row in priced)
        self.alone_seconds = sum(row.alone_seconds or 0.0 for row in priced)
        taken = time.monotonic() - started
        self._stale_at = time.monotonic() + max(_LEAST_S, _TIMES * taken)

    def row(self, name: str, measured: Measured) -> QueryRow:
        """One query.

        Raises:
            Refusal: when there is none of this name.
        """
        return self._row(self._service.registry.find(name), measured, time.monotonic(), {})

    def page(
        self,
        *,
        search: str = "",
        kinds: Sequence[str] = (),
        operator: str = "",
        sort: str = "",
        descending: bool = False,
        offset: int = 0,
        limit: int | None = None,
    ) -> Page:
        """Some of the queries, from the copy."""
        rows = self._rows
        wanted = self._wanted(search, kinds, operator)
        if sort in _NUMBERS:
            values = self._values(sort)[wanted]
            wanted = wanted[np.argsort(-values if descending else values, kind="stable")]
        elif sort:
            keys = [_text_key(rows[at].entry, sort) for at in wanted.tolist()]
            order = sorted(range(len(keys)), key=keys.__getitem__, reverse=descending)
            wanted = wanted[np.array(order, np.int64)]
        stop = None if limit is None else offset + limit
        picked = wanted[offset:stop].tolist()
        return Page([rows[at] for at in picked], len(wanted), len(rows))

    def top(self, sort: str, most: int) -> list[QueryRow]:
        """The queries with most of something."""
        return list(self.page(sort=sort, descending=True, limit=most).rows)

    def _wanted(self, search: str, kinds: Sequence[str], operator: str) -> NDArray[np.int64]:
        rows, words = self._rows, search.casefold().split()
        found: Sequence[int] = range(len(rows))
        if words:
            texts = self._folded_texts()
            found = [at for at in found if all(word in texts[at] for word in words)]
        if kinds:
            found = [at for at in found if _kind(rows[at].entry) in kinds]
        if operator:
            found = [at for at in found if _is_at(rows[at].entry, operator)]
        return np.fromiter(found, np.int64, len(found))

    def _folded_texts(self) -> list[str]:
        if self._texts is None:
            entries = [row.entry for row in self._rows]
            self._texts = [f"{each.name}\n{each.owner}\n{each.text}".casefold() for each in entries]
        return self._texts

    def _values(self, sort: str) -> NDArray[np.float64]:
        if sort not in self._numbers:
            made = (_number(row, sort) for row in self._rows)
            self._numbers[sort] = np.fromiter(made, np.float64, len(self._rows))
        return self._numbers[sort]

    def _row(
        self, entry: Entry, measured: Measured, now: float, facts: dict[int, _Common]
    ) -> QueryRow:
        """The figures of one query; `facts` holds what those at one place have in common."""
        place = entry.place
        common = facts.get(id(place))
        if common is None:
            common = facts[id(place)] = self._common(place, measured)
        joined = measured.seconds.get(entry.name, 0.0) if measured.seconds else 0.0
        cost = entry.own_seconds + common.seconds - entry.shared_from + joined
        price, alone = common.price, None
        if price is not None:
            batches = common.batches - entry.batches_from
            tuples = common.tuples - entry.tuples_from
            shared = batches * price.batch + tuples * price.tuple
            alone = max(entry.own_seconds + max(shared, joined), cost)
        kept = measured.kept.get(entry.name, 0) if measured.kept else 0
        rate = results_per_second(entry, now) if entry.recent else 0.0
        return QueryRow(entry, cost, alone, common.shared_with, kept, rate)

    def _common(self, place: Place, measured: Measured) -> _Common:
        registry, operator = self._service.registry, place.operator
        together = measured.join_mates.get(operator) or registry.at(operator)
        shared = max(together - 1, 0) if operator and self._service.is_sharing else 0
        return _Common(*registry.stand(place), self._prices.of(operator), shared)


def _kind(entry: Entry) -> str:
    return "stopped" if entry.stopped else entry.kind


def _is_at(entry: Entry, operator: str) -> bool:
    """Whether a node of the graph (`live_graph`) serves a query."""
    place, is_pull = entry.place, entry.kind != "push"
    kind, _, name = operator.partition(":")
    match kind:
        case "source" | "state":
            return fold(name) in place.streams
        case "filter":
            return (
                fold(name) in place.streams
                if place.host is not None
                else place.operator == fold(operator)
            )
        case "condition":
            return place.operator == f"join:{name}"
        case "history":
            return is_pull and place.operator == fold(name)
        case "deliver" if name.startswith("query:"):
            return entry.name == name.removeprefix("query:")
        case "deliver":
            end = name.removesuffix(":pull")
            return place.operator == fold(end) and is_pull == (end != name)
        case _:
            return place.operator == operator


def _text_key(entry: Entry, sort: str) -> str:
    if sort == "kind":
        return f"{_kind(entry)}\n{entry.name.casefold()}"
    if sort == "owner":
        return f"{entry.owner.casefold()}\n{entry.name.casefold()}"
    return entry.name.casefold()


def _number(row: QueryRow, sort: str) -> float:
    match sort:
        case "age":
            return -row.entry.created
        case "results":
            return row.entry.results
        case "invoked":
            return row.entry.invocations
        case "rate":
            return row.results_per_second
        case "cost":
            return row.cost_seconds
        case "alone":
            return row.alone_seconds or 0.0
        case "shared":
            return row.shared_with
        case _:
            return row.kept_bytes
