"""The normal form of a query says exactly what its WHERE, WINDOW and MAXWINDOW said.

Random conditions over three items are judged on random tuples by the oracle's scalar rules, once as written and once
class by class. The values lean to where things go wrong: limits of BIGINT, NaN, infinities, NULL, neighbours of the
constants, ties in time.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.compiler.diagnostics.source import SourceFile, Span
from cqc.compiler.graph.graph import Graph
from cqc.compiler.meaning import bound
from cqc.compiler.meaning.bound import ArithmeticOp, ComparisonOp
from cqc.compiler.meaning.catalog import Column, Relation, fold
from cqc.compiler.meaning.normal import (
    AllOf,
    AnyOf,
    ElementAtom,
    ExpressionAtom,
    FoldedAtom,
    Formula,
    Interval,
    NetAtom,
    NormalQuery,
    PatternAtom,
    ThetaJoin,
    ValueAtom,
)
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.pipeline import normalise
from tests.support.formula_judge import in_nets
from tests.support.generators import random_case
from tests.support.oracle.brute_force import Data, event_time_us
from tests.support.oracle.judge import data_of
from tests.support.oracle.scalars import Row, Scope, Value, compare, evaluate, is_true, order_key

if TYPE_CHECKING:
    from collections.abc import Sequence

SPAN = Span(SourceFile("random", "?"), 0, 1)
BIGINT, DOUBLE, STRING = ColumnType.BIGINT, ColumnType.DOUBLE, ColumnType.STRING
BOOLEAN, TIMESTAMP, INTERVAL = ColumnType.BOOLEAN, ColumnType.TIMESTAMP, ColumnType.INTERVAL

NUMBERS = [0, 1, -1, 2, 3, 7, 103, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2**62, 10**12]
DOUBLES = [0.0, -0.0, 0.1, 0.5, 1.5, -3.0, 51.5, 103.0, 1e300, -1e300, 5e-324, 1e-9, 2.0**53]
ODD_DOUBLES = [math.nan, math.inf, -math.inf]
TEXTS = ["", "a", "ab", "abc", "b", "%", "a%", "_b"]


def relation(name: str, time: ColumnType) -> Relation:
    types = [time, BIGINT, DOUBLE, STRING, BOOLEAN]
    columns = tuple(Column(column, type_) for column, type_ in zip("tnxsb", types, strict=True))
    return Relation(name, columns, 0, 0, {}, ".", SPAN)


class Conditions:
    """Random conditions over items whose columns are time, BIGINT, DOUBLE, STRING and BOOLEAN."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.time = self.random.choice([TIMESTAMP, BIGINT, DOUBLE])
        self.size = self.random.choice([1, 2, 2, 3])

    def query(self) -> bound.Query:
        items = tuple(
            bound.Item(
                alias,
                relation(alias, self.time),
                self.random.choice([None, None, 3_000_000]),
                None,
                SPAN,
            )
            for alias in "ABC"[: self.size]
        )
        where = self.condition(3)
        window = self.condition(1, windows_only=True) if self.size > 1 else None
        window_us = self.random.choice([None, 2_000_000, 0])
        return bound.Query("q", items, (), where, window, window_us, None, SPAN)

    def column(self, type_: ColumnType, item: int | None = None) -> bound.ColumnRef:
        at = self.random.randrange(self.size) if item is None else item
        position = {BIGINT: 1, DOUBLE: 2, STRING: 3, BOOLEAN: 4}.get(type_, 0)
        return bound.ColumnRef(at, position, type_, SPAN)

    def time_column(self) -> bound.ColumnRef:
        return bound.ColumnRef(self.random.randrange(self.size), 0, self.time, SPAN)

    def literal(self, type_: ColumnType) -> bound.Literal:
        values: list[Value] = {
            BIGINT: [*NUMBERS, None],
            DOUBLE: [*DOUBLES, *ODD_DOUBLES, None],
            STRING: [*TEXTS, None],
            BOOLEAN: [True, False, None],
            TIMESTAMP: [0, 1_000_000, 2_000_001],
            INTERVAL: [0, 1_000_000, -500_000, 1],
        }[type_]
        value = self.random.choice(values)
        return bound.Literal(value, type_, SPAN)

    def number(self, depth: int, item: int | None = None) -> bound.Expression:
        type_ = self.random.choice([BIGINT, DOUBLE])
        if depth == 0 or self.random.random() < 0.3:
            if self.random.random() < 0.15:
                return self.literal(type_)
            return self.column(type_, item)
        if self.random.random() < 0.15:
            operand = self.number(depth - 1, item)
            return bound.Negate(operand, operand.type, SPAN)
        op = self.random.choice(list(ArithmeticOp))
        sides = [self.number(depth - 1, item), self.literal(self.random.choice([BIGINT, DOUBLE]))]
        if self.random.random() < 0.2:
            sides[1] = self.number(depth - 1, item)
        self.random.shuffle(sides)
        left, right = sides
        whole = left.type is BIGINT and right.type is BIGINT and op is not ArithmeticOp.DIVIDE
        return bound.Arithmetic(op, left, right, BIGINT if whole else DOUBLE, SPAN)

    def instant(self) -> bound.Expression:
        """An event time, perhaps moved by a constant."""
        column = self.time_column()
        if self.random.random() < 0.5:
            return column
        op = self.random.choice([ArithmeticOp.ADD, ArithmeticOp.SUBTRACT])
        if self.time is TIMESTAMP:
            return bound.Arithmetic(op, column, self.literal(INTERVAL), TIMESTAMP, SPAN)
        whole = bound.Literal(self.random.choice([0, 1, 2, -3]), BIGINT, SPAN)
        part = bound.Literal(self.random.choice([0.1, 0.5, 1.0, 2.0, -1.5]), DOUBLE, SPAN)
        constant = self.random.choice([whole, part])
        type_ = BIGINT if self.time is BIGINT and constant.type is BIGINT else DOUBLE
        return bound.Arithmetic(op, column, constant, type_, SPAN)

    def window(self) -> bound.Expression:
        op = self.random.choice(list(ComparisonOp))
        shape = self.random.random()
        if shape < 0.6:
            return bound.Comparison(self.instant(), op, self.instant(), SPAN)
        left, right = self.time_column(), self.time_column()
        type_ = INTERVAL if self.time is TIMESTAMP else self.time
        difference = bound.Arithmetic(ArithmeticOp.SUBTRACT, left, right, type_, SPAN)
        limits: list[Value] = [0, 1_000_000, -1, 500_000] if self.time is TIMESTAMP else [0, 1, 2]
        limit_type = INTERVAL if self.time is TIMESTAMP else BIGINT
        limit = bound.Literal(self.random.choice(limits), limit_type, SPAN)
        if shape < 0.75 and self.time is not TIMESTAMP:
            size = bound.FunctionCall("abs", (difference,), type_, SPAN)
            return bound.Comparison(size, op, limit, SPAN)
        return bound.Comparison(difference, op, limit, SPAN)

    def condition(self, depth: int, *, windows_only: bool = False) -> bound.Expression:
        chance = self.random.random()
        if depth > 0 and chance < 0.6:
            count = self.random.choice([2, 2, 3])
            operands = tuple(
                self.condition(depth - 1, windows_only=windows_only) for _ in range(count)
            )
            kind = self.random.choice([bound.And, bound.And, bound.Or])
            return kind(operands, SPAN)
        if depth > 0 and chance < 0.72:
            return bound.Not(self.condition(depth - 1, windows_only=windows_only), SPAN)
        if depth > 0 and chance < 0.8 and not windows_only:
            inner = self.condition(depth - 1)
            if self.random.random() < 0.3:
                return bound.IsNull(inner, SPAN)
            truth = self.random.random() < 0.5
            if self.random.random() < 0.5:
                literal = bound.Literal(truth, bound.ColumnType.BOOLEAN, SPAN)
                if self.random.random() < 0.3:
                    return bound.Comparison(
                        inner, self.random.choice([ComparisonOp.EQ, ComparisonOp.NE]), literal, SPAN
                    )
                return bound.FunctionCall(
                    "coalesce", (inner, literal), bound.ColumnType.BOOLEAN, SPAN
                )
            return bound.IsTruth(inner, truth, SPAN)
        if windows_only or self.random.random() < 0.2:
            return self.window()
        return self.leaf()

    def leaf(self) -> bound.Expression:
        kind = self.random.randrange(9)
        op = self.random.choice(list(ComparisonOp))
        if kind <= 2:
            left, right = self.number(2, self.random.choice([None, 0])), self.literal(DOUBLE)
            if self.random.random() < 0.5:
                right = self.literal(BIGINT)
            sides: list[bound.Expression] = [left, right]
            if self.random.random() < 0.3:
                sides[1] = self.number(1)
            self.random.shuffle(sides)
            return bound.Comparison(sides[0], op, sides[1], SPAN)
        if kind == 3:
            right = self.literal(STRING) if self.random.random() < 0.7 else self.column(STRING)
            return bound.Comparison(self.column(STRING), op, right, SPAN)
        if kind == 4:
            type_ = self.random.choice([BIGINT, DOUBLE, STRING])
            values = tuple(self.literal(type_) for _ in range(self.random.randrange(1, 4)))
            if type_ is BIGINT and self.random.random() < 0.3:
                values += (self.literal(DOUBLE),)
            return bound.InList(self.column(type_), values, SPAN)
        if kind == 5:
            pattern = self.random.choice(TEXTS)
            kinds = [bound.PatternKind.LIKE, bound.PatternKind.ILIKE]
            return bound.Match(self.random.choice(kinds), self.column(STRING), pattern, "\\", SPAN)
        if kind == 6:
            return bound.IsNull(self.column(self.random.choice([BIGINT, DOUBLE, STRING])), SPAN)
        if kind == 7:
            type_ = self.random.choice([BIGINT, DOUBLE, STRING, BOOLEAN])
            return bound.IsDistinct(self.column(type_), self.literal(type_), SPAN)
        if self.random.random() < 0.5:
            return self.column(BOOLEAN)
        return bound.Comparison(self.time_column(), op, self.time_literal(), SPAN)

    def time_literal(self) -> bound.Literal:
        if self.time is TIMESTAMP:
            return self.literal(TIMESTAMP)
        return bound.Literal(self.random.choice([0, 1, 2]), BIGINT, SPAN)

    def row(self) -> Row:
        near = self.random.choice([1, 1, 1_000_000_000, 2**42])
        seconds = near + self.random.choice([0, 0, 1, 2, 3])
        micros = self.random.choice([0, 0, 1, 500_000, 999_999])
        time: Value = seconds * 1_000_000 + micros if self.time is TIMESTAMP else seconds
        if self.time is DOUBLE:
            time = seconds + self.random.choice([0.0, 0.1, 0.5, 4e-7, 0.9999996])
        number = self.random.choice([None, *NUMBERS, self.random.randrange(-60, 60)])
        double = self.random.choice([None, *DOUBLES, *ODD_DOUBLES, 51.0 + self.random.random()])
        text = self.random.choice([None, *TEXTS])
        return (time, number, double, text, self.random.choice([None, True, False]))


