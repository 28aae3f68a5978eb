"""The queries of a service as its users see them: who registered them, when, what they gave and what they cost.

Work that queries do in common is divided by stream: a micro-batch is paid for by the queries that read its streams, a part for each
of them and a part for each result, so queries over a quiet stream cost nothing while a busy one is worked on. What a stream has had
so far is an account; a query notes where the accounts of its streams stood when it came, and nothing is done for each query in turn.

A query has a name that users choose and a number that is never given twice, so that results of a query that has gone are
not taken for those of another one of its name.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.suggest import closest
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.serve.refusal import Refusal, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.bound import Query

PROGRAM = "program"  # the owner of the queries that the program brought
_MOST_COMPARED, _LONGEST_COMPARED = 2_000, 100  # names, and their letters
_RATE_S = 30.0  # results a second are told of about so long


@dataclass(slots=True)
class Account:
    """What one stream or table has had so far."""

    seconds: float = 0.0  # the part that each of its readers pays of common work
    batches: int = 0
    tuples: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a query sits in the graph: the streams and tables it reads (folded names), and its join (None: one stream)."""

    streams: tuple[str, ...] = ()
    first: str = ""  # the first that it speaks of, which may be a view
    host: int | None = None

    @property
    def operator(self) -> str:
        """What those have in common whose work is done together."""
        if self.host is not None:
            return f"join:{self.host}"
        return f"filter:{self.first}" if self.first else ""


NOWHERE = Place()


@dataclass(slots=True)
class Entry:
    """One registered query."""

    number: int
    name: str
    text: str
    owner: str  # as shown; clients may say anything here
    created: float  # seconds since the epoch
    kind: str
    columns: tuple[tuple[str, str], ...]  # names and types
    results: int = 0
    invocations: int = 0
    own_seconds: float = 0.0  # spent on this query alone: compiling, answering, its results
    place: Place = NOWHERE
    # The accounts of its streams, together, when it came.
    shared_from: float = 0.0
    batches_from: int = 0
    tuples_from: int = 0
    recent: float = 0.0  # results of late, each counting less as time goes by
    recent_at: float = 0.0  # by the clock that only goes up
    gone: bool = False  # unregistered or stopped, and everybody may know
    warnings: tuple[str, ...] = ()  # what its author should know
    by_client: bool = False  # registered by a request, so no file decides whether it stays
    stopped: str = (
        ""  # why the service no longer answers it; it stays in the list until it is unregistered
    )


