"""The flat join with its probe order chosen by a routing policy (`routing.py`) instead of by itself.

The policy draws an order for each starting item every few packets and learns from what each item took and returned.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.runtime.adapt.routing import Lottery, order_by, policy_of
from cqc.runtime.adapt.settings import ITEM_ORDER
from cqc.runtime.join.execute.flat_join import MultiJoin
from cqc.runtime.join.plan.item_order import pairs_of
from cqc.runtime.metrics.parts import ProbeMetrics

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import JoinHost
    from cqc.runtime.join.execute.results import JoinResults
    from cqc.runtime.join.plan.join_plan import JoinPlan
    from cqc.runtime.join.plan.routes import Branch
    from cqc.runtime.join.step.probe_step import Rows
    from cqc.runtime.metrics.operators import OperatorMetrics
    from cqc.runtime.state.shared_state import SharedState


class RoutedJoin(MultiJoin):
    """A multi-join that visits the other items as its policy says."""

    _goes_through = False  # the policy learns from every level

    def __init__(self, host: JoinHost, states: Mapping[str, SharedState], routing: str) -> None:
        super().__init__(host, states)
        items = range(len(host.relations))
        self._policies = {item: policy_of(routing, item) for item in items}
        self._pairs = pairs_of(host.equi_joins)
        self._packets = dict.fromkeys(items, 0)
        # By starting item: what each other item took and returned since the policy was told.
        self._seen: dict[int, dict[int, tuple[int, int]]] = {item: {} for item in items}
        for item in items:
            self._draw(item)

    def _draw(self, start: int) -> None:
        items = range(len(self._inputs))
        self._orders[start] = order_by(self._policies[start], start, items, self._pairs)

    def _start(
        self,
        plan: JoinPlan,
        item: int,
        lineage: NDArray[np.uint64],
        ts_us: NDArray[np.int64],
        first: int,
        packet_first: int,
        found: list[JoinResults],
        *,
        more: bool,
    ) -> None:
        super()._start(plan, item, lineage, ts_us, first, packet_first, found, more=more)
        for target, (probes, made) in self._seen[item].items():
            self._policies[item].learn(target, probes, made)
        self._seen[item].clear()
        self._packets[item] += 1
        if self._packets[item] % ITEM_ORDER.stretch == 0:
            self._draw(item)

    def _extend(self, branch: Branch, rows: Rows, packet_first: int) -> Rows:
        probes = rows.count
        made = super()._extend(branch, rows, packet_first)
        seen = self._seen[branch.level.bound_items[0]]
        target = branch.level.target.item
        taken, returned = seen.get(target, (0, 0))
        seen[target] = taken + probes, returned + made.count
        return made

    def measure(self) -> OperatorMetrics:
        """What the join did so far, with the orders as they are and the tickets."""
        probes = []
        for start, order in self._orders.items():
            policy = self._policies[start]
            tickets = policy.tickets if isinstance(policy, Lottery) else {}
            for place, item in enumerate(order):
                held = round(tickets[item]) if item in tickets else None
                probes.append(ProbeMetrics(start, item, place, held))
        return replace(self._join_metrics(), probes=tuple(probes))
