"""What the user wrote, with spans: the syntax tree of a program.

Nothing is resolved here: a name is a name, `6 SEC` is a duration with its number as written, and clauses that the
user left out are None. Spans do not take part in equality, so a formatted program parses to an equal tree.
"""

from __future__ import annotations

from dataclasses import field, fields, is_dataclass
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.types import ColumnType


@record
class Name:
    """An identifier as written (quotes removed)."""

    text: str
    span: Span = field(compare=False, repr=False)
    quoted: bool = False


# Expressions


@record
class NumberLiteral:
    """`12`, `1.5`, `1e-3`: the text as written; one with a point or an exponent is a DOUBLE."""

    text: str
    span: Span = field(compare=False, repr=False)


@record
class StringLiteral:
    """A single-quoted string, unescaped."""

    value: str
    span: Span = field(compare=False, repr=False)


@record
class BooleanLiteral:
    """TRUE or FALSE."""

    value: bool
    span: Span = field(compare=False, repr=False)


@record
class NullLiteral:
    """NULL."""

    span: Span = field(compare=False, repr=False)


@record
class TimestampLiteral:
    """`TIMESTAMP '2024-01-01 00:00:00'`; the text is checked by the binder."""

    text: str
    span: Span = field(compare=False, repr=False)


@record
class DateLiteral:
    """`DATE '2024-01-01'`; the text is checked by the binder."""

    text: str
    span: Span = field(compare=False, repr=False)


@record
class Duration:
    """`6 SEC`, `1.5h`, `INTERVAL '5' MINUTE`: the number as written and the microseconds of one unit."""

    number: str
    unit_us: int  # 0 where the unit has no fixed length
    span: Span = field(compare=False, repr=False)
    months: int = 0  # of one unit that has no fixed length


@record
class Parameter:
    """`:name`, a constant that gets its value before anything is bound."""

    name: str
    span: Span = field(compare=False, repr=False)


@record
class AnyColumn:
    """`ANY COLUMN` before LIKE and its kin: any of the STRING columns of the one FROM item."""

    span: Span = field(compare=False, repr=False)


@record
class Now:
    """NOW, which has a meaning only in BEGIN-END."""

    span: Span = field(compare=False, repr=False)


@record
class ColumnName:
    """`column` or `qualifier.column`; `fields` are the names after a second point."""

    qualifier: Name | None
    column: Name
    span: Span = field(compare=False, repr=False)
    fields: tuple[Name, ...] = ()


@record
class FieldOf:
    """`operand.name` of something that is no name."""

    operand: Expression
    name: Name
    span: Span = field(compare=False, repr=False)


@record
class Subscript:
    """`operand[index]`."""

    operand: Expression
    index: Expression
    span: Span = field(compare=False, repr=False)


@record
class Lambda:
    """`x -> body` or `(x, i) -> body`, an argument of some functions."""

    parameters: tuple[Name, ...]
    body: Expression
    span: Span = field(compare=False, repr=False)


@record
class DecimalLiteral:
    """`DECIMAL '1.5'`; the text is checked by the binder."""

    text: str
    span: Span = field(compare=False, repr=False)


@record
class Unary:
    """`-x`, `+x`, `~x` or `NOT x`; `operator` is `-`, `+`, `~` or `NOT`."""

    operator: str
    operand: Expression
    span: Span = field(compare=False, repr=False)


@record
class Binary:
    """`left operator right` with `+ - * / % DIV & | ^ = <> < <= > >= <=>` (`!=` is stored as `<>`, `==` as `=`)."""

    operator: str
    left: Expression
    right: Expression
    span: Span = field(compare=False, repr=False)


@record
class Logical:
    """An AND or OR chain, flattened through parentheses (thousands of operands are normal)."""

    operator: str  # AND or OR
    operands: tuple[Expression, ...]
    span: Span = field(compare=False, repr=False)


