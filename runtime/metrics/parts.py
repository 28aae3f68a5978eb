"""What was counted of the parts of an operator: the inputs of a join, its queues, phases and edges; the filters of a stream."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record

if TYPE_CHECKING:
    from collections.abc import Iterable


@record
class VisitMetrics:
    """One filter that packets of a stream visit: a column's, or a single condition."""

    name: str
    visits: int  # tuples
    skipped: int  # packets that had no tuple for it
    place: int  # in the order of visits, from 1
    tickets: int | None = None  # with `--routing lottery`


@record
class JoinInputMetrics:
    """One input of a join."""

    item: int
    relation: str
    probes: int  # partial combinations that looked for a tuple of it
    candidates: int  # tuples that an index offered
    found: int
    bytes: int


@record
class QueueMetrics:
    """The trains of one history: what its rows have met, and what they meet next."""

    met: tuple[str, ...]
    target: str
    trains: int
    rows: int
    waited: int  # of the rows
    threshold: int

    @property
    def name(self) -> str:
        return f"{' '.join(self.met)} -> {self.target}"


@record
class PhaseMetrics:
    """The attribute (A), join (J) or window (W) conditions of a join, where they are phases."""

    letter: str
    compared: int
    kept: int


@record
class StepOrderMetrics:
    """Steps that went through their phases in one order, with candidates from one structure."""

    order: str
    access: str
    steps: int


@record
class ProbeMetrics:
    """When tuples of one item meet another, where a policy decides that."""

    start: int
    target: int
    place: int  # from 0
    tickets: int | None = None


@record
class EdgeMetrics:
    """Rows, or pairs, that wait at one edge of a tree because nobody asks for them."""

    name: str
    suspended: int
    resumed: int
    blacklisted: int | None = None  # that wait now; not counted for pairs

    @property
    def is_of_pairs(self) -> bool:
        return self.blacklisted is None

    def plus(self, other: EdgeMetrics) -> EdgeMetrics:
        """Of both; what waits is what waits here."""
        return replace(
            self,
            suspended=self.suspended + other.suspended,
            resumed=self.resumed + other.resumed,
        )

    def gone(self) -> EdgeMetrics:
        """Of an edge that is no more: nothing waits."""
        return self if self.is_of_pairs else replace(self, blacklisted=0)


@record
class TreeWork:
    """What the joins of a tree made, and what they held back."""

    partial_results: int = 0
    candidates: int = 0
    edges: tuple[EdgeMetrics, ...] | None = None  # None: there is no feedback

    def plus(self, other: TreeWork) -> TreeWork:
        """Of both: `other` is that of trees that are no more."""
        edges = self.edges
        if other.edges is not None:
            edges = tuple(_added(edges or (), other.edges))
        return TreeWork(
            self.partial_results + other.partial_results,
            self.candidates + other.candidates,
            edges,
        )

    def gone(self) -> TreeWork:
        """Of a tree that is made anew."""
        edges = None if self.edges is None else tuple(each.gone() for each in self.edges)
        return replace(self, edges=edges)


def _added(edges: Iterable[EdgeMetrics], others: Iterable[EdgeMetrics]) -> Iterable[EdgeMetrics]:
    by_name: dict[str, EdgeMetrics] = {}
    for each in (*edges, *others):
        known = by_name.get(each.name)
        by_name[each.name] = each if known is None else known.plus(each)
    return by_name.values()
