"""LANGUAGE.md section 2 written as nested loops: what every query must answer.

Nothing here is clever. A push query is every combination of tuples, one of each FROM item, that passes the five rules;
a pull query is the same inside its BEGIN-END bounds, then grouped, ordered and cut as in SQL. Lateness is not here: who
asks leaves out the tuples that were late, and those that a push query never saw.

    data = Data({"s": [((1_000_000, 7), 0)]}, {})
    push_answer(query, data.streams, data.tables)   ->  [(1_000_000, (7,))]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key, partial
from itertools import product

from cqc.compiler.meaning import bound
from cqc.compiler.meaning.bound import ComparisonOp
from cqc.compiler.meaning.catalog import Relation, fold
from cqc.compiler.meaning.types import ColumnType
from tests.support.oracle.aggregates import aggregate, group_key
from tests.support.oracle.scalars import Row, Scope, Value, compare, evaluate, is_true

FusedInsert = tuple[Row, int]  # a tuple and its arrival number within the stream
Functions = Mapping[str, Callable[..., Value]]


@dataclass(frozen=True)
class Data:
    """The whole input, by folded name."""

    streams: Mapping[str, Sequence[FusedInsert]]
    tables: Mapping[str, Sequence[Row]] = field(default_factory=dict)


@dataclass(frozen=True)
class Tuple:
    """One tuple standing for one FROM item. Tuples of tables have no time."""

    row: Row
    ts_us: int | None = None
    arrival: int = 0


Combination = tuple[Tuple, ...]


def event_time_us(relation: Relation, row: Row) -> int:
    """The tuple's instant: numbers count seconds, and a DOUBLE is rounded to whole microseconds."""
    assert relation.event_time is not None
    value = row[relation.event_time]
    assert isinstance(value, int | float)
    if relation.time_type is ColumnType.TIMESTAMP:
        assert isinstance(value, int)
        return value
    return round(value * 1_000_000)


def push_answer(
    query: bound.Query,
    streams: Mapping[str, Sequence[FusedInsert]],
    tables: Mapping[str, Sequence[Row]],
    functions: Functions | None = None,
) -> list[tuple[int, Row]]:
    """All results with their result times, in result-time order (2.1)."""
    choices = [tuples(item, Data(streams, tables)) for item in query.items]
    answer = [
        (result_time_us(combination), project(query, combination, functions or {}))
        for combination in combinations(query, choices, functions or {})
        if inside_rows(query, combination, choices)
    ]
    return sorted(answer, key=lambda result: result[0])


def pull_answer(
    query: bound.Query,
    data: Data,
    at_us: int | None = None,
    functions: Functions | None = None,
) -> list[Row]:
    """The value of the query at an instant, the latest event time on its streams unless named (2.2)."""
    assert query.pull is not None
    now_us = latest_us(query, data) if at_us is None else at_us
    choices: list[list[Tuple]] = [[] for _ in query.items]
    if now_us is not None:
        choices = [
            inside_bounds(item, query.pull, tuples(item, data), now_us) for item in query.items
        ]
    scopes = [
        Scope([member.row for member in combination], functions=functions or {})
        for combination in combinations(query, choices, functions or {})
    ]
    if query.pull.is_aggregate:
        scopes = [scope for scope in groups(query, scopes) if is_true(query.pull.having, scope)]
    return finish(query, scopes)


def every_answers(
    query: bound.Query, data: Data, functions: Functions | None = None
) -> list[tuple[int, Row]]:
    """What EVERY delivers over the whole input: the answer at each instant, tagged with it (2.2)."""
    return [
        (at_us, row)
        for at_us in every_instants(query, data)
        for row in pull_answer(query, data, at_us, functions)
    ]


