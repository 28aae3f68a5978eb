"""EXISTS over the whole past of one stream: which equalities say who is asked about, and when the past ends.

    EXISTS (SELECT 1 FROM logins o WHERE o.user = n.user AND o.ok WINDOW o.ts < n.ts)

Whether there was such a login is known from the smallest event time of each user with `ok`. That is enough where nothing but
equalities and upper bounds on its event time connects the item inside with those around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.absence import KeyPair
from cqc.compiler.meaning.bound import Comparison, ComparisonOp, Literal
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.rewrites.last_instants import edges_of_condition
from cqc.compiler.rewrites.mentioned_items import item_mask, items_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.meaning.bound import Expression, Item
    from cqc.compiler.meaning.join_tree import Exists
    from cqc.compiler.rewrites.last_instants import Edge


@record
class Keyed:
    """The keys, the conditions on the item inside alone, the bounds of its event time, and the streams they are against."""

    pairs: tuple[KeyPair, ...]
    inner: list[Expression]
    edges: list[Edge]
    watched: tuple[int, ...]


def may_have_keys(exists: Exists) -> bool:
    """Whether there is one stream inside, and nothing that bounds its past for all."""
    item = exists.items[0]
    is_alone = len(exists.items) == 1 and not exists.exists and isinstance(exists.tree, int)
    is_open = exists.max_window_us is None and item.range_us is None and item.rows is None
    return is_alone and is_open and item.relation.is_stream


def keys_of(conditions: Sequence[Expression], inside: int, items: Sequence[Item]) -> Keyed | None:
    """What the conditions of such a query come to; None where its past is bounded, its future is not, or they say more."""
    pairs: list[KeyPair] = []
    inner: list[Expression] = []
    edges: list[Edge] = []
    for condition in conditions:
        about = set(items_of(item_mask(condition)))
        if about <= {inside}:
            inner.append(condition)
            continue
        if inside not in about:
            yes = Literal(True, ColumnType.BOOLEAN, condition.span)
            pairs.append(KeyPair(condition, yes))
            continue
        bounds = edges_of_condition(condition, items)
        if bounds:
            if any(each.later != inside for each in bounds):
                return None
            edges += bounds
            continue
        pair = _pair(condition, inside)
        if pair is None:
            return None
        pairs.append(pair)
    if not edges:
        return None
    watched = tuple(sorted({each.earlier for each in edges}))
    return Keyed(tuple(pairs), inner, edges, watched)


def _pair(condition: Expression, inside: int) -> KeyPair | None:
    if not isinstance(condition, Comparison) or condition.op is not ComparisonOp.EQ:
        return None
    left, right = (set(items_of(item_mask(each))) for each in (condition.left, condition.right))
    if left == {inside} and inside not in right:
        return KeyPair(condition.right, condition.left)
    if right == {inside} and inside not in left:
        return KeyPair(condition.left, condition.right)
    return None
