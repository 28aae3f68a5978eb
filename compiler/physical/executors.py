"""How a join node goes about its work, as data: the strategy and a query's hint choose it, the runtime builds it.

- `--join flat`: one n-ary join; with feedback a pair of tuples goes on only when what it must meet is there.
- `--join left-deep`, `--join bushy`: a tree with states between its joins; feedback suspends what nobody above asks for.
  With `--feedback demand` the tree keeps no states: the flat join goes in the tree's order.
- `--join "((A B) (C D))"`: that tree, for joins of just these streams; others are flat. A node may have any number of inputs:
  `((A B C) D)` keeps nothing between A, B and C, and `(A B C D)` is the flat join.
- `--join auto`: flat at first. While it runs, a shape that costs clearly less may take its place.
- `/*+ JOIN((A B) C) */` after SELECT: that tree for this query, at a join that only queries with the same hint share. It is
  followed under `--join auto`; any other `--join` comes before it.
- `--routing` forces the probe order of the flat join; it then wants no feedback unless that was asked for too.

    >>> executor_text(Tree(((0, 1), 2), feedback="off"), ["B", "T", "H"])
    'tree ((B T) H)'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.physical.strategy import shape_words
from cqc.compiler.physical.tree_shape import bushy, items_of, left_deep
from cqc.compiler.syntax.join_hint import move_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.graph.nodes import JoinHost, QueryNode
    from cqc.compiler.physical.strategy import Strategy
    from cqc.compiler.physical.tree_shape import Shape


@record
class Flat:
    """A new tuple meets the other items one after the other, in an order that adapts. Serves several hosts."""


@record
class Routed:
    """The flat join with its order chosen by a routing policy."""

    policy: str


@record
class OnDemand:
    """The flat join in the order of a tree; a pair goes on only when everything that it must meet is there."""

    shape: Shape
    measured: bool  # whether it may stop asking where that costs more than it saves


@record
class Tree:
    """Joins with states between them."""

    shape: Shape
    feedback: str
    nested_loops: bool = False


@record
class Rows:
    """A join with ROWS windows: it waits for the watermark, because only then the last k tuples are known."""


Executor = Flat | Routed | OnDemand | Tree | Rows
Hint = Union["Shape", str, None]  # of a query, over the items of its host


def hint_of(query: QueryNode, strategy: Strategy) -> Hint:
    """The shape that a query asks for in a comment, where the strategy leaves that to it."""
    if query.join_hint is None or strategy.join != "auto" or query.body.rows:
        return None
    return move_shape(query.join_hint, query.positions)


def choose_executor(host: JoinHost, strategy: Strategy, hint: Hint = None) -> Executor:
    """What answers a host, as the strategy and a hint want it."""
    tree = tree_of(host, hint if isinstance(hint, str) else strategy.join)
    if hint is not None and not isinstance(hint, str):
        tree = None if _is_flat(hint) else hint
    if tree is not None and strategy.feedback != "demand":
        return Tree(tree, strategy.feedback, strategy.nested_loops)
    is_routed = strategy.routing != "selectivity"
    wants_feedback = strategy.feedback not in (("off", "auto") if is_routed else ("off",))
    if wants_feedback and demand_pays_for(host):
        shape = tree or bushy(len(host.relations), host.equi_joins)
        return OnDemand(shape, measured=strategy.feedback == "auto")
    return Routed(strategy.routing) if is_routed else Flat()


def demand_pays_for(host: JoinHost) -> bool:
    """Whether some item meets two others, which meet each other, by two columns: else there is nothing to ask."""
    near: dict[int, dict[int, int]] = {}  # by item and other item, the item's column
    for edge in host.equi_joins:
        near.setdefault(edge.left_item, {})[edge.right_item] = edge.left_column
        near.setdefault(edge.right_item, {})[edge.left_item] = edge.right_column
    return any(
        columns[one] != columns[two]
        for columns in near.values()
        for one in columns
        for two in near[one]
        if two in columns
    )


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


def executor_text(executor: Executor, names: Sequence[str]) -> str:
    """The executor in words; `names` are those of the host's items."""
    match executor:
        case Flat():
            return "flat"
        case Routed(policy):
            return f"flat, order by {policy}"
        case OnDemand(shape, measured):
            when = ", while that pays" if measured else ""
            return f"flat on demand in the order {shape_text(shape, names)}{when}"
        case Tree(shape, feedback, _):
            told = "" if feedback == "off" else f", feedback {feedback}"
            return f"tree {shape_text(shape, names)}{told}"
        case Rows():
            return "flat with ROWS windows, when the watermark allows"


def shape_text(shape: Shape, names: Sequence[str]) -> str:
    """A shape as `--join` would write it."""
    if isinstance(shape, int):
        return names[shape]
    return f"({' '.join(shape_text(part, names) for part in shape)})"


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
