"""Expressions over columns: a bound expression is compiled once into nested functions, then run on any number of rows.

Every node of the expression becomes a function from a `Frame` (the rows at hand) to a `Column`. Constants are columns whose
values have no dimension (an Arrow scalar for text), so NumPy's broadcasting does the rest; only what leaves `Compiled.run`
has one value a row. An evaluation that Spark's ANSI mode would fail is NULL and counted. It is counted only where it is
asked for: a branch of CASE not taken, or the rest of an AND that is already FALSE, does not fail, which is what the frame's
`active` mask is for.

    x <> 0 AND 1 / x > 2        with x = 0: the left side is FALSE, the division by zero is not counted
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cqc.compiler import bound
from cqc.compiler.bound import ComparisonOp, Expression
from cqc.compiler.diagnostics import InternalError
from cqc.compiler.functions import user_functions
from cqc.compiler.types import ColumnType, common_type
from cqc.runtime.arithmetic import Outcome, arithmetic, negate
from cqc.runtime.casts import cast
from cqc.runtime.columns import DTYPES, Column, null_column, select, text_column
from cqc.runtime.comparisons import compare, truth
from cqc.runtime.errors import RunError
from cqc.runtime.patterns import make_matcher
from cqc.runtime.scalar_functions import FUNCTIONS, pick_extreme
from cqc.runtime.user_functions import call_user_function

ColumnSource = Callable[[int, int], Column]
REPLACED = -1  # the item number under which replaced expressions are asked for
Mask = NDArray[np.bool_]


@dataclass(slots=True)
class Failures:
    """How many evaluations failed."""

    count: int = 0


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows an expression is evaluated on. `active` None: all of them matter."""

    columns: ColumnSource
    rows: int
    failures: Failures
    active: Mask | None = None

    def narrowed(self, rows: Mask) -> Frame:
        return replace(self, active=rows if self.active is None else self.active & rows)

    def fail(self, failed: Mask) -> None:
        counted = failed if self.active is None else failed & self.active
        number = int(np.count_nonzero(counted))
        self.failures.count += number if counted.ndim else number * self.rows


Node = Callable[[Frame], Column]


class Compiled:
    """An expression ready to run. `failures` counts the evaluations that gave NULL instead of an error."""

    def __init__(self, type_: ColumnType, node: Node) -> None:
        self.type = type_
        self._node = node
        self._failures = Failures()

    @property
    def failures(self) -> int:
        return self._failures.count

    def run(self, columns: ColumnSource, rows: int) -> Column:
        """The value for each row; `columns(item, column)` gives a column of `rows` values."""
        return _spread(self._node(Frame(columns, rows, self._failures)), rows)

    def is_true(self, columns: ColumnSource, rows: int) -> Mask:
        """The rows for which the condition is TRUE (neither FALSE nor NULL)."""
        result = self._node(Frame(columns, rows, self._failures))
        mask = result.values if result.valid is None else result.values & result.valid
        return np.array(np.broadcast_to(mask, (rows,))) if np.ndim(mask) == 0 else mask


def compile_expression(
    expression: Expression, replaced: Mapping[Expression, int] | None = None
) -> Compiled:
    """Compile an expression.

    Args:
        expression: Any bound expression. Aggregates must be among the replaced ones.
        replaced: Sub-expressions that are already worked out (aggregates, GROUP BY keys): wherever one occurs its
            value is `columns(REPLACED, number)`.
    """
    return Compiled(expression.type, Evaluator(replaced or {}).node(expression))


