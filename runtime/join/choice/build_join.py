"""From the plan of a join node to the node that runs: the one place that knows which class does which executor's work."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from cqc.compiler.diagnostics.record import record
from cqc.compiler.physical.executors import Flat, OnDemand, Routed, Rows, Tree
from cqc.runtime.join.execute.demand_join import DemandSteps
from cqc.runtime.join.execute.flat_join import FlatJoin
from cqc.runtime.join.execute.join_node import JoinNode
from cqc.runtime.join.execute.routed_join import RoutedSteps
from cqc.runtime.join.execute.rows_join import RowsJoin
from cqc.runtime.join.membership.membership import JoinMembership
from cqc.runtime.join.tree.tree_join import TreeJoin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.compiler.graph.nodes import Body, JoinHost
    from cqc.compiler.physical.executors import Executor
    from cqc.runtime.join.execute.executor import JoinExecutor
    from cqc.runtime.state.shared_state import SharedState


@record
class JoinOptions:
    """What all nodes of an engine have in common."""

    order: str = "adaptive"  # of the phases of a step (`--order`)
    one_at_a_time: bool = False  # no row waits for another (`--packet 1`)
    counts_only: bool = False  # nobody asks for rows, only how many there are


def build_join(
    host: JoinHost,
    executor: Executor,
    states: Mapping[str, SharedState],
    options: JoinOptions | None = None,
    body: Body | None = None,
) -> JoinNode:
    """The node of its first host; `body` is the only one of a node that serves one body alone."""
    options = options or JoinOptions()
    running = _executor(host, executor, options, body)
    return JoinNode(JoinMembership(host, states), running, options.order)


def _executor(
    host: JoinHost, executor: Executor, options: JoinOptions, body: Body | None
) -> JoinExecutor:
    one, counts = options.one_at_a_time, options.counts_only
    match executor:
        case Flat():
            return FlatJoin(one_at_a_time=one, counts_only=counts)
        case Routed(policy):
            return FlatJoin(RoutedSteps(host, policy), one_at_a_time=one, counts_only=counts)
        case OnDemand(shape, measured):
            steps = DemandSteps(host, shape, measured=measured)
            return FlatJoin(steps, one_at_a_time=one, counts_only=counts)
        case Tree(shape, feedback, nested_loops):
            return TreeJoin(host, shape, feedback=feedback, nested_loops=nested_loops)
        case Rows():
            assert body is not None
            return RowsJoin(body)
        case _:
            assert_never(executor)