class Registry:
    """The entries by name and by number, and what the work that all queries have in common costs each of them."""

    def __init__(self) -> None:
        self._by_name: dict[str, Entry] = {}
        self._by_number: dict[int, Entry] = {}
        self.next_number = 1
        self._accounts: dict[str, Account] = {}
        self._readers: Counter[str] = Counter()  # by stream or table
        self._at: Counter[str] = Counter()  # queries by the operator they share
        self._places: dict[Place, Place] = {}  # equal ones are one object
        self.version = 0  # of the set of queries

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[Entry]:
        return iter(list(self._by_name.values()))

    def __contains__(self, name: str) -> bool:
        return fold(name) in self._by_name

    def find(self, name: str) -> Entry:
        """The entry of a name.

        Raises:
            Refusal: when there is none.
        """
        entry = self._by_name.get(fold(name))
        if entry is None:
            raise Refusal(Status.NOT_FOUND, f"there is no query {name}{self._near(name)}")
        return entry

    def _near(self, name: str) -> str:
        """The name that was probably meant, where looking for it costs little."""
        if len(self._by_name) > _MOST_COMPARED or len(name) > _LONGEST_COMPARED:
            return ""
        meant = closest(name, (entry.name for entry in self))
        return "" if meant is None else f" (did you mean {meant}?)"

    def of(self, name: str) -> Entry:
        """The entry of a query that is known to run."""
        return self._by_name[fold(name)]

    def numbered(self, number: int) -> Entry | None:
        """The entry of a number, if it is still registered."""
        return self._by_number.get(number)

    def add(self, entry: Entry, place: Place = NOWHERE) -> None:
        """Take a query in; `place` is where it sits, nowhere for one that was stopped."""
        place = entry.place = self._places.setdefault(place, place)
        entry.shared_from, entry.batches_from, entry.tuples_from = self._stand(place)
        self._by_name[fold(entry.name)] = entry
        self._by_number[entry.number] = entry
        self._readers.update(place.streams)
        self._at[place.operator] += 1
        self.next_number = max(self.next_number, entry.number + 1)
        self.version += 1

    def remove(self, entry: Entry) -> None:
        del self._by_name[fold(entry.name)], self._by_number[entry.number]
        self.leave(entry)

    def leave(self, entry: Entry) -> None:
        """The query does no more work; what it has cost stays known."""
        entry.own_seconds += self._stand(entry.place)[0] - entry.shared_from
        self._readers.subtract(entry.place.streams)
        self._at[entry.place.operator] -= 1
        entry.place, entry.shared_from = NOWHERE, 0.0
        self.version += 1

    def from_files(self) -> list[Entry]:
        """The entries that the program or a file of a folder brought, not clients."""
        return [entry for entry in self._by_name.values() if not entry.by_client]

    def owned_by(self, owner: str) -> list[Entry]:
        """The entries that the program or one file brought."""
        return [entry for entry in self.from_files() if entry.owner == owner]

    def readers(self, stream: str) -> int:
        """How many queries read a stream or table (folded name)."""
        return self._readers[stream]

    def at(self, operator: str) -> int:
        """How many queries share an operator (`Place.operator`)."""
        return self._at[operator]

    def account(self, stream: str) -> Account:
        """What a stream or table (folded name) has had so far."""
        return self._accounts.setdefault(stream, Account())

    def share(self, seconds: float, results: Mapping[int, int], tuples: Mapping[str, int]) -> None:
        """Divide the time of shared work among the queries that read some streams: a part for each, and one for each result.

        Only queries that have results are looked at.

        Args:
            seconds: of work on one micro-batch.
            results: by number of the query.
            tuples: of the micro-batch, by folded stream name.
        """
        for name, count in tuples.items():
            account = self.account(name)
            account.batches += 1
            account.tuples += count
        parts = sum(self._readers[name] for name in tuples) + sum(results.values())
        if not parts or seconds <= 0.0:
            return
        part = seconds / parts
        for name in tuples:
            self.account(name).seconds += part
        for number, count in results.items():
            self._by_number[number].own_seconds += count * part

    def stand(self, place: Place) -> tuple[float, int, int]:
        """How the accounts of the streams at a place stand: seconds for each reader, micro-batches, tuples."""
        return self._stand(place)

    def cost_seconds(self, entry: Entry) -> float:
        """What a query has cost without what the engine measured of it: the work for it alone, and its share of the rest."""
        return entry.own_seconds + self._stand(entry.place)[0] - entry.shared_from

    def seen(self, entry: Entry) -> tuple[int, int]:
        """The micro-batches and tuples of its streams since a query came."""
        _, batches, tuples = self._stand(entry.place)
        return batches - entry.batches_from, tuples - entry.tuples_from

    def _stand(self, place: Place) -> tuple[float, int, int]:
        """How the accounts of some streams stand, together."""
        accounts = [self._accounts[name] for name in place.streams if name in self._accounts]
        if len(accounts) == 1:
            return accounts[0].seconds, accounts[0].batches, accounts[0].tuples
        return (
            sum(each.seconds for each in accounts),
            sum(each.batches for each in accounts),
            sum(each.tuples for each in accounts),
        )


def count_results(entry: Entry, count: int, now: float | None = None) -> None:
    """Let a query have so many results more."""
    now = time.monotonic() if now is None else now
    entry.results += count
    entry.recent = entry.recent * math.exp((entry.recent_at - now) / _RATE_S) + count
    entry.recent_at = now


def results_per_second(entry: Entry, now: float) -> float:
    """About how many results a second a query has had of late (`now` by the clock that only goes up)."""
    if not entry.recent:
        return 0.0
    return entry.recent * math.exp((entry.recent_at - now) / _RATE_S) / _RATE_S


def place_of(node: QueryNode) -> Place:
    """Where a query sits in the graph; one that reads a view pays for the streams beneath."""
    streams: dict[str, None] = {}
    for relation in node.relations:
        made_by = relation.made_by
        names = [fold(relation.name)] if made_by is None else [fold(base) for base in made_by.bases]
        streams |= dict.fromkeys(names)
    host = node.body.host
    first = fold(node.body.relations[0].name)
    return Place(tuple(streams), first, None if host is None else host.number)


def kind_of(node: QueryNode | Query) -> str:
    """`push`, `pull` (asked), or `every` (asked by the engine itself, and by anybody else)."""
    if node.pull is None:
        return "push"
    return "pull" if node.pull.every_us is None else "every"


def columns_of(node: QueryNode | Query) -> tuple[tuple[str, str], ...]:
    """Names and types of a query's outputs."""
    return tuple((output.name, output.expression.type.value) for output in node.outputs)
