"""From the plan of a join node to the join: the one place that knows which class does which executor's work."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from cqc.compiler.physical.executors import Flat, OnDemand, Routed, Rows, Tree
from cqc.runtime.join.execute.demand_join import DemandJoin
from cqc.runtime.join.execute.flat_join import MultiJoin
from cqc.runtime.join.execute.routed_join import RoutedJoin
from cqc.runtime.join.tree.tree_join import JoinTree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.compiler.graph.nodes import JoinHost
    from cqc.compiler.physical.executors import Executor
    from cqc.runtime.state.shared_state import SharedState


def build_join(
    host: JoinHost, executor: Executor, states: Mapping[str, SharedState], order: str = "adaptive"
) -> MultiJoin:
    """The join of a node's first host; `order` is that of the phases of a step (`--order`)."""
    join: MultiJoin
    match executor:
        case Flat():
            join = MultiJoin(host, states)
        case Routed(policy):
            join = RoutedJoin(host, states, policy)
        case OnDemand(shape, measured):
            join = DemandJoin(host, states, shape, measured=measured)
        case Tree(shape, feedback, nested_loops):
            join = JoinTree(host, states, shape, feedback=feedback, nested_loops=nested_loops)
        case Rows():
            raise AssertionError("a join with ROWS windows serves one body and is made for it")
        case _:
            assert_never(executor)
    join.phases.order = order
    return join
