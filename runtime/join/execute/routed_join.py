"""The flat join with its probe order chosen by a routing policy (`routing.py`) instead of by itself.

The policy draws an order for each starting item every few packets and learns from what each item took and returned.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.runtime.adapt.routing import Lottery, order_by, policy_of
from cqc.runtime.adapt.settings import ITEM_ORDER
from cqc.runtime.join.plan.item_order import pairs_of
from cqc.runtime.metrics.parts import ProbeMetrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.graph.nodes import JoinHost
    from cqc.runtime.join.execute.executor import NodeContext
    from cqc.runtime.join.execute.metaqueues import MetaQueues
    from cqc.runtime.join.plan.routes import Branch
    from cqc.runtime.join.step.fused_probe import FusedProbe
    from cqc.runtime.join.step.probe_step import Rows
    from cqc.runtime.metrics.operators import JoinMetrics


class RoutedSteps:
    """Visits the other items as a policy says."""

    may_be_shared = False
    goes_through = False  # the policy learns from every level

    def __init__(self, host: JoinHost, routing: str) -> None:
        items = self._items = range(len(host.relations))
        self.orders: dict[int, tuple[int, ...]] = {}
        self._policies = {item: policy_of(routing, item) for item in items}
        self._pairs = pairs_of(host.equi_joins)
        self._packets = dict.fromkeys(items, 0)
        # By starting item: what each other item took and returned since the policy was told.
        self._seen: dict[int, dict[int, tuple[int, int]]] = {item: {} for item in items}
        for item in items:
            self._draw(item)

    def prepare(self, context: NodeContext) -> None:
        """The policies know nothing of slots."""

    def stored(self, item: int, first: int, stop: int) -> None:
        """Nothing is kept beside the tuples."""

    def started(self, item: int) -> None:
        """Tell the policy what the rows of a start met, and now and then draw another order."""
        for target, (probes, made) in self._seen[item].items():
            self._policies[item].learn(target, probes, made)
        self._seen[item].clear()
        self._packets[item] += 1
        if self._packets[item] % ITEM_ORDER.stretch == 0:
            self._draw(item)

    def extend(self, branch: Branch, rows: Rows, packet_first: int) -> Rows:
        """Take the step, and note what came of it."""
        probes = rows.count
        made = branch.level.extend(rows, packet_first)
        seen = self._seen[branch.level.bound_items[0]]
        target = branch.level.target.item
        taken, returned = seen.get(target, (0, 0))
        seen[target] = taken + probes, returned + made.count
        return made

    def go_through(
        self, through: FusedProbe, start: Rows, packet_first: int, queues: MetaQueues
    ) -> tuple[Rows, int] | None:
        """Each step is taken alone."""

    def purged(self, items: Sequence[int], before_us: int) -> None:
        """Nothing is kept beside the tuples."""

    def measured(self, found: JoinMetrics) -> JoinMetrics:
        """With the orders as they are, and the tickets."""
        probes = []
        for start, order in self.orders.items():
            policy = self._policies[start]
            tickets = policy.tickets if isinstance(policy, Lottery) else {}
            for place, item in enumerate(order):
                held = round(tickets[item]) if item in tickets else None
                probes.append(ProbeMetrics(start, item, place, held))
        return replace(found, probes=tuple(probes))

    def _draw(self, start: int) -> None:
        self.orders[start] = order_by(self._policies[start], start, self._items, self._pairs)