def every_instants(query: bound.Query, data: Data) -> list[int]:
    """The multiples of the period from the first event time seen up to the last."""
    assert query.pull is not None
    assert query.pull.every_us is not None
    times = times_us(query, data)
    if not times:
        return []
    every_us = query.pull.every_us
    first = -(-min(times) // every_us) * every_us
    return list(range(first, max(times) + 1, every_us))


def latest_us(query: bound.Query, data: Data) -> int | None:
    return max(times_us(query, data), default=None)


def times_us(query: bound.Query, data: Data) -> list[int]:
    return [
        event_time_us(item.relation, row)
        for item in query.items
        if item.relation.is_stream
        for row, _ in data.streams.get(fold(item.relation.name), [])
    ]


# Which combinations there are


def combinations(
    query: bound.Query, choices: Sequence[Sequence[Tuple]], functions: Functions
) -> list[Combination]:
    """Rules 1 to 3: one tuple of each item, all conditions TRUE, inside the windows."""
    return [
        combination
        for combination in product(*choices)
        if inside_windows(query, combination) and satisfies(query, combination, functions)
    ]


def tuples(item: bound.Item, data: Data) -> list[Tuple]:
    """Every tuple that can stand for the item."""
    name = fold(item.relation.name)
    if not item.relation.is_stream:
        return [Tuple(row) for row in data.tables.get(name, [])]
    return [
        Tuple(row, event_time_us(item.relation, row), arrival)
        for row, arrival in data.streams.get(name, [])
    ]


def satisfies(query: bound.Query, combination: Combination, functions: Functions) -> bool:
    scope = Scope([member.row for member in combination], functions=functions)
    return is_true(query.where, scope) and is_true(query.window, scope)


def inside_windows(query: bound.Query, combination: Combination) -> bool:
    times = [member.ts_us for member in combination if member.ts_us is not None]
    if query.max_window_us is not None and max(times) - min(times) > query.max_window_us:
        return False
    return all(
        item.range_us is None or member.ts_us is None or max(times) <= member.ts_us + item.range_us
        for item, member in zip(query.items, combination, strict=True)
    )


Place = tuple[int, int, int]  # event time, position of the item in FROM, arrival number


def inside_rows(
    query: bound.Query, combination: Combination, choices: Sequence[Sequence[Tuple]]
) -> bool:
    """Rule 4: each among the last k of its stream when the last of the combination arrived."""
    places = [place(position, member) for position, member in enumerate(combination)]
    last = max(found for found in places if found is not None)
    for position, item in enumerate(query.items):
        if item.rows is None:
            continue
        arrived = [place(position, member) for member in choices[position]]
        so_far = sorted(found for found in arrived if found is not None and found <= last)
        if places[position] not in so_far[-item.rows :]:
            return False
    return True


def place(position: int, member: Tuple) -> Place | None:
    """Where a tuple is in the order of rule 4; tuples of tables are nowhere."""
    return None if member.ts_us is None else (member.ts_us, position, member.arrival)


def inside_bounds(
    item: bound.Item, pull: bound.Pull, members: Sequence[Tuple], now_us: int
) -> list[Tuple]:
    """What BEGIN-END leaves of an item; [ROWS k] means the last k of what the END bound leaves."""
    if not item.relation.is_stream:
        return list(members)
    begun = [member for member in members if after(pull.begin, member, now_us)]
    ended = [member for member in members if before(pull.end, member, now_us)]
    if item.rows is not None:
        ended = sorted(ended, key=lambda member: (member.ts_us, member.arrival))[-item.rows :]
    return [member for member in ended if member in begun]


def after(begin: bound.Instant, member: Tuple, now_us: int) -> bool:
    assert member.ts_us is not None
    begin_us = begin.offset_us + (now_us if begin.from_now else 0)
    return begin_us < member.ts_us if begin.exclusive else begin_us <= member.ts_us


def before(end: bound.Instant, member: Tuple, now_us: int) -> bool:
    assert member.ts_us is not None
    end_us = end.offset_us + (now_us if end.from_now else 0)
    return member.ts_us < end_us if end.exclusive else member.ts_us <= end_us


# What becomes of them


def result_time_us(combination: Combination) -> int:
    return max(member.ts_us for member in combination if member.ts_us is not None)


def project(query: bound.Query, combination: Combination, functions: Functions) -> Row:
    scope = Scope([member.row for member in combination], functions=functions)
    return output_row(query, scope)


def output_row(query: bound.Query, scope: Scope) -> Row:
    return tuple(evaluate(output.expression, scope) for output in query.outputs)


def groups(query: bound.Query, scopes: Sequence[Scope]) -> list[Scope]:
    """One scope per group: its first combination stands for all, and the aggregates are known."""
    assert query.pull is not None
    grouped: dict[tuple[object, ...], list[Scope]] = {}
    if not query.pull.group_by:
        grouped[()] = []
    for scope in scopes:
        key = tuple(group_key(evaluate(part, scope)) for part in query.pull.group_by)
        grouped.setdefault(key, []).append(scope)
    return [summarise(query, members) for members in grouped.values()]


def summarise(query: bound.Query, members: Sequence[Scope]) -> Scope:
    values = {wanted: aggregate(wanted, members) for wanted in aggregates_of(query)}
    if not members:
        return Scope([None] * len(query.items), values)
    return Scope(members[0].rows, values, members[0].functions)


def aggregates_of(query: bound.Query) -> list[bound.Aggregate]:
    assert query.pull is not None
    roots = [output.expression for output in query.outputs]
    roots += [key.expression for key in query.pull.order_by]
    roots += [] if query.pull.having is None else [query.pull.having]
    return [found for root in roots for found in find_aggregates(root)]


def find_aggregates(expression: bound.Expression) -> list[bound.Aggregate]:
    if isinstance(expression, bound.Aggregate):
        return [expression]
    return [found for part in bound.children(expression) for found in find_aggregates(part)]


def finish(query: bound.Query, scopes: Sequence[Scope]) -> list[Row]:
    """DISTINCT, ORDER BY and LIMIT."""
    assert query.pull is not None
    keyed = [(order_keys(query.pull, scope), output_row(query, scope)) for scope in scopes]
    if query.pull.distinct:
        keyed = list(
            {tuple(map(group_key, row)): (keys, row) for keys, row in reversed(keyed)}.values()
        )[::-1]
    for position, key in reversed(list(enumerate(query.pull.order_by))):
        keyed.sort(key=cmp_to_key(partial(by_key, key, position)))
    return [row for _, row in keyed][: query.pull.limit]


Keyed = tuple[list[Value], Row]


def order_keys(pull: bound.Pull, scope: Scope) -> list[Value]:
    return [evaluate(key.expression, scope) for key in pull.order_by]


def by_key(key: bound.Order, position: int, one: Keyed, other: Keyed) -> int:
    """-1, 0 or 1 as the first comes before, with or after the other."""
    left, right = one[0][position], other[0][position]
    if left is None or right is None:
        here = (right is None) - (left is None)
        return here if key.nulls_first else -here
    direction = -1 if key.descending else 1
    if compare(ComparisonOp.LT, left, right):
        return -direction
    return direction if compare(ComparisonOp.GT, left, right) else 0
