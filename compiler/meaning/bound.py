"""What a query means: names resolved, types known, clauses checked.

This is the form on which the judges (the brute-force oracle and the emitted SQL), the rewrites and the runtime's
expression evaluator agree. Values are as in `types.py`: instants and durations are int microseconds, whatever the
user wrote. `Between`, simple CASE and JOIN .. ON are gone: they are comparisons, searched CASE and conjuncts of WHERE.

Numeric event time: a stream whose event-time column is BIGINT or DOUBLE counts seconds. Columns keep their value in
expressions, so durations meeting them in arithmetic or comparisons are numbers of seconds there (a DOUBLE literal, or
BIGINT when whole); `max_window_us`, `range_us`, `Instant` and delays are always microseconds.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Union

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.catalog import Relation


class ComparisonOp(Enum):
    """The six comparisons."""

    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="

    __hash__ = object.__hash__  # as in `ColumnType`

    @property
    def negated(self) -> ComparisonOp:
        """The comparison that is TRUE where this one is FALSE."""
        return _NEGATED[self]

    @property
    def flipped(self) -> ComparisonOp:
        """The comparison with its sides exchanged."""
        return _FLIPPED[self]


_NEGATED = {
    ComparisonOp.EQ: ComparisonOp.NE,
    ComparisonOp.NE: ComparisonOp.EQ,
    ComparisonOp.LT: ComparisonOp.GE,
    ComparisonOp.GE: ComparisonOp.LT,
    ComparisonOp.GT: ComparisonOp.LE,
    ComparisonOp.LE: ComparisonOp.GT,
}
_FLIPPED = {
    ComparisonOp.EQ: ComparisonOp.EQ,
    ComparisonOp.NE: ComparisonOp.NE,
    ComparisonOp.LT: ComparisonOp.GT,
    ComparisonOp.GT: ComparisonOp.LT,
    ComparisonOp.LE: ComparisonOp.GE,
    ComparisonOp.GE: ComparisonOp.LE,
}


class ArithmeticOp(Enum):
    """`/` always gives DOUBLE; the others keep BIGINT when both sides are BIGINT."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    MODULO = "%"


class PatternKind(Enum):
    """How a text pattern is matched."""

    LIKE = "LIKE"
    ILIKE = "ILIKE"
    RLIKE = "RLIKE"

    __hash__ = object.__hash__  # as in `ColumnType`


class AggregateFunction(Enum):
    """The aggregates; COUNT_ALL is COUNT(*)."""

    COUNT_ALL = "COUNT(*)"
    COUNT = "COUNT"
    SUM = "SUM"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"


