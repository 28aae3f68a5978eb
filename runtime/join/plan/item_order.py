"""In which order a new tuple meets the other items of a join. The order decides cost only.

Each step multiplies the partial combinations by its fan-out, so the smallest fan-out comes first. It is estimated from two
things: how many tuples of an item are within reach of the packet's event times just now, and which share of those within
reach was found when the item was met before. The first tells a lot at once: where H must come after B, a new B finds hardly
any H, whatever the conditions select, and the other items need not be asked at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from cqc.runtime.adapt import settings
from cqc.runtime.adapt.decision import Decision, figure
from cqc.runtime.adapt.measured_cost import MeasuredCost

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cqc.compiler.meaning.normal import EquiJoin

EVERY = settings.ITEM_ORDER.stretch  # what the packets that decide find is observed


class Access(Enum):
    """How an item is reached from what is bound: by key, compared by a theta condition, or by time alone."""

    KEY = "key"
    THETA = "theta"
    TIME = "time"


_FIRST_SHARE = {
    Access.THETA: settings.ITEM_THETA_SHARE,
    Access.TIME: settings.ITEM_TIME_SHARE,
}  # before anything was observed


@dataclass(slots=True)
class JoinOrder:
    """Decides for one starting item of a join.

    `edges` and `thetas` are the pairs of items that an equality or a theta condition connects.
    """

    start: int
    items: Sequence[int]
    edges: frozenset[tuple[int, int]]
    thetas: frozenset[tuple[int, int]]
    _shares: dict[tuple[int, Access], MeasuredCost] = field(default_factory=dict)
    _reach: Mapping[int, int] = field(default_factory=dict)
    chosen: tuple[int, ...] = ()  # lately

    def choose(
        self, within_reach: Mapping[int, int], taken: Collection[tuple[int, ...]] = ()
    ) -> tuple[int, ...]:
        """The other items, smallest fan-out first; `within_reach` is how many tuples of each could be met.

        `taken` are the ways that others go, with everything before them: a step that is among them costs nothing more
        than another that is half as large, because it is done anyway.
        """
        self._reach = within_reach
        bound = [self.start]
        rest = [item for item in self.items if item != self.start]
        while rest:
            costs = {item: self._fan_out(bound, item, within_reach[item]) for item in rest}
            best = min(rest, key=lambda item: (costs[item], item))
            shared = [item for item in rest if (*bound, item) in taken]
            if shared:
                cheapest = min(shared, key=lambda item: (costs[item], item))
                if costs[cheapest] <= settings.ITEM_SHARED * costs[best]:
                    best = cheapest
            bound.append(best)
            rest.remove(best)
        self.chosen = tuple(bound[1:])
        return self.chosen

    def observe(self, bound: Sequence[int], item: int, probes: int, found: int) -> None:
        """Learn from a step of the packet that was just decided about: `probes` rows found so many partners."""
        key = (item, self.access(bound, item))
        share = found / (probes * max(self._reach.get(item, 0), 1))
        known = self._shares.get(key)
        if known is None:
            rule = settings.ITEM_ORDER
            self._shares[key] = MeasuredCost(share, rule.newest, rule.spike)
        else:
            known.saw(share)

    def decision(self, about: str, names: Sequence[str]) -> Decision | None:
        """In which order items of these names are met, as it was last chosen; None where there was nothing to choose."""
        if len(self.chosen) < 2:
            return None
        met, found = [self.start], []
        for item in self.chosen:
            found.append(figure(self._fan_out(met, item, self._reach.get(item, 0))))
            met.append(item)
        order = ", then ".join(names[item] for item in self.chosen)
        does = f"lets new tuples of {names[self.start]} meet {order}"
        return Decision(about, does, note=f"each finds {', then '.join(found)}")

    def access(self, bound: Sequence[int], item: int) -> Access:
        """How an item is reached when `bound` are there."""
        pairs = [(min(item, other), max(item, other)) for other in bound]
        if any(pair in self.edges for pair in pairs):
            return Access.KEY
        return Access.THETA if any(pair in self.thetas for pair in pairs) else Access.TIME

    def _fan_out(self, bound: Sequence[int], item: int, reach: int) -> float:
        access = self.access(bound, item)
        share = self._shares.get((item, access))
        if share is not None:
            return share.each * reach
        return min(1.0, reach) if access is Access.KEY else _FIRST_SHARE[access] * reach


def pairs_of(equi_joins: Sequence[EquiJoin]) -> frozenset[tuple[int, int]]:
    """The pairs of items that some equality connects."""
    return frozenset(
        (min(edge.left_item, edge.right_item), max(edge.left_item, edge.right_item))
        for edge in equi_joins
    )
