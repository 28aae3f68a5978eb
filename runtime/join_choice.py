"""Which join answers a host: flat or a tree, with or without feedback. The strategy decides cost and never an answer.

--join flat        one n-ary join; with feedback a pair of tuples goes on only when what it must meet is there
--join left-deep   a tree with states between its joins; feedback suspends what nobody above asks for
--join bushy       the same, pairs first
--join auto        flat: on every measured workload it was at least as fast as a tree
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.operators.demand_join import DemandJoin
from cqc.runtime.operators.join_tree import JoinTree
from cqc.runtime.operators.multi_join import MultiJoin
from cqc.runtime.operators.routed_join import RoutedJoin
from cqc.runtime.operators.tree_shape import bushy, left_deep

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.compiler.graph.nodes import JoinHost
    from cqc.runtime.operators.shared_state import SharedState
    from cqc.runtime.operators.tree_shape import Shape
    from cqc.runtime.options import Strategy


def make_join(host: JoinHost, states: Mapping[str, SharedState], strategy: Strategy) -> MultiJoin:
    """The join of a host as the strategy wants it."""
    shape = shape_of(host, strategy.join)
    if strategy.join in ("left-deep", "bushy") and strategy.feedback != "demand":
        return JoinTree(host, states, shape, feedback=strategy.feedback)
    if strategy.feedback != "off" and DemandJoin.pays_for(host):
        return DemandJoin(host, states, shape, measured=strategy.feedback == "auto")
    if strategy.routing != "selectivity":
        return RoutedJoin(host, states, strategy.routing)
    return MultiJoin(host, states)


def shape_of(host: JoinHost, join: str) -> Shape:
    """The shape of the tree that `--join` names; bushy where it names none."""
    make = left_deep if join == "left-deep" else bushy
    return make(len(host.relations), host.equi_joins)
