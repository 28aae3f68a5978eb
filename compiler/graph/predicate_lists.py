"""Theta conditions ordered by coverage (Juggler's predicate lists).

Dividing by the left scale brings `scale * left + offset op scale * right + offset` to `left op slope * right + c`.
Conditions of one shape then differ in c alone, or, where c is 0, in the slope alone, and each covers the next.

    T.fluct < 0.5 * B.pressure  and  T.fluct < 0.7 * B.pressure    one list: below, by slope, thresholds 0.5 and 0.7
    A.x > B.x + 3               and  A.x >= B.x + 9                one list: above, by offset, thresholds 3 and 9
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sortedcontainers import SortedKeyList

from cqc.compiler.graph.nodes import Direction, Family, Member, PredicateList, ThresholdKind
from cqc.compiler.meaning.bound import ComparisonOp

if TYPE_CHECKING:
    from cqc.compiler.graph.nodes import Body
    from cqc.compiler.meaning.normal import ThetaJoin

Ranked = tuple[PredicateList, float, bool]


def rank_theta(join: ThetaJoin) -> Ranked | None:
    """The list a theta join belongs to, its threshold, and whether equality is inside; None for `=` and `<>`."""
    if join.op in (ComparisonOp.EQ, ComparisonOp.NE):
        return None
    op = join.op if join.left_scale > 0 else join.op.flipped
    slope = join.right_scale / join.left_scale
    offset = (join.right_offset - join.left_offset) / join.left_scale
    if not (math.isfinite(slope) and math.isfinite(offset)):
        return None
    below = op in (ComparisonOp.LT, ComparisonOp.LE)
    by_slope = offset == 0 and slope != 1
    shape = PredicateList(
        join.left_item,
        join.left_column,
        join.right_item,
        join.right_column,
        Direction.BELOW if below else Direction.ABOVE,
        ThresholdKind.SLOPE if by_slope else ThresholdKind.OFFSET,
        0.0 if by_slope else slope,
    )
    closed = op in (ComparisonOp.LE, ComparisonOp.GE)
    return shape, slope if by_slope else offset + 0.0, closed


def new_family(number: int, shape: PredicateList) -> Family:
    """A family without members, for one predicate list."""
    key = _key_above if shape.direction is Direction.ABOVE else _key_below
    return Family(number, shape, SortedKeyList(key=key))


def _key_below(member: Member) -> tuple[float, bool]:
    return member.threshold, member.closed


def _key_above(member: Member) -> tuple[float, bool]:
    return member.threshold, not member.closed


def insert_member(family: Family, body: Body, threshold: float, *, closed: bool) -> None:
    """Put a body where its threshold belongs."""
    family.ranked.add(Member(threshold, closed, body))


def remove_member(family: Family, body: Body, threshold: float, *, closed: bool) -> None:
    """Take a body out again."""
    family.ranked.remove(Member(threshold, closed, body))
