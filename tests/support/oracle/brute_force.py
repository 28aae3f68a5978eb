"""LANGUAGE.md section 2 written as nested loops: what every query must answer.

Nothing here is clever. A push query is every combination of tuples, one of each FROM item, that passes the five rules;
a pull query is the same inside its BEGIN-END bounds, then grouped, ordered and cut as in SQL. Lateness is not here: who
asks leaves out the tuples that were late, and those that a push query never saw.

    data = Data({"s": [((1_000_000, 7), 0)]}, {})
    push_answer(query, data.streams, data.tables)   ->  [(1_000_000, (7,))]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cmp_to_key, partial
from itertools import product

from cqc.compiler.meaning import bound
from cqc.compiler.meaning.bound import ComparisonOp
from cqc.compiler.meaning.catalog import Relation, fold
from cqc.compiler.meaning.types import ColumnType
from tests.support.oracle.absence import Absence, Made, Member
from tests.support.oracle.aggregates import aggregate, group_key
from tests.support.oracle.alerts import Told, told
from tests.support.oracle.nested import unnested, with_fields
from tests.support.oracle.over import over_values
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
    """All results with their result times, in result-time order (2.1).

    Those of an alert have its state, `since` in microseconds and the count before the outputs.
    """
    if query.alert is not None:
        return [
            (each.ts_us, (each.state, each.since_us, each.count, *each.row))
            for each in alert_answer(query, Data(streams, tables), functions)
        ]
    if query.decided is not None:
        return decided_answer(query, query.decided, Data(streams, tables), functions or {})
    if query.has_absence:
        return absence_answer(query, Data(streams, tables), functions or {})
    choices = [tuples(item, Data(streams, tables), functions) for item in query.items]
    answer = [
        (result_time_us(combination), project(query, combination, functions or {}))
        for combination in combinations(query, choices, functions or {})
        if inside_rows(query, combination, choices)
    ]
    return sorted(answer, key=lambda result: result[0])


def alert_answer(
    query: bound.Query,
    data: Data,
    functions: Functions | None = None,
    dropped_us: int | None = None,
) -> list[Told]:
    """What an alert tells of the whole input, or of what is decided where it is dropped (8.1)."""
    assert query.alert is not None
    observed = []
    for member in tuples(query.items[0], data, functions):
        assert member.ts_us is not None
        past = dropped_us is not None and (
            member.ts_us >= dropped_us if query.alert.of_view else member.ts_us > dropped_us
        )
        if not past:
            observed.append((member.row, member.ts_us))
    return told(query, observed, functions or {}, dropped_us)


def pull_answer(
    query: bound.Query,
    data: Data,
    at_us: int | None = None,
    functions: Functions | None = None,
    readers: bound.Pull | None = None,
) -> list[Row]:
    """The value of the query at an instant, the latest event time on its streams unless named (2.2).

    `readers`: the window of the query that reads it, where it is a view without one.
    """
    assert query.pull is not None
    now_us = latest_us(query, data) if at_us is None else at_us
    window = query.pull if readers is None or not query.pull.inherits else readers
    choices: list[list[Tuple]] = [[] for _ in query.items]
    if now_us is not None:
        choices = [
            inside_bounds(item, window, tuples(item, data, functions, (window, now_us)), now_us)
            for item in query.items
        ]
    found = combinations(query, choices, functions or {})
    scopes = [
        Scope([member.row for member in combination], functions=functions or {})
        for combination in found
    ]
    if query.has_absence:
        scopes = absence_scopes(query, data, now_us, functions or {}, window)
    times = [0] * len(scopes) if query.has_absence else [result_time_us(each) for each in found]
    if query.pull.is_aggregate:
        scopes = [scope for scope in groups(query, scopes) if is_true(query.pull.having, scope)]
        times = [0] * len(scopes)
    rows = qualified(query, list(zip(scopes, times, strict=True)))
    return finish(query, [scope for scope, _ in rows])


def absence_answer(query: bound.Query, data: Data, functions: Functions) -> list[tuple[int, Row]]:
    """Results of a push query with outer joins or EXISTS, in result-time order."""
    choices = [_members(tuples(item, data, functions)) for item in query.all_items]
    found = []
    for made in Absence(query, choices, functions).rows():
        assert made.ts_us is not None
        found.append((made.ts_us, output_row(query, _scope(query, made, functions))))
    return sorted(found, key=lambda result: result[0])


def absence_scopes(
    query: bound.Query, data: Data, now_us: int | None, functions: Functions, window: bound.Pull
) -> list[Scope]:
    """The rows of a pull query with outer joins or EXISTS: everything is judged among what BEGIN-END leaves."""
    if now_us is None:
        return []
    choices = [
        _members(
            inside_bounds(item, window, tuples(item, data, functions, (window, now_us)), now_us)
        )
        for item in query.all_items
    ]
    rows = Absence(query, choices, functions).rows()
    return [_scope(query, made, functions) for made in rows]


def _members(found: Sequence[Tuple]) -> list[Member]:
    return [Member(each.row, each.ts_us, each.arrival) for each in found]


def _scope(query: bound.Query, made: Made, functions: Functions) -> Scope:
    members = [made.members.get(at) for at in range(len(query.items))]
    rows = [None if member is None else member.row for member in members]
    return Scope(rows, functions=functions)


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
    """The event times of the declared streams beneath a query."""
    found: list[int] = []
    for item in query.all_items:
        if item.relation.view is not None:
            for branch in item.relation.view.branches:
                found += times_us(branch, data)
        elif item.relation.is_stream:
            rows = data.streams.get(fold(item.relation.name), [])
            found += [event_time_us(item.relation, row) for row, _ in rows]
    return found


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


def tuples(
    item: bound.Item,
    data: Data,
    functions: Functions | None = None,
    asked: tuple[bound.Pull, int] | None = None,
) -> list[Tuple]:
    """Every tuple that can stand for the item; `asked` is the window of a pull query, and the instant."""
    if item.relation.view is not None:
        return view_tuples(item.relation, data, functions, asked)
    name = fold(item.relation.name)
    if not item.relation.is_stream:
        return [Tuple(with_fields(item.relation, row)) for row in data.tables.get(name, [])]
    return [
        Tuple(with_fields(item.relation, row), event_time_us(item.relation, row), arrival)
        for row, arrival in data.streams.get(name, [])
    ]


def view_tuples(
    relation: Relation,
    data: Data,
    functions: Functions | None,
    asked: tuple[bound.Pull, int] | None,
) -> list[Tuple]:
    """The rows of a view (LANGUAGE-2.md section 5): the answers of its branches."""
    view = relation.view
    assert view is not None
    timed: list[tuple[int | None, Row]] = []
    for branch in view.branches:
        if not relation.is_stream and not relation.is_windowed:  # of tables alone
            timed += [(None, row) for row in table_rows(branch, data, functions)]
        elif branch.pull is None:
            timed += push_answer(branch, data.streams, data.tables, functions)
        elif branch.pull.every_us is not None:
            for at_us, row in every_answers(branch, data, functions):
                end = branch.pull.end
                timed.append((max(at_us, end.offset_us + (at_us if end.from_now else 0)), row))
        else:
            assert asked is not None
            rows = pull_answer(branch, data, asked[1], functions, asked[0])
            timed += [(None, row) for row in rows]
    if view.unnest is not None:
        timed = [
            (ts_us, with_fields(relation, each))
            for ts_us, row in timed
            for each in unnested(view.unnest, row)
        ]
    made = []
    for number, (ts_us, row) in enumerate(timed):
        if view.adds_time:
            assert ts_us is not None
            row = (shown_time(relation, ts_us), *row)
        made.append(Tuple(row, ts_us, number))
    return made


def table_rows(branch: bound.Query, data: Data, functions: Functions | None) -> list[Row]:
    """The rows of a query over tables alone: the same at every instant."""
    now = bound.Instant(True, 0, False)
    plain = bound.Pull(now, now, None, False, (), None, (), None, False, True)
    return pull_answer(replace(branch, pull=branch.pull or plain), data, 0, functions)


def shown_time(relation: Relation, ts_us: int) -> int | float:
    """A result time as a value of the event-time column."""
    if relation.time_type is ColumnType.TIMESTAMP:
        return ts_us
    return ts_us // 1_000_000 if relation.time_type is ColumnType.BIGINT else ts_us / 1_000_000


def satisfies(query: bound.Query, combination: Combination, functions: Functions) -> bool:
    scope = Scope([member.row for member in combination], functions=functions)
    return is_true(query.where, scope) and is_true(query.window, scope)


def inside_windows(query: bound.Query, combination: Combination) -> bool:
    times = [member.ts_us for member in combination if member.ts_us is not None]
    if not times:
        return True
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
    # Rows of one window, as of a view with GROUP BY, have no time of their own.
    return max((member.ts_us for member in combination if member.ts_us is not None), default=0)


def project(query: bound.Query, combination: Combination, functions: Functions) -> Row:
    scope = Scope([member.row for member in combination], functions=functions)
    return output_row(query, scope)


def output_row(query: bound.Query, scope: Scope) -> Row:
    return tuple(evaluate(output.expression, scope) for output in query.outputs)


def groups(query: bound.Query, scopes: Sequence[Scope]) -> list[Scope]:
    """One scope per group: its first combination stands for all, and the aggregates are known."""
    group_by = clauses_of(query).group_by
    grouped: dict[tuple[object, ...], list[Scope]] = {}
    if not group_by:
        grouped[()] = []
    if clauses_of(query).grouping_sets:
        return [
            group
            for kept in clauses_of(query).grouping_sets
            for group in groups_of_set(query, scopes, kept)
        ]
    for scope in scopes:
        key = tuple(group_key(evaluate(part, scope)) for part in group_by)
        grouped.setdefault(key, []).append(scope)
    return [summarise(query, members) for members in grouped.values()]


def groups_of_set(
    query: bound.Query, scopes: Sequence[Scope], kept: tuple[int, ...]
) -> list[Scope]:
    """The groups of one grouping set: its keys tell them apart, all other keys are NULL."""
    keys = clauses_of(query).group_by
    grouped: dict[tuple[object, ...], list[Scope]] = {}
    for scope in scopes:
        own = tuple(group_key(evaluate(keys[at], scope)) for at in sorted(kept))
        grouped.setdefault(own, []).append(scope)
    others = frozenset(key for at, key in enumerate(keys) if at not in kept)
    return [replace(summarise(query, members), nulled=others) for members in grouped.values()]


def summarise(query: bound.Query, members: Sequence[Scope]) -> Scope:
    values = {wanted: aggregate(wanted, members) for wanted in aggregates_of(query)}
    if not members:
        return Scope([None] * len(query.items), values)
    return Scope(members[0].rows, values, members[0].functions)


def aggregates_of(query: bound.Query) -> list[bound.Aggregate]:
    clauses = clauses_of(query)
    roots = [output.expression for output in query.outputs]
    roots += [key.expression for key in clauses.order_by]
    roots += [each for each in (clauses.having, clauses.qualify) if each is not None]
    return [found for root in roots for found in find_aggregates(root)]


def find_aggregates(expression: bound.Expression) -> list[bound.Aggregate]:
    if isinstance(expression, bound.Aggregate):
        return [expression]
    return [found for part in bound.children(expression) for found in find_aggregates(part)]


def finish(query: bound.Query, scopes: Sequence[Scope]) -> list[Row]:
    """DISTINCT, ORDER BY and LIMIT."""
    clauses = clauses_of(query)
    keyed = [(order_keys(clauses, scope), output_row(query, scope)) for scope in scopes]
    if clauses.distinct:
        keyed = list(
            {tuple(map(group_key, row)): (keys, row) for keys, row in reversed(keyed)}.values()
        )[::-1]
    for position, key in reversed(list(enumerate(clauses.order_by))):
        keyed.sort(key=cmp_to_key(partial(by_key, key, position)))
    return [row for _, row in keyed][: clauses.limit]


Keyed = tuple[list[Value], Row]


def clauses_of(query: bound.Query) -> bound.Pull | bound.Decided:
    """What comes after the rows: GROUP BY, HAVING, QUALIFY, ORDER BY, LIMIT."""
    clauses = query.pull or query.decided
    assert clauses is not None
    return clauses


def qualified(
    query: bound.Query, rows: Sequence[tuple[Scope, int]], idle_us: int | None = None
) -> list[tuple[Scope, int]]:
    """The rows for which QUALIFY is TRUE, each with what OVER says of it; rows come with their event times."""
    clauses = clauses_of(query)
    roots = [output.expression for output in query.outputs]
    roots += [key.expression for key in clauses.order_by]
    overs = bound.overs_in(*roots, clauses.qualify)
    values = {over: over_values(over, rows, idle_us) for over in overs}
    known = [
        (replace(scope, overs={over: values[over][at] for over in overs}), ts_us)
        for at, (scope, ts_us) in enumerate(rows)
    ]
    return [row for row in known if is_true(clauses.qualify, row[0])]


def order_keys(pull: bound.Pull | bound.Decided, scope: Scope) -> list[Value]:
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


# Windows and OVER without BEGIN-END (LANGUAGE-2.md section 7)

InWindow = tuple[Scope, int, int]  # a row, its event time, and the time at which it is given out


def decided_answer(
    query: bound.Query, decided: bound.Decided, data: Data, functions: Functions
) -> list[tuple[int, Row]]:
    """All rows with the end of their window, or their event time, in that order."""
    choices = [tuples(item, data) for item in query.items]
    found = sorted(
        combinations(query, choices, functions), key=lambda each: arrival_of(decided, each)
    )
    rows = [row for row in in_windows(decided, found, functions) if is_true(decided.kept, row[0])]
    if not decided.is_aggregate:
        at_end = decided.decision is bound.Decision.COMPLETE and not decided.waits_for_equals
        at_end |= decided.decision is bound.Decision.SESSION_ROWS
        plain = [(scope, ts_us) for scope, ts_us, _ in rows]
        ends = {id(scope.rows): end_us for scope, _, end_us in rows}
        answer = [
            (ends[id(scope.rows)] if at_end else ts_us, output_row(query, scope))
            for scope, ts_us in qualified(query, plain, decided.key_idle_us)
        ]
        return sorted(answer, key=lambda result: result[0])
    by_end: dict[int, list[Scope]] = {}
    for scope, _, end_us in rows:
        by_end.setdefault(end_us, []).append(scope)
    answer = []
    for end_us, scopes in sorted(by_end.items()):
        kept = [each for each in groups(query, scopes) if is_true(decided.having, each)]
        left = qualified(query, [(scope, 0) for scope in kept])
        answer += [(end_us, row) for row in finish(query, [scope for scope, _ in left])]
    return answer


def arrival_of(decided: bound.Decided, combination: Combination) -> tuple[object, ...]:
    """What rows of one event time are ordered by: their arrival, in a view their values (NULL first, NaN last)."""
    member = combination[decided.by]
    if not decided.ties_by_value:
        return (member.arrival,)
    return tuple(
        (False,) if value is None else (True, value != value, 0 if value != value else value)
        for value in member.row
    )


def in_windows(
    decided: bound.Decided, found: Sequence[Combination], functions: Functions
) -> list[InWindow]:
    """Each combination once for each of its windows, with the columns of the window."""
    rows: list[InWindow] = []
    for combination in found:
        member = combination[decided.by]
        assert member.ts_us is not None
        for start_us, end_us in windows_of(decided, combination, found, functions):
            whole = [each.row for each in combination]
            if decided.window is not None:
                shown = tuple(window_value(us, decided.window.type) for us in (start_us, end_us))
                whole[decided.by] = (*member.row, *shown)
            rows.append((Scope(whole, functions=functions), member.ts_us, end_us))
    return rows


def window_value(us: int, type_: ColumnType) -> Value:
    if type_ is ColumnType.TIMESTAMP:
        return us
    return us // 1_000_000 if type_ is ColumnType.BIGINT else us / 1_000_000


def windows_of(
    decided: bound.Decided,
    combination: Combination,
    found: Sequence[Combination],
    functions: Functions,
) -> list[tuple[int, int]]:
    window, ts_us = decided.window, combination[decided.by].ts_us
    assert ts_us is not None
    if decided.end is not None:
        value = combination[decided.by].row[decided.end.column]
        assert isinstance(value, int | float)
        whole = decided.end.type is ColumnType.TIMESTAMP
        us = (int(value) if whole else round(value * 1_000_000)) + decided.end.add_us
        return [(us, us)]
    if window is None:
        return [(ts_us, ts_us)]
    if window.kind is bound.WindowKind.SESSION:
        return [session_of(window, combination, found, functions)]
    first = (ts_us - window.size_us) // window.slide_us * window.slide_us
    starts = range(first, ts_us + window.slide_us + 1, window.slide_us)
    if window.after_start:
        return [(us, us + window.size_us) for us in starts if us < ts_us <= us + window.size_us]
    return [(us, us + window.size_us) for us in starts if us <= ts_us < us + window.size_us]


def session_of(
    window: bound.TableWindow,
    combination: Combination,
    found: Sequence[Combination],
    functions: Functions,
) -> tuple[int, int]:
    """From the tuple outwards, as long as the next tuple of its key is at most the gap away."""

    def key(members: Combination) -> tuple[object, ...]:
        scope = Scope([member.row for member in members], functions=functions)
        return tuple(group_key(evaluate(part, scope)) for part in window.keys)

    times = sorted(result_time_us(other) for other in found if key(other) == key(combination))
    first = last = result_time_us(combination)
    while any(first - window.size_us <= us < first for us in times):
        first = min(us for us in times if first - window.size_us <= us < first)
    while any(last < us <= last + window.size_us for us in times):
        last = max(us for us in times if last < us <= last + window.size_us)
    return first, last + window.size_us
