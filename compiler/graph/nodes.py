"""What the shared graph is made of: queries, bodies, join hosts and families, and the operators one can draw.

The graph has two faces. The runtime reads *bodies* and *hosts*: what has to be answered, each thing once. People read
*operators* and edges: the picture that `picture.py` draws of the same facts.

- A **body** is everything of a query except its name, its outputs and its BEGIN-END clause. Queries with the same body
  share it, so they differ in delivery only.
- A body over one stream is answered by that stream's grouped filters. A body over several items sits on a **host**: the
  bodies over the same relations with the same equi-joins, which one multi-way join with one lineage answers together.
- Bodies of a host that differ only in the constant of one theta condition are a **family**, ordered by coverage: the
  rank of a pair's value among the thresholds says at once for which members the condition holds.

Items of a body are in *host order*: relations by folded name, the items of one relation in FROM order. A query keeps
`positions`, from its own FROM order to that order; everything in a body (filters, joins, bounds, ColumnRefs of residual
and theta expressions) already speaks of host positions, while `outputs` and `pull` of a query speak of FROM positions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.normal import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sortedcontainers import SortedKeyList

    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.absence import Pattern
    from cqc.compiler.meaning.alerts import Alert
    from cqc.compiler.meaning.bound import Decided, Destinations, Item, JoinShape, Output, Pull
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import EquiJoin, Formula, Residual, ThetaJoin, TimeBounds


@dataclass(slots=True, eq=False)
class Body:
    """What one or several queries ask, apart from how the answer is delivered.

    `number` is dense: the smallest free one is given, and a freed one is given again. Nothing here changes while the body
    lives except `users`. `rows` is () unless some item has ROWS; then it holds each item's k (or None), and `order` holds
    each item's position in FROM, which ROWS needs to order ties (bodies of another FROM order are then other bodies).
    """

    number: int
    relations: tuple[Relation, ...]
    filters: tuple[Formula, ...]  # one per item
    equi_joins: tuple[EquiJoin, ...]
    theta_joins: tuple[ThetaJoin, ...]  # sorted; the first is the one a family ranks
    residuals: tuple[Residual, ...]
    bounds: TimeBounds
    rows: tuple[int | None, ...]
    order: tuple[int, ...]
    host: JoinHost | None  # None for one stream alone
    family: Family | None
    users: dict[str, QueryNode] | QueryNode | None = field(repr=False)

    @property
    def queries(self) -> Iterator[QueryNode]:
        """The queries that this body answers, in the order they came."""
        users = self.users
        if isinstance(users, dict):
            yield from users.values()
        elif users is not None:
            yield users

    @property
    def can_match(self) -> bool:
        """False where a contradiction was found: nothing ever satisfies such a body, so nothing need be kept for it."""
        return NEVER not in self.filters and not self.bounds.contradictory

    @property
    def has_push(self) -> bool:
        return any(query.pull is None for query in self.queries)

    @property
    def has_pull(self) -> bool:
        return any(query.pull is not None for query in self.queries)


@dataclass(slots=True, eq=False)
class QueryNode:
    """One query in the graph: its name, its body, and how its answer is delivered."""

    name: str
    body: Body = field(repr=False)
    outputs: tuple[Output, ...]  # ColumnRef.item is a FROM position
    pull: Pull | None  # likewise
    positions: tuple[int, ...]  # FROM position -> host position
    items: tuple[Item, ...] = field(repr=False)  # by FROM position
    span: Span = field(repr=False)
    join_hint: str | JoinShape | None = None  # a kind of shape, or a tree of FROM positions
    destinations: Destinations | None = None  # None: where the command says
    decided: Decided | None = None  # likewise
    # Of a query with outer joins or EXISTS; its bodies are those of the patterns, and `body` is that of the first.
    patterns: tuple[Pattern, ...] = ()
    parts: tuple[Body, ...] = field(default=(), repr=False)
    alert: Alert | None = None

    @property
    def bodies(self) -> tuple[Body, ...]:
        """What is asked for it: one body, or with outer joins and EXISTS those of its patterns."""
        return self.parts or (self.body,)

    @property
    def relations(self) -> tuple[Relation, ...]:
        """Every stream and table that it reads."""
        found = {id(each): each for body in self.bodies for each in body.relations}
        return tuple(found.values())


class Direction(Enum):
    """Which side of its threshold a ranked theta condition keeps."""

    BELOW = "below"
    ABOVE = "above"


class ThresholdKind(Enum):
    """What the members of a predicate list differ in.

    OFFSET: all have `left op slope * right + c`; a pair's value is left - slope * right, the threshold is c.
    SLOPE: all have `left op b * right`; where right > 0 a pair's value is left / right and the threshold is b; where
    right < 0 the direction is the other one; where right = 0 all members agree (left op 0).
    """

    OFFSET = "offset"
    SLOPE = "slope"


@record
class PredicateList:
    """The shape shared by theta conditions that are ordered by coverage (Juggler's predicate list).

    `left_item < right_item`, and the left column's scale is 1 after dividing by it. A value computed from the shape may
    differ from the original in the last digits: within 1e-12 of the magnitudes involved (|left| + |slope * right| +
    |threshold|), and for values that are not finite, check with the theta join itself.
    """

    left_item: int
    left_column: int
    right_item: int
    right_column: int
    direction: Direction
    kind: ThresholdKind
    slope: float  # 0.0 for SLOPE


@record
class Member:
    """A member of a family: its body, with the threshold and whether equality is inside."""

    threshold: float
    closed: bool
    body: Body


@dataclass(slots=True, eq=False)
class Family:
    """Bodies of one host that are equal but for the threshold of their first theta join.

    `ranked` is in the order of coverage: by threshold, and of two equal ones below the strict comes first, above the one with
    equality. BELOW: a pair of value v satisfies exactly the members from its rank on; ABOVE: those before it.
    """

    number: int  # dense within its host
    predicate_list: PredicateList
    ranked: SortedKeyList[Member]

    @property
    def members(self) -> list[Body]:
        return [each.body for each in self.ranked]

    @property
    def thresholds(self) -> list[float]:
        return [each.threshold for each in self.ranked]

    @property
    def closed(self) -> list[bool]:
        return [each.closed for each in self.ranked]


@dataclass(slots=True, eq=False)
class JoinHost:
    """A multi-way join: the relations (host order), the equi-joins all its bodies have, and those bodies.

    `classes` are the sets of (item, column) that the equi-joins make equal, each sorted. `parent` is a host over more
    items that contains this one's relations and equi-joins: a picture of what could be served together.
    """

    number: int
    relations: tuple[Relation, ...]
    equi_joins: tuple[EquiJoin, ...]
    classes: tuple[tuple[tuple[int, int], ...], ...]
    bodies: dict[int, Body] = field(repr=False)  # by number
    families: dict[int, Family] = field(repr=False)  # by number
    parent: JoinHost | None = field(repr=False)

    @property
    def name(self) -> str:
        return f"join{self.number}"


@record
class Change:
    """What adding or removing a query did; for `remove` read "is new" as "is gone"."""

    query: QueryNode
    body_is_new: bool
    host_is_new: bool  # False for bodies without a host
    family_is_new: bool


# The picture


class OperatorKind(Enum):
    """The operators of the picture."""

    SOURCE = "Source"
    VIEW = "View"
    GROUPED_FILTER = "GroupedFilter"
    SHARED_STATE = "SharedState"
    MULTI_JOIN = "MultiJoin"
    RESIDUAL = "Residual"
    HISTORY = "History"
    ABSENCE = "Absence"
    AGGREGATE = "Aggregate"
    DECIDED = "Decided"
    ALERT = "Alert"
    DELIVER = "Deliver"


@record
class Operator:
    """One operator of the picture. `id` is made of its kind and what it works on, so it is the same in every run."""

    id: str
    kind: OperatorKind
    label: str  # what it works on: a stream, a column, relations, an expression, a query
    queries: int  # how many queries it serves
    detail: str = ""


@record
class Edge:
    """Data flows from `source` to `target` (operator ids); feedback flows the other way between joins."""

    source: str
    target: str
    feedback: bool = False