def times_of(items: Sequence[bound.Item], rows: list[Row]) -> list[int | None]:
    """The instants of the rows; None for rows of tables."""
    return [
        event_time_us(item.relation, row) if item.relation.is_stream else None
        for item, row in zip(items, rows, strict=True)
    ]


def expected(query: bound.Query, rows: list[Row]) -> bool:
    """WHERE, WINDOW, MAXWINDOW and RANGE as written."""
    scope = Scope(rows)
    times = [time for time in times_of(query.items, rows) if time is not None]
    inside = query.max_window_us is None or max(times) - min(times) <= query.max_window_us
    alive = all(
        item.range_us is None or time is None or max(times) <= time + item.range_us
        for item, time in zip(query.items, times_of(query.items, rows), strict=True)
    )
    return inside and alive and is_true(query.where, scope) and is_true(query.window, scope)


def actual(query: NormalQuery, rows: list[Row]) -> bool:
    """The classes, one by one; theta joins by their expression."""
    times = times_of(query.items, rows)
    in_time = not query.bounds.contradictory and all(
        most is None or times[j] - times[i] <= most
        for i, row in enumerate(query.bounds.most_us)
        for j, most in enumerate(row)
    )
    scope = Scope(rows)
    return (
        in_time
        and all(holds(f, row) for f, row in zip(query.filters, rows, strict=True))
        and all(equal(join, query, rows) for join in query.equi_joins)
        and all(is_true(join.expression, scope) for join in query.theta_joins)
        and all(is_true(residual.expression, scope) for residual in query.residuals)
    )


