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
from cqc.compiler.meaning.join_tree import all_exists
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.alerts import Alert
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.join_tree import Exists, JoinTree


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
    # These need the rows of a group.
    FIRST = "FIRST"
    LAST = "LAST"
    MAX_BY = "MAX_BY"
    MIN_BY = "MIN_BY"
    STDDEV_SAMP = "STDDEV_SAMP"
    STDDEV_POP = "STDDEV_POP"
    VAR_SAMP = "VAR_SAMP"
    VAR_POP = "VAR_POP"
    SKEWNESS = "SKEWNESS"
    KURTOSIS = "KURTOSIS"
    CORR = "CORR"
    COVAR_SAMP = "COVAR_SAMP"
    COVAR_POP = "COVAR_POP"
    MEDIAN = "MEDIAN"
    PERCENTILE = "PERCENTILE"
    PERCENTILE_CONT = "PERCENTILE_CONT"
    PERCENTILE_DISC = "PERCENTILE_DISC"
    MODE = "MODE"
    LISTAGG = "LISTAGG"
    COLLECT_LIST = "COLLECT_LIST"
    COLLECT_SET = "COLLECT_SET"
    APPROX_COUNT_DISTINCT = "APPROX_COUNT_DISTINCT"
    APPROX_PERCENTILE = "APPROX_PERCENTILE"
    USER = "USER"  # one that a user registered, by the name in `Aggregate.user`

    __hash__ = object.__hash__  # as in `ColumnType`

    @property
    def needs_rows(self) -> bool:
        """Whether it is made of the rows of a group, and not of partial aggregates."""
        return self not in _OF_PARTIALS


_OF_PARTIALS = frozenset(
    (
        AggregateFunction.COUNT_ALL,
        AggregateFunction.COUNT,
        AggregateFunction.SUM,
        AggregateFunction.AVG,
        AggregateFunction.MIN,
        AggregateFunction.MAX,
    )
)


class WindowKind(Enum):
    """The table functions that cut a stream into windows."""

    TUMBLE = "TUMBLE"
    HOP = "HOP"
    SESSION = "SESSION"


class OverFunction(Enum):
    """The functions that only OVER knows; aggregates are the others."""

    ROW_NUMBER = "ROW_NUMBER"
    RANK = "RANK"
    DENSE_RANK = "DENSE_RANK"
    LAG = "LAG"
    LEAD = "LEAD"
    FIRST_VALUE = "FIRST_VALUE"
    LAST_VALUE = "LAST_VALUE"
    NTH_VALUE = "NTH_VALUE"
    NTILE = "NTILE"
    PERCENT_RANK = "PERCENT_RANK"
    CUME_DIST = "CUME_DIST"


class EndKind(Enum):
    """Where a frame begins or ends, seen from the current row."""

    FIRST = "UNBOUNDED PRECEDING"
    BEFORE = "PRECEDING"
    CURRENT = "CURRENT ROW"
    AFTER = "FOLLOWING"
    LAST = "UNBOUNDED FOLLOWING"


class Decision(Enum):
    """What is made of the rows of a query that waits for the watermark, and so when a row is decided.

    GROUPS: the groups of a TUMBLE or HOP window, when it is past. SESSIONS: the same for sessions. COMPLETE: OVER over all rows
    of a window or an instant, when that is past. RUNNING: OVER over the rows up to the current one, when it is in order.
    ROWS: nothing; a row is delivered at once, in each of its windows. SESSION_ROWS: the rows of a session, when it is past.
    """

    GROUPS = "groups"
    SESSIONS = "sessions"
    COMPLETE = "complete"
    RUNNING = "running"
    ROWS = "rows"
    SESSION_ROWS = "session rows"


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
    """`CAST(operand AS type)`; a value that cannot be cast is NULL, and counted unless it `is_tried` (TRY_CAST).

    Also the implicit BIGINT -> DOUBLE.
    """

    operand: Expression
    type: ColumnType
    span: Span = field(compare=False, repr=False)
    is_tried: bool = False


