"""The queries of a service as its users see them: who registered them, when, what they gave and what they cost.

A query has a name that users choose and a number that is never given twice, so that results of a query that has gone are
not taken for those of another one of its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.serve.refusal import Refusal, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.bound import Query

PROGRAM = "program"  # the owner of the queries that the program brought


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
    shared_from: float = 0.0  # what a query's share of the common work was when this one came
    gone: bool = False  # unregistered or stopped, and everybody may know
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
        self._shared_seconds = 0.0

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
            raise Refusal(Status.NOT_FOUND, f"there is no query {name}")
        return entry

    def of(self, name: str) -> Entry:
        """The entry of a query that is known to run."""
        return self._by_name[fold(name)]

    def numbered(self, number: int) -> Entry | None:
        """The entry of a number, if it is still registered."""
        return self._by_number.get(number)

    def add(self, entry: Entry) -> None:
        entry.shared_from = self._shared_seconds
        self._by_name[fold(entry.name)] = entry
        self._by_number[entry.number] = entry
        self.next_number = max(self.next_number, entry.number + 1)

    def remove(self, entry: Entry) -> None:
        del self._by_name[fold(entry.name)], self._by_number[entry.number]

    def from_files(self) -> list[Entry]:
        """The entries that the program or a file of a folder brought, not clients."""
        return [entry for entry in self._by_name.values() if not entry.by_client]

    def owned_by(self, owner: str) -> list[Entry]:
        """The entries that the program or one file brought."""
        return [entry for entry in self.from_files() if entry.owner == owner]

    def share(self, seconds: float, results: Mapping[int, int]) -> None:
        """Divide the time of shared work: one part for each query, and one part for each result.

        Only queries that have results are looked at.
        """
        parts = len(self._by_name) + sum(results.values())
        if not parts or seconds <= 0.0:
            return
        self._shared_seconds += seconds / parts
        for number, count in results.items():
            self._by_number[number].own_seconds += count * seconds / parts

    def cost_seconds(self, entry: Entry) -> float:
        """What a query has cost without what the engine measured of it: the work for it alone, and its share of the rest."""
        return entry.own_seconds + self._shared_seconds - entry.shared_from


def kind_of(node: QueryNode | Query) -> str:
    """`push`, `pull` (asked), or `every` (asked by the engine itself, and by anybody else)."""
    if node.pull is None:
        return "push"
    return "pull" if node.pull.every_us is None else "every"


def columns_of(node: QueryNode | Query) -> tuple[tuple[str, str], ...]:
    """Names and types of a query's outputs."""
    return tuple((output.name, output.expression.type.value) for output in node.outputs)