@record
class Literal:
    """A constant; `value` is None for NULL (of any type)."""

    value: int | float | str | bool | None
    type: ColumnType
    span: Span = field(compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and TRUE are equal in Python, 0.0 equals -0.0 and NaN does not equal itself: none of that is wanted.
        if not isinstance(other, Literal) or self.type is not other.type:
            return False
        if isinstance(self.value, float) and isinstance(other.value, float):
            return self.value.hex() == other.value.hex()
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((self.type, self.value if self.value == self.value else "NaN"))


@record
class ColumnRef:
    """Column number `column` of FROM item number `item`."""

    item: int
    column: int
    type: ColumnType
    span: Span = field(compare=False, repr=False)


@record
class Arithmetic:
    """`left op right`.

    Both BIGINT -> BIGINT (overflow NULL); a mix is done in DOUBLE; TIMESTAMP +/- INTERVAL -> TIMESTAMP; TIMESTAMP -
    TIMESTAMP -> INTERVAL; INTERVAL +/- INTERVAL, INTERVAL * or / a number -> INTERVAL.
    """

    op: ArithmeticOp
    left: Expression
    right: Expression
    type: ColumnType
    span: Span = field(compare=False, repr=False)


@record
class Negate:
    """`-operand`."""

    operand: Expression
    type: ColumnType
    span: Span = field(compare=False, repr=False)


@record
class Comparison:
    """`left op right`; the types are equal, or both numeric (then compared as DOUBLE when they differ), or one is NULL."""

    left: Expression
    op: ComparisonOp
    right: Expression
    span: Span = field(compare=False, repr=False)
    type: ColumnType = ColumnType.BOOLEAN


@record
class And:
    """Three-valued AND of two or more operands, flattened."""

    operands: tuple[Expression, ...]
    span: Span = field(compare=False, repr=False)
    type: ColumnType = ColumnType.BOOLEAN


@record
class Or:
    """Three-valued OR of two or more operands, flattened."""

    operands: tuple[Expression, ...]
    span: Span = field(compare=False, repr=False)
    type: ColumnType = ColumnType.BOOLEAN


@record
class Not:
    """Three-valued NOT."""

    operand: Expression
    span: Span = field(compare=False, repr=False)
    type: ColumnType = ColumnType.BOOLEAN


@record
class InList:
    """`operand IN (values)`: the values are any expressions of a comparable type (NOT IN is Not(InList))."""

    operand: Expression
    values: tuple[Expression, ...]
    span: Span = field(compare=False, repr=False)
    type: ColumnType = ColumnType.BOOLEAN


@record
class Match:
    """`operand LIKE|ILIKE|RLIKE pattern`; the pattern is a constant text (None for NULL). NOT LIKE is Not(Match)."""

    kind: PatternKind
    operand: Expression
    pattern: str | None
    escape: str  # one character; a backslash unless ESCAPE said otherwise; unused by RLIKE
    span: Span = field(compare=False, repr=False)
    type: ColumnType = ColumnType.BOOLEAN


@record
class IsNull:
    """`operand IS NULL`, never NULL itself (IS NOT NULL is Not(IsNull))."""

    operand: Expression
    span: Span = field(compare=False, repr=False)
    type: ColumnType = ColumnType.BOOLEAN


@record
class IsTruth:
    """`operand IS TRUE` or `IS FALSE`, never NULL itself."""

    operand: Expression
    value: bool
    span: Span = field(compare=False, repr=False)
    type: ColumnType = ColumnType.BOOLEAN


@record
class IsDistinct:
    """`left IS DISTINCT FROM right`, never NULL itself."""

    left: Expression
    right: Expression
    span: Span = field(compare=False, repr=False)
    type: ColumnType = ColumnType.BOOLEAN


@record
class Case:
    """Searched CASE: the first branch whose condition is TRUE; values are already of `type` (casts added)."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression  # a NULL literal where the user wrote no ELSE
    type: ColumnType
    span: Span = field(compare=False, repr=False)


@record
class Cast:
    """`CAST(operand AS type)`; a value that cannot be cast is NULL and counted. Also the implicit BIGINT -> DOUBLE."""

    operand: Expression
    type: ColumnType
    span: Span = field(compare=False, repr=False)


@record
class FunctionCall:
    """A built-in scalar function by its name in the registry (`functions/registry.py`), never by an alias.

    There are four more that no query calls by name: INSTANT, the instant of a numeric event-time column as a TIMESTAMP,
    and MATCH_CALLS, pattern matches (text, pattern, escape) whose pattern is not written out. One that is becomes a Match.
    """

    name: str
    arguments: tuple[Expression, ...]
    type: ColumnType
    span: Span = field(compare=False, repr=False)


@record
class UserCall:
    """A registered user function by its folded name."""

    name: str
    arguments: tuple[Expression, ...]
    type: ColumnType
    span: Span = field(compare=False, repr=False)


@record
class Aggregate:
    """An aggregate over the rows of a group; occurs in outputs, HAVING and ORDER BY of pull queries only."""

    function: AggregateFunction
    argument: Expression | None  # None for COUNT(*)
    distinct: bool
    type: ColumnType
    span: Span = field(compare=False, repr=False)


INSTANT = "instant"
MATCH_CALLS = {kind.value.lower(): kind for kind in PatternKind}

Expression = (
    Literal
    | ColumnRef
    | Arithmetic
    | Negate
    | Comparison
    | And
    | Or
    | Not
    | InList
    | Match
    | IsNull
    | IsTruth
    | IsDistinct
    | Case
    | Cast
    | FunctionCall
    | UserCall
    | Aggregate
)


@record
class Item:
    """One FROM item. `alias` is how the item is shown: its alias as written, or its name as written in FROM."""

    alias: str
    relation: Relation
    range_us: int | None
    rows: int | None
    span: Span = field(compare=False, repr=False)


@record
class Instant:
    """An end of BEGIN-END: `NOW + offset_us` when `from_now`, else the fixed instant `offset_us` (both microseconds)."""

    from_now: bool
    offset_us: int
    exclusive: bool


@record
class Output:
    """One output column."""

    name: str
    expression: Expression


@record
class Order:
    """One ORDER BY key with its NULL placement decided."""

    expression: Expression
    descending: bool
    nulls_first: bool


@record
class Pull:
    """Everything that only a query with BEGIN-END has."""

    begin: Instant
    end: Instant
    every_us: int | None
    distinct: bool
    group_by: tuple[Expression, ...]
    having: Expression | None
    order_by: tuple[Order, ...]
    limit: int | None
    is_aggregate: bool  # has GROUP BY or an aggregate anywhere: rows are groups, not combinations


JoinShape = Union[int, tuple["JoinShape", ...]]  # noqa: UP007  # a recursive alias needs the name as text


@record
class Query:
    """A bound query. `where` and `window` are single conditions as written (ON conditions are part of `where`)."""

    name: str
    items: tuple[Item, ...]
    outputs: tuple[Output, ...]
    where: Expression | None
    window: Expression | None
    max_window_us: int | None
    pull: Pull | None
    span: Span = field(compare=False, repr=False)
    join_hint: str | JoinShape | None = None  # a kind of shape, or a tree of FROM positions

    @property
    def stream_items(self) -> tuple[int, ...]:
        """Positions of the FROM items that are streams."""
        return tuple(at for at, item in enumerate(self.items) if item.relation.is_stream)


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct operands of an expression."""
    match expression:
        case Literal() | ColumnRef():
            return ()
        case Arithmetic() | Comparison() | IsDistinct():
            return (expression.left, expression.right)
        case Negate() | Not() | Match() | IsNull() | IsTruth() | Cast():
            return (expression.operand,)
        case And() | Or():
            return expression.operands
        case InList():
            return (expression.operand, *expression.values)
        case Case():
            flat = tuple(part for branch in expression.branches for part in branch)
            return (*flat, expression.otherwise)
        case FunctionCall() | UserCall():
            return expression.arguments
        case Aggregate():
            return () if expression.argument is None else (expression.argument,)