def condition_is_true(condition: Compiled, columns: ColumnSource, rows: int) -> Mask:
    """The rows for which a condition is TRUE."""
    return condition.is_true(columns, rows)


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Turns expressions into nodes."""

    replaced: Mapping[Expression, int] = field(default_factory=dict)

    def node(self, expression: Expression) -> Node:
        """The node of an expression; bare NULL is a STRING, as in `columns.from_python`."""
        if self.replaced and expression in self.replaced:
            return _column_node(REPLACED, self.replaced[expression])
        match expression:
            case bound.Literal():
                return _constant(constant(expression.value, expression.type))
            case bound.ColumnRef():
                return _column_node(expression.item, expression.column)
            case bound.Arithmetic():
                return self._arithmetic(expression)
            case bound.Negate():
                return _lifted(negate, expression.type, [self.node(expression.operand)])
            case bound.Comparison():
                return _comparison(expression.op, *self._alike(expression.left, expression.right))
            case bound.And():
                return self._connective(expression.operands, stops_at=False)
            case bound.Or():
                return self._connective(expression.operands, stops_at=True)
            case bound.Not():
                return _not(self.node(expression.operand))
            case bound.InList():
                return self._in_list(expression)
            case bound.Match():
                return self._match(expression)
            case bound.IsNull():
                return _is_null(self.node(expression.operand))
            case bound.IsTruth():
                return _is_truth(self.node(expression.operand), expression.value)
            case bound.IsDistinct():
                return _is_distinct(*self._alike(expression.left, expression.right))
            case bound.Case():
                return self._case(expression)
            case bound.Cast():
                return self._typed(expression.operand, expression.type)
            case bound.FunctionCall():
                return self._function(expression)
            case bound.UserCall():
                return self._user_call(expression)
            case bound.Aggregate():
                raise InternalError("an aggregate is not an expression over rows")
            case _:
                assert_never(expression)

    def _typed(self, expression: Expression, type_: ColumnType) -> Node:
        """The node of an expression, cast where its type is another."""
        if expression.type is ColumnType.NULL:
            return _constant(constant(None, type_))
        node = self.node(expression)
        return node if expression.type is type_ else _cast(node, type_)

    def _alike(self, *expressions: Expression) -> list[Node]:
        """The nodes of expressions to be compared, all of the type in which they meet."""
        met = ColumnType.NULL
        for expression in expressions:
            met = common_type(met, expression.type) or met
        if met is ColumnType.NULL:
            met = ColumnType.BOOLEAN
        return [self._typed(expression, met) for expression in expressions]

    def _arithmetic(self, expression: bound.Arithmetic) -> Node:
        sides = (expression.left, expression.right)
        if any(side.type is ColumnType.NULL for side in sides):
            return _constant(constant(None, expression.type))
        op = expression.op
        nodes = [self.node(side) for side in sides]
        return _lifted(lambda left, right: arithmetic(op, left, right), expression.type, nodes)

    def _connective(self, operands: tuple[Expression, ...], *, stops_at: bool) -> Node:
        nodes = [self._typed(operand, ColumnType.BOOLEAN) for operand in operands]
        return _connective(nodes, [_can_fail(operand) for operand in operands], stops_at)

    def _in_list(self, expression: bound.InList) -> Node:
        operand, *values = self._alike(expression.operand, *expression.values)
        if all(isinstance(value, bound.Literal) for value in expression.values):
            frame = Frame(_no_columns, 0, Failures())
            return _in_constants(operand, [value(frame) for value in values])
        equal = [_comparison(ComparisonOp.EQ, operand, value) for value in values]
        return _connective(equal, [_can_fail(value) for value in expression.values], True)

    def _match(self, expression: bound.Match) -> Node:
        if expression.pattern is None:
            return _constant(constant(None, ColumnType.BOOLEAN))
        matcher = make_matcher(expression.kind, expression.pattern, expression.escape)

        def outcome(texts: Column) -> Outcome:
            found = matcher.run(texts.values)
            return found, np.ones_like(found) if matcher.fails else None

        operand = self._typed(expression.operand, ColumnType.STRING)
        return _lifted(outcome, ColumnType.BOOLEAN, [operand])

    def _case(self, expression: bound.Case) -> Node:
        branches = [
            (self._typed(condition, ColumnType.BOOLEAN), self._typed(value, expression.type))
            for condition, value in expression.branches
        ]
        return _case(branches, self._typed(expression.otherwise, expression.type), expression.type)

    def _function(self, expression: bound.FunctionCall) -> Node:
        name, arguments = expression.name, expression.arguments
        if name in ("coalesce", "least", "greatest"):
            nodes = [self._typed(argument, expression.type) for argument in arguments]
            return _coalesce(nodes, expression.type) if name == "coalesce" else _extreme(nodes, name)
        if any(argument.type is ColumnType.NULL for argument in arguments):
            return _constant(constant(None, expression.type))
        nodes = [self.node(argument) for argument in arguments]
        if name in ("lower", "upper", "length", "concat"):
            nodes = [self._typed(argument, ColumnType.STRING) for argument in arguments]
        return _lifted(FUNCTIONS[name], expression.type, nodes)

    def _user_call(self, expression: bound.UserCall) -> Node:
        function = user_functions().get(expression.name)
        if function is None:
            raise RunError(f"the function {expression.name} is not registered in this process")
        nodes = [self.node(argument) for argument in expression.arguments]

        def node(frame: Frame) -> Column:
            arguments = [_spread(argument(frame), frame.rows) for argument in nodes]
            asked = np.ones(frame.rows, np.bool_) if frame.active is None else frame.active.copy()
            for argument in arguments:
                if argument.valid is not None:
                    asked &= argument.valid
            rows = [select(argument, asked) for argument in arguments]
            result, failed = call_user_function(function, rows, int(asked.sum()))
            frame.failures.count += failed
            return _scatter(result, asked)

        return node


def constant(value: Any, type_: ColumnType) -> Column:
    """A column that stands for one value on every row."""
    if type_ in (ColumnType.STRING, ColumnType.NULL):
        valid = None if value is not None else np.asarray(False)
        return Column(ColumnType.STRING, pa.scalar(value, pa.string()), valid)
    if value is None:
        return Column(type_, np.zeros((), dtype=DTYPES[type_]), np.asarray(False))
    return Column(type_, np.asarray(value, dtype=DTYPES[type_]))


def _no_columns(item: int, column: int) -> Column:
    raise InternalError(f"column {column} of item {item} in a constant")


def _constant(column: Column) -> Node:
    return lambda frame: column


def _column_node(item: int, column: int) -> Node:
    return lambda frame: frame.columns(item, column)


def _spread(column: Column, rows: int) -> Column:
    """One value a row, where a constant stands for all."""
    if isinstance(column.values, pa.Scalar):
        if not column.values.is_valid:
            return null_column(ColumnType.STRING, rows)
        return text_column(pa.repeat(column.values, rows))
    values, valid = column.values, column.valid
    if values.ndim == 0:
        values = np.full(rows, values)
    if valid is not None and valid.ndim == 0:
        valid = np.full(rows, valid)
    return Column(column.type, values, valid)


def _scatter(column: Column, rows: Mask) -> Column:
    """The values at the rows of the mask, NULL elsewhere."""
    if rows.all():
        return column
    if column.type is ColumnType.STRING:
        places = np.cumsum(rows) - 1
        picked = pa.array(places, mask=~rows)
        return text_column(column.values.take(picked))
    values = np.zeros(len(rows), dtype=column.values.dtype)
    valid = np.zeros(len(rows), dtype=np.bool_)
    values[rows], valid[rows] = column.values, column.is_valid()
    return Column(column.type, values, valid)


def _known(column: Column) -> Mask:
    """Where a column is not NULL, broadcastable."""
    return np.asarray(True) if column.valid is None else column.valid


def _valid(*columns: Column) -> Mask | None:
    """Where none of the columns is NULL."""
    masks = [column.valid for column in columns if column.valid is not None]
    if not masks:
        return None
    result = masks[0]
    for mask in masks[1:]:
        result = result & mask
    return np.asarray(result)


def _lifted(function: Callable[..., Outcome], type_: ColumnType, nodes: list[Node]) -> Node:
    """A function that is NULL where an argument is, and where it fails."""

    def node(frame: Frame) -> Column:
        arguments = [argument(frame) for argument in nodes]
        valid = _valid(*arguments)
        values, failed = function(*arguments)
        return _checked(frame, type_, values, valid, failed)

    return node


def _checked(
    frame: Frame, type_: ColumnType, values: Any, valid: Mask | None, failed: Mask | None
) -> Column:
    if failed is not None:
        bad = failed if valid is None else failed & valid
        if bad.any():
            frame.fail(np.asarray(bad))
            valid = np.asarray(~failed if valid is None else valid & ~failed)
    return Column(type_, values, valid)


def _cast(operand: Node, type_: ColumnType) -> Node:
    def node(frame: Frame) -> Column:
        column, failed = cast(operand(frame), type_)
        return _checked(frame, type_, column.values, column.valid, failed)

    return node


def _comparison(op: ComparisonOp, left_node: Node, right_node: Node) -> Node:
    def node(frame: Frame) -> Column:
        left, right = left_node(frame), right_node(frame)
        return Column(ColumnType.BOOLEAN, compare(op, left, right), _valid(left, right))

    return node


def _not(operand: Node) -> Node:
    def node(frame: Frame) -> Column:
        column = operand(frame)
        return Column(ColumnType.BOOLEAN, ~column.values, column.valid)

    return node


def _is_null(operand: Node) -> Node:
    return lambda frame: Column(ColumnType.BOOLEAN, np.asarray(~_known(operand(frame))))


def _is_truth(operand: Node, value: bool) -> Node:
    def node(frame: Frame) -> Column:
        column = operand(frame)
        held = column.values if value else ~column.values
        return Column(ColumnType.BOOLEAN, np.asarray(held & _known(column)))

    return node


def _is_distinct(left_node: Node, right_node: Node) -> Node:
    def node(frame: Frame) -> Column:
        left, right = left_node(frame), right_node(frame)
        left_known, right_known = _known(left), _known(right)
        differ = compare(ComparisonOp.NE, left, right) & left_known & right_known
        return Column(ColumnType.BOOLEAN, np.asarray(differ | (left_known != right_known)))

    return node


def _connective(nodes: list[Node], can_fail: list[bool], stops_at: bool) -> Node:
    """AND (`stops_at` False) or OR (True): the value that decides, else NULL if there is one, else the other value."""

    def node(frame: Frame) -> Column:
        decided, unknown = np.asarray(False), np.asarray(False)
        for operand, fails in zip(nodes, can_fail, strict=True):
            column = operand(frame.narrowed(~decided) if fails and decided.any() else frame)
            known = _known(column)
            decided = decided | ((column.values if stops_at else ~column.values) & known)
            if column.valid is not None:
                unknown = unknown | ~known
            if decided.all() and decided.ndim:
                break
        values = decided if stops_at else ~decided
        valid = np.asarray(decided | ~unknown) if unknown.any() else None
        return Column(ColumnType.BOOLEAN, np.asarray(values), valid)

    return node


def _in_constants(operand: Node, values: list[Column]) -> Node:
    """IN a list of literals, by one look-up whatever its length."""
    present = [value for value in values if value.valid is None]
    has_null = len(present) < len(values)
    find = _finder(present)

    def node(frame: Frame) -> Column:
        column = operand(frame)
        found = find(column)
        valid = column.valid
        if has_null:
            valid = np.asarray(found if valid is None else found & valid)
        return Column(ColumnType.BOOLEAN, found, valid)

    return node


def _finder(values: list[Column]) -> Callable[[Column], Mask]:
    if not values:
        return lambda column: np.zeros(np.shape(column.values) if _is_array(column) else (), np.bool_)
    if values[0].type is ColumnType.STRING:
        texts = pa.array([value.values.as_py() for value in values], type=pa.string())
        return lambda column: truth(pc.is_in(column.values, value_set=texts))
    numbers = np.array([value.values for value in values])
    return lambda column: np.asarray(_is_in(column.values, numbers))


def _is_array(column: Column) -> bool:
    return not isinstance(column.values, pa.Scalar)


def _is_in(values: NDArray[Any], numbers: NDArray[Any]) -> Mask:
    found = np.isin(values, numbers)
    if numbers.dtype == np.float64 and np.isnan(numbers).any():
        found = found | np.isnan(values)
    return np.asarray(found)


def _choose(mask: Mask, chosen: Column, other: Column) -> Column:
    """`chosen` where the mask is true, else `other`."""
    if chosen.type is ColumnType.STRING:
        return text_column(pc.if_else(pa.array(mask), chosen.values, other.values))
    values = np.where(mask, chosen.values, other.values)
    if chosen.valid is None and other.valid is None:
        return Column(chosen.type, values)
    return Column(chosen.type, values, np.where(mask, _known(chosen), _known(other)))


def _case(branches: list[tuple[Node, Node]], otherwise: Node, type_: ColumnType) -> Node:
    def node(frame: Frame) -> Column:
        remaining = np.ones(frame.rows, dtype=np.bool_)
        result = null_column(type_, frame.rows)
        for condition_node, value_node in branches:
            condition = condition_node(frame.narrowed(remaining))
            taken = remaining & condition.values & _known(condition)
            if taken.any():
                result = _choose(taken, value_node(frame.narrowed(taken)), result)
                remaining = remaining & ~taken
        if remaining.any():
            result = _choose(remaining, otherwise(frame.narrowed(remaining)), result)
        return result

    return node


def _coalesce(nodes: list[Node], type_: ColumnType) -> Node:
    def node(frame: Frame) -> Column:
        missing = np.ones(frame.rows, dtype=np.bool_)
        result = null_column(type_, frame.rows)
        for argument in nodes:
            column = argument(frame.narrowed(missing))
            taken = missing & _known(column)
            result = _choose(taken, column, result)
            missing = missing & ~taken
            if not missing.any():
                break
        return result

    return node


def _extreme(nodes: list[Node], name: str) -> Node:
    def node(frame: Frame) -> Column:
        columns = [argument(frame) for argument in nodes]
        if columns[0].type is ColumnType.STRING:
            function = pc.max_element_wise if name == "greatest" else pc.min_element_wise
            texts = function(*(_spread(column, frame.rows).values for column in columns))
            return text_column(texts)
        values, known = pick_extreme(columns, greatest=name == "greatest")
        return Column(columns[0].type, values, None if np.all(known) else known)

    return node


def _can_fail(expression: Expression) -> bool:
    """Whether an evaluation may fail, so that it matters on which rows it is asked for."""
    match expression:
        case bound.Arithmetic() | bound.Negate() | bound.Cast() | bound.UserCall():
            return True
        case bound.FunctionCall() | bound.Match():
            return True
        case _:
            return any(_can_fail(child) for child in bound.children(expression))
