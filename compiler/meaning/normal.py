"""A query after the rewrites: every condition classified by what can answer it.

The conditions of WHERE and WINDOW, with NOT pushed down, constants folded and AND flattened, fall into five classes:

- *attribute* conditions speak of one FROM item: they become that item's `Formula` over atoms of single columns;
- *equi-joins* `s1.c1 = s2.c2`;
- *theta joins*, one comparison, linear in one column of each side;
- *window* conditions between event times, which become `TimeBounds`;
- *residuals*, everything else, evaluated by expression on what survives.

Only "is TRUE" matters for a condition, so a formula is AND/OR over atoms that are TRUE or not; NULL needs no third value.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record

if TYPE_CHECKING:
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.absence import Pattern
    from cqc.compiler.meaning.alerts import Alert
    from cqc.compiler.meaning.bound import (
        ComparisonOp,
        Decided,
        Destinations,
        Expression,
        Item,
        JoinShape,
        Output,
        PatternKind,
        Pull,
    )
    from cqc.compiler.meaning.types import ColumnType

Value = int | float | str | bool


@record
class Interval:
    """Values between `low` and `high` in the order of the column's type; None is no limit on that side.

    The order of DOUBLE has NaN above Infinity, so `x > 5` (high None) holds for NaN and `x < 5` does not; -0.0 and 0.0
    are the same value. Limits have the column's own type: a BIGINT column has int limits (`x < 2.5` is x <= 2).
    """

    low: Value | None
    low_closed: bool
    high: Value | None
    high_closed: bool


@record
class ValueAtom:
    """TRUE where the column's value is in one of the intervals (sorted, disjoint, none touching the next).

    `x = 5` is one closed interval, IN a list of points, `x <> 5` two intervals, `x IS NOT NULL` one without limits,
    `x IS NULL` none with `matches_null`.
    """

    column: int
    type: ColumnType
    intervals: tuple[Interval, ...]
    matches_null: bool = False


@record
class PatternAtom:
    """TRUE where the text matches the pattern, or with `negated` where it does not; for NULL only with `matches_null`."""

    column: int
    kind: PatternKind
    pattern: str
    escape: str
    negated: bool
    matches_null: bool = False


@record
class FoldedAtom:
    """TRUE where the text in lower case is one of these (sorted), or with `negated` none of them; for NULL only with `matches_null`."""

    column: int
    texts: tuple[str, ...]
    negated: bool
    matches_null: bool


@record
class NetAtom:
    """TRUE where the text is an address in one of the nets (sorted), or with `negated` where it is not; for NULL only with `matches_null`."""

    column: int
    nets: tuple[str, ...]
    negated: bool
    matches_null: bool


@record
class ExpressionAtom:
    """TRUE where an expression over columns of this item alone (its ColumnRefs have item 0) is TRUE, with `negated` where it is not."""

    expression: Expression
    negated: bool = False


@record
class ElementAtom:
    """TRUE where `element`, about column 0, is TRUE for some element of the array in the column; with `negated` where it is for none.

    `expression` says the same of whole rows, for what no index of elements can answer.
    """

    column: int
    element: ValueAtom | PatternAtom | FoldedAtom | NetAtom
    expression: Expression
    negated: bool = False


Atom = ValueAtom | PatternAtom | FoldedAtom | NetAtom | ElementAtom | ExpressionAtom


@record
class AllOf:
    """TRUE where every part is; without parts always TRUE."""

    parts: tuple[Formula, ...]


@record
class AnyOf:
    """TRUE where some part is; without parts never TRUE."""

    parts: tuple[Formula, ...]


Formula = Atom | AllOf | AnyOf
ALWAYS = AllOf(())
NEVER = AnyOf(())


@record
class EquiJoin:
    """`left = right`, one column of each of two items. Types are equal, or BIGINT with DOUBLE (compared as DOUBLE)."""

    left_item: int
    left_column: int
    right_item: int
    right_column: int


@record
class ThetaJoin:
    """`left_scale * left.column + left_offset  op  right_scale * right.column + right_offset`, as written.

    The linear form drives the index and may differ from `expression` in the last floating-point digits, so a probe by it
    is widened and what it finds is checked with `expression`. For finite values the difference is below 2**-48 of
    |left_scale * left| + |left_offset| + |right_scale * right| + |right_offset|; values that are not finite, and BIGINT
    overflow (NULL), need the check. With `exact` it does not: the linear form computed in DOUBLE, leaving out a scale of 1
    and an offset of 0 (so bare columns of one type are compared as they are), is the expression itself.
    """

    left_item: int
    left_column: int
    left_scale: float
    left_offset: float
    op: ComparisonOp
    right_item: int
    right_column: int
    right_scale: float
    right_offset: float
    exact: bool
    expression: Expression


@record
class Residual:
    """A condition over several items, evaluated on combinations that survive everything else."""

    expression: Expression
    items: tuple[int, ...]  # the FROM items it mentions, ascending


@record
class TimeBounds:
    """The closed difference-bound matrix of a query, over its FROM items.

    Rows and columns of tables hold None, the diagonal included; a stream's diagonal is 0.

    `most_us[i][j]` is the largest possible ts_j - ts_i in microseconds, or None when nothing bounds it. The matrix is
    exact for window conditions it absorbed: a combination is inside all of them iff it is inside the matrix.
    """

    most_us: tuple[tuple[int | None, ...], ...]
    contradictory: bool

    def keep_us(self, item: int) -> int | None:
        """How long after its own event time a tuple of the item can still meet a new one of another item."""
        limits = self.most_us[item]
        others = [limits[at] for at in range(len(limits)) if at != item and self._is_stream(at)]
        if any(limit is None for limit in others):
            return None
        return max((limit for limit in others if limit is not None), default=0)

    def _is_stream(self, item: int) -> bool:
        return self.most_us[item][item] is not None


@record
class NormalQuery:
    """A query whose conditions are classified.

    The conjunction of all its parts is exactly WHERE AND WINDOW AND the windows of the items (`ROWS` excepted, which stays
    in `items`).
    """

    name: str
    items: tuple[Item, ...]
    outputs: tuple[Output, ...]
    pull: Pull | None
    filters: tuple[Formula, ...]  # one per item
    equi_joins: tuple[EquiJoin, ...]
    theta_joins: tuple[ThetaJoin, ...]
    residuals: tuple[Residual, ...]
    bounds: TimeBounds
    span: Span = field(compare=False, repr=False)
    join_hint: str | JoinShape | None = None
    destinations: Destinations | None = None
    decided: Decided | None = None
    patterns: tuple[
        Pattern, ...
    ] = ()  # of a query with outer joins or EXISTS: its rows; all else is that of the first
    alert: Alert | None = None