@record
class Between:
    """`operand [NOT] BETWEEN low AND high`."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool
    span: Span = field(compare=False, repr=False)


@record
class InList:
    """`operand [NOT] IN (values)`."""

    operand: Expression
    values: tuple[Expression, ...]
    negated: bool
    span: Span = field(compare=False, repr=False)


@record
class Like:
    """`operand [NOT] LIKE|ILIKE|RLIKE pattern [ESCAPE escape]`; `operator` is `LIKE`, `ILIKE` or `RLIKE`."""

    operator: str
    operand: Expression
    pattern: Expression
    escape: Expression | None
    negated: bool
    span: Span = field(compare=False, repr=False)


@record
class Is:
    """`operand IS [NOT] NULL|TRUE|FALSE`; `what` is `NULL`, `TRUE` or `FALSE`."""

    operand: Expression
    what: str
    negated: bool
    span: Span = field(compare=False, repr=False)


@record
class IsDistinct:
    """`left IS [NOT] DISTINCT FROM right`."""

    left: Expression
    right: Expression
    negated: bool
    span: Span = field(compare=False, repr=False)


@record
class Case:
    """`CASE [operand] WHEN .. THEN .. [ELSE ..] END`."""

    operand: Expression | None
    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None
    span: Span = field(compare=False, repr=False)


@record
class Cast:
    """`CAST(operand AS type)` or `operand::type`; TRY_CAST where it `is_tried`."""

    operand: Expression
    type: ColumnType
    span: Span = field(compare=False, repr=False)
    is_tried: bool = False


@record
class Call:
    """`name(arguments)`, an ordinary function, a user function or an aggregate; `star` for COUNT(*).

    `joined` is the word between two arguments where it is no comma: `position(a IN b)`, `extract(YEAR FROM t)`;
    BOTH, LEADING or TRAILING for `trim(BOTH a FROM b)`.
    """

    name: Name
    arguments: tuple[Expression, ...]
    star: bool
    distinct: bool
    span: Span = field(compare=False, repr=False)
    joined: str | None = None
    where: Expression | None = None  # FILTER (WHERE ...)
    within: tuple[OrderItem, ...] = ()  # WITHIN GROUP (ORDER BY ...)
    ignores_nulls: bool = False


@record
class FrameEnd:
    """An end of a frame: `kind` is UNBOUNDED, CURRENT or AT; `amount` is what stands before PRECEDING or FOLLOWING."""

    kind: str
    amount: Expression | None
    following: bool
    span: Span = field(compare=False, repr=False)


@record
class Exists:
    """`EXISTS (select)`; `word` is how it was written, which the binder checks."""

    word: Name
    select: Select
    span: Span = field(compare=False, repr=False)


@record
class Frame:
    """`ROWS|RANGE BETWEEN start AND end`; `ROWS start` ends at CURRENT ROW."""

    unit: str  # ROWS or RANGE
    start: FrameEnd
    end: FrameEnd
    span: Span = field(compare=False, repr=False)


@record
class Over:
    """`call OVER (PARTITION BY partition ORDER BY order_by frame)`."""

    call: Call
    partition: tuple[Expression, ...]
    order_by: tuple[OrderItem, ...]
    frame: Frame | None
    span: Span = field(compare=False, repr=False)


@record
class InSelect:
    """`operand [NOT] IN (select)`."""

    operand: Expression
    select: Select
    negated: bool
    span: Span = field(compare=False, repr=False)


@record
class Parenthesised:
    """`(inner)`, kept so that source text is exact; several pairs around one thing are one."""

    inner: Expression
    span: Span = field(compare=False, repr=False)


Expression = (
    NumberLiteral
    | StringLiteral
    | BooleanLiteral
    | NullLiteral
    | TimestampLiteral
    | DateLiteral
    | DecimalLiteral
    | FieldOf
    | Subscript
    | Lambda
    | Duration
    | Parameter
    | AnyColumn
    | Now
    | ColumnName
    | Unary
    | Binary
    | Logical
    | Between
    | InList
    | Like
    | Is
    | IsDistinct
    | Case
    | Cast
    | Call
    | Over
    | Exists
    | InSelect
    | Parenthesised
)

# Queries


@record
class Star:
    """`*` or `qualifier.*` in a SELECT list."""

    qualifier: Name | None
    span: Span = field(compare=False, repr=False)


@record
class SelectItem:
    """`expression [AS name]`."""

    expression: Expression
    name: Name | None
    span: Span = field(compare=False, repr=False)


def plain_column(item: SelectItem) -> ColumnName | None:
    """The column that an output is, with or without parentheses; None for any other expression."""
    inner = item.expression
    while isinstance(inner, Parenthesised):
        inner = inner.inner
    return inner if isinstance(inner, ColumnName) else None


@record
class TableFunction:
    """`TUMBLE(s, 10 SEC)` and the like: what stands around the relation.

    `words` are the names written before a `(` or the relation, `TABLE` included; `arguments` all that follows the relation, with
    the first expression of PARTITION BY in `key` (a comma does not tell keys from the arguments after them).
    """

    words: tuple[Name, ...]
    source_word: Name | None
    key: Expression | None
    arguments: tuple[Expression, ...]
    span: Span = field(compare=False, repr=False)


@record
class FromItem:
    """`relation [[AS] alias] [RANGE duration | ROWS n]`, or a relation inside a table function; with `query` it is `(query) [AS] alias`, and `relation` is the alias.

    A sub-query without a name has an empty one, which the binder reports.
    """

    relation: Name
    alias: Name | None
    range: Duration | None
    rows: NumberLiteral | None
    span: Span = field(compare=False, repr=False)
    query: Select | None = None
    function: TableFunction | None = None
    unnest: Unnest | None = None


@record
class Unnest:
    """`UNNEST(operand) [WITH ORDINALITY] [AS alias [(names)]]`: the rest of its FROM item."""

    operand: Expression
    ordinality: bool
    names: tuple[Name, ...]


@record
class WithEntry:
    """`name AS (query)` in WITH."""

    name: Name
    query: Select
    span: Span = field(compare=False, repr=False)


@record
class Join:
    """How an item comes to those before it: `kind` is `,` INNER LEFT RIGHT or FULL; a comma has no condition."""

    kind: str
    condition: Expression | None


@record
class WindowEnd:
    """`BEGIN [AFTER] instant` or `END [BEFORE] instant`."""

    instant: Expression
    exclusive: bool
    span: Span = field(compare=False, repr=False)


@record
class OrderItem:
    """`expression [ASC|DESC] [NULLS FIRST|LAST]`; `nulls_first` is None where the user did not say."""

    expression: Expression
    descending: bool
    nulls_first: bool | None
    span: Span = field(compare=False, repr=False)


@record
class GroupingSets:
    """`GROUPING SETS ((a, b), (a), ())` in GROUP BY."""

    sets: tuple[tuple[Expression, ...], ...]
    span: Span = field(compare=False, repr=False)


@record
class AlertClauses:
    """The clauses of a SELECT that CREATE ALERT has: PER, FOR, CLEAR WHEN, KEEP FIRING, ONCE EVERY, NO DATA AFTER.

    `first` is the one that comes first in the text, `span` its place.
    """

    per: tuple[SelectItem | Star, ...]
    hold: Duration | None
    clear: Expression | None
    keep: Duration | None
    once: Duration | None
    no_data: Duration | None
    first: str
    span: Span = field(compare=False, repr=False)


@record
class Select:
    """One SELECT with its clauses. `JOIN .. ON c` adds its item to `items` and c to `join_conditions`.

    With an outer join the conditions are in `joins` instead, one entry for each item after the first.
    `entries` is the WITH clause before it, `union` the other branches of a UNION ALL: clauses that are written once for the
    whole stay in the last branch here.
    """

    distinct: bool
    outputs: tuple[SelectItem | Star, ...]
    items: tuple[FromItem, ...]
    join_conditions: tuple[Expression, ...]
    where: Expression | None
    window: Expression | None
    max_window: Duration | None
    begin: WindowEnd | None
    end: WindowEnd | None
    every: Duration | None
    group_by: tuple[Expression | GroupingSets, ...]
    having: Expression | None
    order_by: tuple[OrderItem, ...]
    limit: NumberLiteral | None
    span: Span = field(compare=False, repr=False)
    entries: tuple[WithEntry, ...] = ()
    union: tuple[Select, ...] = ()
    unbounded: bool = False  # MAXWINDOW UNBOUNDED
    qualify: Expression | None = None
    joins: tuple[Join, ...] = ()
    alert: AlertClauses | None = None


# Statements


@record
class ColumnDeclaration:
    """`name TYPE` or `name TYPE FROM 'path'` in CREATE STREAM or CREATE TABLE."""

    name: Name
    type: ColumnType
    path: StringLiteral | None
    span: Span = field(compare=False, repr=False)


@record
class Watermark:
    """`WATERMARK FOR column AS column - delay`; the right side is kept as an expression for the binder to check."""

    column: Name
    definition: Expression
    span: Span = field(compare=False, repr=False)


@record
class SecretValue:
    """`ENV('NAME')` or `FILE('path')` as the value of an option: where to find it, never what it is."""

    place: Name
    text: str
    span: Span = field(compare=False, repr=False)


OptionValue = StringLiteral | NumberLiteral | BooleanLiteral | SecretValue


@record
class Option:
    """`key = 'value'` in WITH (...)."""

    key: Name
    value: OptionValue
    span: Span = field(compare=False, repr=False)


@record
class CreateRelation:
    """CREATE STREAM or CREATE TABLE."""

    is_stream: bool
    name: Name
    columns: tuple[ColumnDeclaration, ...]
    watermarks: tuple[Watermark, ...]
    options: tuple[Option, ...]
    span: Span = field(compare=False, repr=False)


@record
class CreateQuery:
    """`CREATE QUERY name INTO sinks WITH (texts) AS select`, or a bare SELECT (name is None).

    `CREATE ALERT name SEVERITY text INTO sinks AS select WITH (texts)` is one too: an alert is a query in all else.
    """

    name: Name | None
    select: Select
    span: Span = field(compare=False, repr=False)
    into: tuple[Name, ...] = ()
    options: tuple[Option, ...] = ()
    is_alert: bool = False
    severity: StringLiteral | None = None
    parameters: tuple[ParameterDeclaration, ...] = ()  # it is not delivered itself, then


@record
class ParameterDeclaration:
    """`name TYPE [= default]` of a query that has parameters."""

    name: Name
    type: ColumnType
    default: Expression | None
    span: Span = field(compare=False, repr=False)


@record
class Argument:
    """`name => value`."""

    name: Name
    value: Expression
    span: Span = field(compare=False, repr=False)


@record
class CreateInstance:
    """`CREATE QUERY name INTO sinks WITH (texts) AS template(name => value, ...)`."""

    name: Name
    template: Name
    arguments: tuple[Argument, ...]
    span: Span = field(compare=False, repr=False)
    into: tuple[Name, ...] = ()
    options: tuple[Option, ...] = ()


@record
class CreateSink:
    """`CREATE SINK name WITH (type = ..., ...)`."""

    name: Name
    options: tuple[Option, ...]
    span: Span = field(compare=False, repr=False)


@record
class CreateView:
    """`CREATE [OR REPLACE] VIEW name AS select`."""

    name: Name
    select: Select
    replaces: bool
    span: Span = field(compare=False, repr=False)


@record
class Drop:
    """`DROP QUERY name`, `DROP ALERT name` or `DROP VIEW name`; `what` is QUERY, ALERT or VIEW."""

    what: str
    name: Name
    span: Span = field(compare=False, repr=False)


@record
class Show:
    """`SHOW QUERIES | STREAMS | VIEWS | ALERTS | SINKS`."""

    what: str
    span: Span = field(compare=False, repr=False)


@record
class Describe:
    """`DESCRIBE name`."""

    name: Name
    span: Span = field(compare=False, repr=False)


@record
class SetOption:
    """`SET name = value`: RETENTION, IDLE, MAX_AHEAD and KEY_IDLE take durations."""

    name: Name
    value: Expression
    span: Span = field(compare=False, repr=False)


@record
class SetParameter:
    """`SET :name = value`: a parameter of the whole program."""

    name: str
    value: Expression
    span: Span = field(compare=False, repr=False)


Command = Drop | Show | Describe
Statement = (
    CreateRelation
    | CreateQuery
    | CreateView
    | CreateSink
    | SetOption
    | SetParameter
    | CreateInstance
    | Command
)


@record
class Program:
    """The statements of one file, in order.

    `broken` names what statements with mistakes would have declared, so that nobody reports these as missing.
    """

    statements: tuple[Statement, ...]
    broken: frozenset[str] = field(default=frozenset(), compare=False)


def nodes_of(root: object) -> Iterator[object]:
    """A node and all that it is made of, in the order of the fields."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple):
            waiting.extend(reversed(node))
        elif is_dataclass(node):
            yield node
            parts = [getattr(node, part.name) for part in fields(node) if part.name != "span"]
            waiting.extend(reversed(parts))
