"""Which join answers a host: flat or a tree, with or without feedback. The strategy decides cost and never an answer.

- `--join flat`: one n-ary join; with feedback a pair of tuples goes on only when what it must meet is there.
- `--join left-deep`, `--join bushy`: a tree with states between its joins; feedback suspends what nobody above asks for.
  With `--feedback demand` the tree keeps no states: the flat join goes in the tree's order.
- `--join auto`: flat. It wins where combinations are rare, as in the clique joins of `cqc bench jit`. Where most partial
  combinations become results a tree makes each once, the flat join finds it again for every arrival, and the tree wins (the
  dense setting of that benchmark): `auto` does not measure that.
- `--routing` forces the probe order of the flat join; it then wants no feedback unless that was asked for too.
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
        loops = strategy.nested_loops
        return JoinTree(host, states, shape, feedback=strategy.feedback, nested_loops=loops)
    is_routed = strategy.routing != "selectivity"
    wants_feedback = strategy.feedback not in (("off", "auto") if is_routed else ("off",))
    if wants_feedback and DemandJoin.pays_for(host):
        return DemandJoin(host, states, shape, measured=strategy.feedback == "auto")
    if is_routed:
        return RoutedJoin(host, states, strategy.routing)
    return MultiJoin(host, states)


def is_plain(host: JoinHost, strategy: Strategy) -> bool:
    """Whether the strategy has the plain flat join answer the host, which serves other hosts as well."""
    if strategy.join in ("left-deep", "bushy") or strategy.routing != "selectivity":
        return False
    return strategy.feedback == "off" or not DemandJoin.pays_for(host)


def shape_of(host: JoinHost, join: str) -> Shape:
    """The shape of the tree that `--join` names; bushy where it names none."""
    make = left_deep if join == "left-deep" else bushy
    return make(len(host.relations), host.equi_joins)