@record
class FunctionCall:
    """A built-in scalar function by its name in the registry (`functions/registry.py`), never by an alias.

    There are more that no query calls by name: FIELD of a struct by its number, ITEM of an array or map, LAMBDA, the number of its first
    variable and a body in which VARIABLE has the values (the second variable, where there is one, has the next number); INSTANT, the instant of a numeric event-time column as a TIMESTAMP,
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
    """An aggregate over the rows of a group; occurs in outputs, HAVING and ORDER BY of pull queries only.

    FILTER (WHERE c) is part of the arguments: what does not count is NULL there (in `times`, where NULL is a value).
    """

    function: AggregateFunction
    argument: Expression | None  # None for COUNT(*)
    distinct: bool
    type: ColumnType
    span: Span = field(compare=False, repr=False)
    more: tuple[Expression, ...] = ()  # further arguments that differ from row to row
    times: tuple[Expression, ...] = ()  # event times of a row, where what is first or last matters
    order_by: tuple[Order, ...] = ()  # WITHIN GROUP
    ignores_null: bool = False
    share: float | None = None  # of a percentile
    accuracy: int = 10_000  # of an estimate
    separator: str = ""
    descends: bool = False  # WITHIN GROUP (ORDER BY x DESC) of a percentile
    user: str = ""  # the folded name of a user's own

    @property
    def name(self) -> str:
        """How it is called."""
        return self.user or self.function.value

    @property
    def inputs(self) -> tuple[Expression, ...]:
        """Everything that is worked out for each row, in a fixed order."""
        first = () if self.argument is None else (self.argument,)
        return (*first, *self.more, *self.times, *(order.expression for order in self.order_by))


@record
class FrameEnd:
    """An end of a frame. `amount` counts rows; by RANGE it is of the order key: microseconds where that is a time."""

    kind: EndKind
    amount: int | float = 0


@record
class Frame:
    """The rows around the current one that a function sees: by their number, or by the value of the one order key."""

    by_rows: bool
    start: FrameEnd
    end: FrameEnd


@record
class Over:
    """`function(arguments) OVER (PARTITION BY partition ORDER BY order frame)`.

    Exactly one of `function` and `aggregate` is given. `frame` is None where the function has none. With `by_time` the order is
    event time, then arrival, and frames are in microseconds. `children` does not give the aggregate, whose rows are those of the frame, but
    what it is made of.
    """

    function: OverFunction | None
    aggregate: Aggregate | None
    arguments: tuple[Expression, ...]
    partition: tuple[Expression, ...]
    order: tuple[Order, ...]
    by_time: bool
    frame: Frame | None
    type: ColumnType
    span: Span = field(compare=False, repr=False)


INSTANT = "instant"
FIELD = "field"
ITEM = "item"
LAMBDA = "lambda"
VARIABLE = "variable"
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
    | Over
)


@record
class TableWindow:
    """`TUMBLE(s, size)`, `HOP(s, slide, size)` or `SESSION(s PARTITION BY keys, size)`.

    Two columns stand after those of the relation: window_start and window_end, of `type`. With `after_start` a window holds its end
    and not its start.
    """

    kind: WindowKind
    slide_us: int
    size_us: int
    type: ColumnType
    keys: tuple[Expression, ...] = ()
    after_start: bool = False
    end_comes_late: bool = False  # rows at the end of a window come when the watermark is greater


@record
class Item:
    """One FROM item. `alias` is how the item is shown: its alias as written, or its name as written in FROM."""

    alias: str
    relation: Relation
    range_us: int | None
    rows: int | None
    span: Span = field(compare=False, repr=False)
    window: TableWindow | None = None

    def column_name(self, column: int) -> str:
        """The name of a column, those of windows included."""
        own = len(self.relation.columns)
        return self.relation.columns[column].name if column < own else WINDOW_COLUMNS[column - own]

    def column_path(self, column: int) -> tuple[str, ...]:
        """The names that lead to a column: its own, or that of the column it is in and those of fields."""
        own = len(self.relation.columns)
        return self.relation.path(column) if column < own else (WINDOW_COLUMNS[column - own],)


WINDOW_COLUMNS = ("window_start", "window_end")


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
    inherits: bool = False  # a view without BEGIN-END of its own: the window is that of its reader
    qualify: Expression | None = None
    grouping_sets: tuple[tuple[int, ...], ...] = ()  # the keys of each; none: all keys are in one


@record
class PassedEnd:
    """A window column that a view passes on, of `type`: its window ends `add_us` after its value.

    `is_late`: a row at the end comes when the watermark is greater.
    """

    column: int
    type: ColumnType
    add_us: int
    is_late: bool


@record
class Decided:
    """Everything that only a query with windows or OVER and without BEGIN-END has.

    `by` is the FROM item whose windows or event time say when rows are decided. `kept` are the conditions of WHERE that speak
    of window columns; the others hold for tuples and are the query's `where`.
    """

    decision: Decision
    by: int
    window: TableWindow | None
    kept: Expression | None
    distinct: bool
    group_by: tuple[Expression, ...]
    having: Expression | None
    qualify: Expression | None
    order_by: tuple[Order, ...]
    limit: int | None
    is_aggregate: bool
    waits_for_equals: bool  # rows of the same event time belong together
    key_idle_us: int | None = None
    ties_by_value: bool = False  # of the columns of a view: its rows have no order of arrival
    grouping_sets: tuple[tuple[int, ...], ...] = ()  # as in `Pull`
    end: PassedEnd | None = (
        None  # in the place of `window` where a view passes on the window column
    )

    @property
    def by_window(self) -> bool:
        """Whether rows are given out with the end of their window."""
        of_windows = self.decision is Decision.COMPLETE and not self.waits_for_equals
        of_groups = (Decision.GROUPS, Decision.SESSIONS, Decision.SESSION_ROWS)
        return self.decision in of_groups or of_windows

    @property
    def ends_late(self) -> bool:
        """Whether rows at the end of a window come when the watermark is greater, not when it has reached it."""
        if self.end is not None:
            return self.end.is_late
        return self.window is not None and self.window.end_comes_late

    @property
    def is_at(self) -> bool:
        """Whether rows are delivered with the instant they are for, as those of EVERY are."""
        return self.is_aggregate


JoinShape = Union[int, tuple["JoinShape", ...]]  # noqa: UP007  # a recursive alias needs the name as text


@record
class Destinations:
    """INTO and WITH of a query: names of sinks (none: results go where the command says), and texts of the user's own."""

    into: tuple[str, ...]
    texts: tuple[tuple[str, str], ...] = ()


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
    unbounded: bool = False  # MAXWINDOW UNBOUNDED: tuples may be kept for ever
    destinations: Destinations | None = None
    decided: Decided | None = None
    tree: JoinTree | None = None  # with outer joins: how the items come together; ON is there then
    exists: tuple[Exists, ...] = ()  # conjuncts of WHERE
    alert: Alert | None = None

    @property
    def has_absence(self) -> bool:
        """Whether some rows depend on what is not there."""
        return self.tree is not None or bool(self.exists)

    @property
    def all_items(self) -> tuple[Item, ...]:
        """The items of FROM and of every EXISTS, by number."""
        found = list(self.items)
        for each in all_exists(self.exists):
            found += [each.items[0]] * (each.first + len(each.items) - len(found))
            found[each.first : each.first + len(each.items)] = each.items
        return tuple(found)

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
            return expression.inputs
        case Over():
            inner = () if expression.aggregate is None else children(expression.aggregate)
            orders = tuple(order.expression for order in expression.order)
            return (*inner, *expression.arguments, *expression.partition, *orders)


def overs_in(*expressions: Expression | None) -> tuple[Over, ...]:
    """Each OVER in some expressions once; none is inside another."""
    found: dict[Over, None] = {}
    waiting = [each for each in reversed(expressions) if each is not None]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Over):
            found[part] = None
        else:
            waiting.extend(reversed(children(part)))
    return tuple(found)