def equal(join: bound.Expression, query: NormalQuery, rows: list[Row]) -> bool:
    def column(item: int, at: int) -> bound.ColumnRef:
        type_ = query.items[item].relation.columns[at].type
        return bound.ColumnRef(item, at, type_, SPAN)

    left = column(join.left_item, join.left_column)
    right = column(join.right_item, join.right_column)
    wide = [with_computed(item, row) for item, row in zip(query.items, rows, strict=True)]
    return is_true(bound.Comparison(left, ComparisonOp.EQ, right, SPAN), Scope(wide))


def with_computed(item: bound.Item, row: Row) -> Row:
    """The row with the columns that a view in the place of its stream adds."""
    if item.relation.made_by is None:
        return row
    (branch,) = item.relation.made_by.branches
    return tuple(evaluate(output.expression, Scope([row])) for output in branch.outputs)


def holds(formula: Formula, row: Row) -> bool:
    match formula:
        case AllOf(parts=parts):
            return all(holds(part, row) for part in parts)
        case AnyOf(parts=parts):
            return any(holds(part, row) for part in parts)
        case ExpressionAtom(expression=expression):
            return is_true(expression, Scope([row])) != formula.negated
        case PatternAtom():
            column = bound.ColumnRef(0, formula.column, STRING, SPAN)
            match_ = bound.Match(formula.kind, column, formula.pattern, formula.escape, SPAN)
            if row[formula.column] is None:
                return formula.matches_null
            condition = bound.Not(match_, SPAN) if formula.negated else match_
            return is_true(condition, Scope([row]))
        case FoldedAtom():
            text = row[formula.column]
            if text is None:
                return formula.matches_null
            return (text.lower() in formula.texts) != formula.negated
        case ElementAtom():
            return is_true(formula.expression, Scope([row])) != formula.negated
        case NetAtom():
            text = row[formula.column]
            if text is None:
                return formula.matches_null
            return in_nets(text, formula.nets) != formula.negated
        case ValueAtom():
            value = row[formula.column]
            if value is None:
                return formula.matches_null
            return any(inside(interval, value) for interval in formula.intervals)


