"""Which join answers a host: flat or a tree, with or without feedback. The strategy decides cost and never an answer.

- `--join flat`: one n-ary join; with feedback a pair of tuples goes on only when what it must meet is there.
- `--join left-deep`, `--join bushy`: a tree with states between its joins; feedback suspends what nobody above asks for.
  With `--feedback demand` the tree keeps no states: the flat join goes in the tree's order.
- `--join "((A B) (C D))"`: that tree, for joins of just these streams; others are flat. A node may have any number of inputs:
  `((A B C) D)` keeps nothing between A, B and C, and `(A B C D)` is the flat join.
- `--join auto`: flat at first. What other shapes would cost is worked out from the tuples that are there, now and then, and
  one that costs clearly less is taken (`shape_trials`).
- `/*+ JOIN((A B) C) */` after SELECT: that tree for this query, at a join that only queries with the same hint share. It is
  followed under `--join auto`; any other `--join` comes before it.
- `--routing` forces the probe order of the flat join; it then wants no feedback unless that was asked for too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from cqc.compiler.meaning.catalog import fold
from cqc.compiler.syntax.join_hint import move_shape
from cqc.runtime.join.execute.demand_join import DemandJoin
from cqc.runtime.join.execute.flat_join import MultiJoin
from cqc.runtime.join.execute.routed_join import RoutedJoin
from cqc.runtime.join.plan.tree_shape import bushy, items_of, left_deep
from cqc.runtime.join.tree.tree_join import JoinTree
from cqc.runtime.options import shape_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.compiler.graph.nodes import JoinHost, QueryNode
    from cqc.runtime.join.plan.tree_shape import Shape
    from cqc.runtime.options import Strategy
    from cqc.runtime.state.shared_state import SharedState


Hint = Union["Shape", str, None]  # of a query, over the items of its host


def hint_of(query: QueryNode, strategy: Strategy) -> Hint:
    """The shape that a query asks for in a comment, where the strategy leaves that to it."""
    if query.join_hint is None or strategy.join != "auto" or query.body.rows:
        return None
    return move_shape(query.join_hint, query.positions)


def make_join(
    host: JoinHost,
    states: Mapping[str, SharedState],
    strategy: Strategy,
    hint: Hint = None,
    *,
    plain: bool = False,
) -> MultiJoin:
    """The join of a host as the strategy and a hint want it; `plain`: the flat join, whatever they want."""
    join = MultiJoin(host, states) if plain else _join_of(host, states, strategy, hint)
    join.phases.order = strategy.order
    return join


def _join_of(
    host: JoinHost, states: Mapping[str, SharedState], strategy: Strategy, hint: Hint
) -> MultiJoin:
    tree = tree_of(host, hint if isinstance(hint, str) else strategy.join)
    if hint is not None and not isinstance(hint, str):
        tree = None if _is_flat(hint) else hint
    if tree is not None and strategy.feedback != "demand":
        loops = strategy.nested_loops
        return JoinTree(host, states, tree, feedback=strategy.feedback, nested_loops=loops)
    is_routed = strategy.routing != "selectivity"
    wants_feedback = strategy.feedback not in (("off", "auto") if is_routed else ("off",))
    if wants_feedback and DemandJoin.pays_for(host):
        shape = tree or bushy(len(host.relations), host.equi_joins)
        return DemandJoin(host, states, shape, measured=strategy.feedback == "auto")
    if is_routed:
        return RoutedJoin(host, states, strategy.routing)
    return MultiJoin(host, states)


def reshaped(
    join: MultiJoin,
    states: Mapping[str, SharedState],
    strategy: Strategy,
    shape: Shape | None,
) -> MultiJoin:
    """Another join in the place of one for a single host: of a shape, or (None) as `make_join` makes it first."""
    assert join.alone is not None
    host = join.alone.host
    if shape is None:
        new = make_join(host, states, strategy)
    else:
        new = JoinTree(host, states, shape, feedback=strategy.feedback)
    new.adopt(join)
    return new


def is_plain(host: JoinHost, strategy: Strategy) -> bool:
    """Whether the strategy has the plain flat join answer the host, which serves other hosts as well."""
    if tree_of(host, strategy.join) is not None or strategy.routing != "selectivity":
        return False
    return strategy.feedback == "off" or not DemandJoin.pays_for(host)


def tree_of(host: JoinHost, join: str) -> Shape | None:
    """The tree that `--join` names for a host; None where it wants no tree, or one of other relations."""
    count = len(host.relations)
    if join == "left-deep":
        return left_deep(count, host.equi_joins)
    if join == "bushy":
        return bushy(count, host.equi_joins)
    if not join.startswith("("):
        return None
    names = [fold(relation.name) for relation in host.relations]
    shape, _ = _shape(shape_words(join), names)
    written = [] if shape is None else sorted(items_of(shape))
    if shape is None or written != list(range(count)) or _is_flat(shape):
        return None
    return shape


def _is_flat(shape: Shape) -> bool:
    """Whether the shape is one node with all items, which the flat join is too; a tree of two is a tree."""
    return (
        not isinstance(shape, int)
        and len(shape) > 2
        and all(isinstance(each, int) for each in shape)
    )


def _shape(words: Sequence[str], names: Sequence[str]) -> tuple[Shape | None, Sequence[str]]:
    """The shape that the words begin with, and the words after it; None where a name is not among the names."""
    word, rest = words[0], words[1:]
    if word != "(":
        known = fold(word)
        # A relation that is there twice has no name of its own.
        return (names.index(known) if names.count(known) == 1 else None), rest
    parts: list[Shape | None] = []
    while rest[0] != ")":
        part, rest = _shape(rest, names)
        parts.append(part)
    known_parts = tuple(part for part in parts if part is not None)
    if len(known_parts) < len(parts):
        return None, rest[1:]
    return (known_parts[0] if len(parts) == 1 else known_parts), rest[1:]
