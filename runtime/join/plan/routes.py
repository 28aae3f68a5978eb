"""The ways of a new tuple through a join node: a tree of levels, one path for each host, shared from the start as far as it goes.

Each host's path visits its other items in an order of its own choice. Where hosts meet the same item by the same equalities
after the same items, they share the level: one probe, one predicate list, one lineage. A host whose last item is reached
leaves there with what it found; the partial combinations go on for the hosts that need more items (Juggler's chain, of which
a query over a subset of the streams leaves early).

    from H:  B (B x H leaves)      T (T x H leaves) - B (B x T x H leaves)      K - T - B (all four)

A single chain for all hosts would have to carry combinations past items that some hosts do not have, and join items by time
alone that a host compares with an item it meets later. So a host takes part in a level of others where that costs about
what its own choice does, and goes its own way else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.diagnostics.record import record
from cqc.runtime.join.step.fused_probe import FusedProbe, straight
from cqc.runtime.join.step.probe_step import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from numpy.typing import NDArray

    from cqc.runtime.join.membership.host import HostAtNode
    from cqc.runtime.join.plan.item_order import JoinOrder
    from cqc.runtime.join.step.probe_step import ProbeStep

Edge = tuple[
    int, int, int
]  # an equality with a bound item: item, its column, the column of the item that is added


@record
class Exit:
    """A host whose items are all bound: `places[k]` is where its k-th item is in a row."""

    part: HostAtNode
    mask: NDArray[np.uint64]  # the host's slots
    places: NDArray[np.int64]
    stream_places: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """A level, the hosts that leave after it, and where the others go on."""

    level: ProbeStep
    orders: tuple[JoinOrder, ...]  # of the hosts that come by
    exits: tuple[Exit, ...]
    children: tuple[Branch, ...]
    # Where the rows before are also of other hosts: the slots that come by, and room for the rows that have some.
    mask: NDArray[np.uint64] | None
    picked: Rows | None
    least_us: int  # how much earlier than the starting tuple the level's may be (negative), at most

    @property
    def hosts(self) -> frozenset[int]:
        """The numbers of the hosts that come by."""
        exits = [leaving for each in self.all_branches() for leaving in each.exits]
        return frozenset(leaving.part.host.number for leaving in exits)

    def all_branches(self) -> Iterator[Branch]:
        """This one and all that follow it."""
        yield self
        for child in self.children:
            yield from child.all_branches()


@record
class Routes:
    """All ways from one starting item."""

    start: Rows
    branches: tuple[Branch, ...]
    through: FusedProbe | None  # where there are no forks
    levels: tuple[ProbeStep, ...] = field(init=False)

    def __post_init__(self) -> None:
        found = [each.level for branch in self.branches for each in branch.all_branches()]
        object.__setattr__(self, "levels", tuple(found))


@record
class Traveller:
    """A host on its way from a starting item."""

    part: HostAtNode
    order: JoinOrder
    mask: NDArray[np.uint64]

    def edges(self, bound: Sequence[int], target: int) -> tuple[Edge, ...]:
        """The host's equalities between what is bound and the target."""
        found = []
        for edge in self.part.equi_joins:
            ends = (edge.left_item, edge.left_column), (edge.right_item, edge.right_column)
            for (item, column), (other, other_column) in (ends, ends[::-1]):
                if other == target and item in bound:
                    found.append((item, column, other_column))
        return tuple(found)


class RouteBuilder:
    """Makes the tree of levels for chosen orders; `make_level` gives a level and how early its tuples may be."""

    def __init__(
        self,
        words: int,
        make_level: Callable[
            [tuple[int, ...], int, tuple[Edge, ...], Sequence[HostAtNode]], tuple[ProbeStep, int]
        ],
    ) -> None:
        self._words = words
        self._make_level = make_level
        self._levels: dict[Hashable, tuple[ProbeStep, int]] = {}

    @property
    def levels(self) -> list[ProbeStep]:
        """Every level that was made."""
        return [level for level, _ in self._levels.values()]

    def build(self, start: int, paths: Sequence[tuple[Traveller, tuple[int, ...]]]) -> Routes:
        """The tree for travellers with the order of items that each has chosen."""
        branches = self._grow((start,), paths)
        whole = straight(branches)
        through = None if whole is None else FusedProbe(whole, self._words)
        return Routes(Rows(1, self._words), branches, through)

    def _grow(
        self, bound: tuple[int, ...], paths: Sequence[tuple[Traveller, tuple[int, ...]]]
    ) -> tuple[Branch, ...]:
        groups: dict[Hashable, list[tuple[Traveller, tuple[int, ...]]]] = {}
        for traveller, order in paths:
            if len(order) >= len(bound):
                target = order[len(bound) - 1]
                key = (target, traveller.edges(bound, target))
                groups.setdefault(key, []).append((traveller, order))
        return tuple(self._branch(bound, group, among=len(paths)) for group in groups.values())

    def _branch(
        self,
        bound: tuple[int, ...],
        group: list[tuple[Traveller, tuple[int, ...]]],
        among: int,
    ) -> Branch:
        first, order = group[0]
        target = order[len(bound) - 1]
        edges = first.edges(bound, target)
        parts = [traveller.part for traveller, _ in group]
        key = (bound, target, edges, tuple(part.host.number for part in parts))
        if key not in self._levels:
            self._levels[key] = self._make_level(bound, target, edges, parts)
        level, least_us = self._levels[key]
        bound = (*bound, target)
        narrows = len(group) < among
        mask = np.bitwise_or.reduce([traveller.mask for traveller, _ in group])
        return Branch(
            level,
            tuple(traveller.order for traveller, _ in group),
            tuple(
                _exit(traveller, bound)
                for traveller, order in group
                if len(order) + 1 == len(bound)
            ),
            self._grow(bound, group),
            mask if narrows else None,
            Rows(len(bound) - 1, self._words) if narrows else None,
            least_us,
        )


def _exit(traveller: Traveller, bound: tuple[int, ...]) -> Exit:
    part = traveller.part
    places = np.array([bound.index(item) for item in part.items], np.int64)
    streams = [at for at, each in enumerate(part.inputs) if each.state.relation.is_stream]
    return Exit(part, traveller.mask, places, places[streams])