def inside(interval: Interval, value: Value) -> bool:
    key = order_key(value)
    low = interval.low is None or order_key(interval.low) < key
    high = interval.high is None or key < order_key(interval.high)
    at_low = interval.low_closed and interval.low is not None and key == order_key(interval.low)
    at_high = interval.high_closed and interval.high is not None and key == order_key(interval.high)
    return (low or at_low) and (high or at_high)


def linear_verdict(join: ThetaJoin, rows: list[Row]) -> bool | None:
    """What the linear form of a theta join says; None where it must be checked with the expression."""
    left = rows[join.left_item][join.left_column]
    right = rows[join.right_item][join.right_column]
    if left is None or right is None:
        return False
    if join.exact:
        if is_bare(join) and type(left) is type(right):
            return compare(join.op, left, right)
        return compare(
            join.op,
            side(left, join.left_scale, join.left_offset),
            side(right, join.right_scale, join.right_offset),
        )
    here = side(left, join.left_scale, join.left_offset)
    there = side(right, join.right_scale, join.right_offset)
    size = abs(join.left_scale * left) + abs(join.right_scale * right)
    size += abs(join.left_offset) + abs(join.right_offset)
    if not math.isfinite(size) or abs(here - there) <= size * 2.0**-48:
        return None
    return compare(join.op, here, there)


def is_bare(join: ThetaJoin) -> bool:
    """Both sides are bare columns."""
    bare = (join.left_scale, join.left_offset, join.right_scale, join.right_offset)
    return bare == (1.0, 0.0, 1.0, 0.0)


def side(value: float, scale: float, offset: float) -> float:
    scaled = float(value) if scale == 1 else scale * float(value)
    return scaled if offset == 0 else scaled + offset


def overflows(expression: bound.Expression, scope: Scope) -> bool:
    """Whether a part of the expression is NULL although its columns are not."""
    if evaluate(expression, scope) is None:
        return True
    return any(overflows(child, scope) for child in bound.children(expression))


def check_theta(seed: int) -> int:
    conditions = Conditions(seed)
    normal = normalise(conditions.query())
    checked = 0
    for _ in range(20):
        rows = [conditions.row() for _ in normal.items]
        scope = Scope(rows)
        for join in normal.theta_joins:
            verdict = linear_verdict(join, rows)
            if verdict is not None and (join.exact or not overflows(join.expression, scope)):
                assert verdict == is_true(join.expression, scope), f"seed {seed}: {rows} {join}"
                checked += 1
    return checked


def check(seed: int, row_count: int = 40) -> None:
    conditions = Conditions(seed)
    query = conditions.query()
    normal = normalise(query)
    for _ in range(row_count):
        rows = [conditions.row() for _ in query.items]
        assert actual(normal, rows) == expected(query, rows), f"seed {seed}: {rows}\n{normal}"


def check_program(seed: int, combinations: int = 40) -> None:
    """A random program: normal forms, made and kept by the graph, and the graph through JSON."""
    case = random_case(seed)
    program = cqc.compile(case.program)
    data = data_of(case)
    chooser = random.Random(seed)
    graph = Graph.from_json(program.graph.to_json())
    assert graph.to_json() == program.graph.to_json()
    for query in program.queries:
        forms = [normalise(query), program.normal(query.name), graph.normal(query.name)]
        choices = [rows_of(data, item.relation) for item in query.items]
        for _ in range(combinations if all(choices) else 0):
            rows = [chooser.choice(each) for each in choices]
            wanted = expected(query, rows)
            found = [actual(form, rows) for form in forms]
            assert found == [wanted] * 3, f"seed {seed}\n{case.program}\n{query.name}: {rows}"
    for name in chooser.sample(list(graph.queries), len(graph.queries)):
        graph.remove(name)
    assert graph.to_json() == Graph().to_json()


def rows_of(data: Data, relation: Relation) -> list[Row]:
    name = fold(relation.name)
    if relation.is_stream:
        return [row for row, _ in data.streams.get(name, [])]
    return list(data.tables.get(name, []))


@pytest.mark.parametrize("first", range(0, 600, 100))
def test_the_classes_of_a_query_say_what_its_conditions_said(first: int) -> None:
    for seed in range(first, first + 100):
        check(seed)


def test_the_linear_form_of_a_theta_join_is_as_close_as_promised() -> None:
    assert sum(check_theta(seed) for seed in range(500)) > 300


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_programs_mean_the_same_in_every_form(first: int) -> None:
    for seed in range(first, first + 20):
        check_program(seed)
