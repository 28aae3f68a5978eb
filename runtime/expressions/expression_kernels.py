"""The parts that compiled expressions are made of: functions from a frame of rows to a column.

Constants are columns whose values have no dimension (an Arrow scalar for text), so NumPy's broadcasting does the rest. A
frame's `active` mask says on which rows a value is asked for at all: an evaluation fails, and is counted, only there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.bound import ComparisonOp
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.choosing import choose
from cqc.runtime.columns.columns import (
    DTYPES,
    Column,
    null_column,
    select,
    text_column,
)
from cqc.runtime.columns.columns import is_known as is_known
from cqc.runtime.columns.comparisons import compare, truth
from cqc.runtime.columns.sortable_columns import DecimalColumn, decimal_column
from cqc.runtime.expressions.casts import cast, null_where
from cqc.runtime.expressions.nested.spread import spread as spread
from cqc.runtime.expressions.user_functions import call_user_function

if TYPE_CHECKING:
    from cqc.compiler.functions.registered import UserFunction
    from cqc.runtime.expressions.arithmetic import Outcome

ColumnSource = Callable[[int, int], Column]
Mask = NDArray[np.bool_]


@dataclass(slots=True)
class Failures:
    """How many evaluations failed."""

    count: int = 0


@record
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


def constant(value: Any, type_: ColumnType) -> Column:
    """A column that stands for one value on every row."""
    if type_.held_as_text:
        valid = None if value is not None else np.asarray(False)
        known = ColumnType.STRING if type_ is ColumnType.NULL else type_
        return Column(known, pa.scalar(value, pa.string()), valid)
    if value is None:
        return Column(type_, np.zeros((), dtype=DTYPES[type_]), np.asarray(False))
    return Column(type_, np.asarray(value, dtype=DTYPES[type_]))


def constant_node(column: Column) -> Node:
    return lambda frame: column


def column_node(item: int, column: int) -> Node:
    return lambda frame: frame.columns(item, column)


def _scatter(column: Column, rows: Mask) -> Column:
    """The values at the rows of the mask, NULL elsewhere."""
    if rows.all():
        return column
    if column.type.held_as_text:
        places = np.cumsum(rows) - 1
        picked = pa.array(places, mask=~rows)
        return text_column(column.values.take(picked), column.type)
    values = np.zeros(len(rows), dtype=column.values.dtype)
    valid = np.zeros(len(rows), dtype=np.bool_)
    values[rows], valid[rows] = column.values, column.is_valid()
    return Column(column.type, values, valid)


def _valid(*columns: Column) -> Mask | None:
    """Where none of the columns is NULL."""
    masks = [column.valid for column in columns if column.valid is not None]
    if not masks:
        return None
    result = masks[0]
    for mask in masks[1:]:
        result = result & mask
    return np.asarray(result)


def lifted(function: Callable[..., Outcome], type_: ColumnType, nodes: list[Node]) -> Node:
    """A function that is NULL where an argument is, and where it fails."""

    def node(frame: Frame) -> Column:
        arguments = [argument(frame) for argument in nodes]
        valid = _valid(*arguments)
        values, failed = function(*arguments)
        return _checked(frame, type_, values, valid, failed)

    return node


def lifted_partial(function: Callable[..., Any], type_: ColumnType, nodes: list[Node]) -> Node:
    """A function that also has no value for some arguments, which is NULL and no failure: it says where it has one."""

    def node(frame: Frame) -> Column:
        arguments = [argument(frame) for argument in nodes]
        valid = _valid(*arguments)
        values, failed, present = function(*arguments)
        if present is not None:
            valid = present if valid is None else np.asarray(valid & present)
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
    if isinstance(values, DecimalColumn):
        return decimal_column(type_, values.digits, valid)
    if type_.held_as_text and valid is not None:
        values = null_where(values, ~valid)
    return Column(type_, values, valid)


def cast_node(operand: Node, type_: ColumnType, *, counted: bool = True) -> Node:
    """CAST, or TRY_CAST, whose failures are not counted."""

    def node(frame: Frame) -> Column:
        column, failed = cast(operand(frame), type_)
        if type_.is_nested and (failed is None or not failed.any()):
            return column
        if not counted:
            frame = replace(frame, failures=Failures())
        held = column if isinstance(column, DecimalColumn) else column.values
        return _checked(frame, type_, held, column.valid, failed)

    return node


def int_node(operand: Node) -> Node:
    """A BIGINT that must fit in 32 bits; one that does not is a failure."""

    def node(frame: Frame) -> Column:
        column = operand(frame)
        beyond = np.asarray(column.values != column.values.astype(np.int32))
        if not beyond.any():
            return column
        return _checked(frame, column.type, column.values, column.valid, beyond)

    return node


def comparison_node(op: ComparisonOp, left_node: Node, right_node: Node) -> Node:
    def node(frame: Frame) -> Column:
        left, right = left_node(frame), right_node(frame)
        return Column(ColumnType.BOOLEAN, compare(op, left, right), _valid(left, right))

    return node


def not_node(operand: Node) -> Node:
    def node(frame: Frame) -> Column:
        column = operand(frame)
        return Column(ColumnType.BOOLEAN, ~column.values, column.valid)

    return node


def is_null_node(operand: Node) -> Node:
    return lambda frame: Column(ColumnType.BOOLEAN, np.asarray(~is_known(operand(frame))))


def is_truth_node(operand: Node, value: bool) -> Node:
    def node(frame: Frame) -> Column:
        column = operand(frame)
        held = column.values if value else ~column.values
        return Column(ColumnType.BOOLEAN, np.asarray(held & is_known(column)))

    return node


def is_distinct_node(left_node: Node, right_node: Node) -> Node:
    def node(frame: Frame) -> Column:
        left, right = left_node(frame), right_node(frame)
        left_known, right_known = is_known(left), is_known(right)
        differ = compare(ComparisonOp.NE, left, right) & left_known & right_known
        return Column(ColumnType.BOOLEAN, np.asarray(differ | (left_known != right_known)))

    return node


def connective_node(nodes: list[Node], can_fail: list[bool], stops_at: bool) -> Node:
    """AND (`stops_at` False) or OR (True): the value that decides, else NULL if there is one, else the other value."""

    def node(frame: Frame) -> Column:
        decided, unknown = np.asarray(False), np.asarray(False)
        for operand, fails in zip(nodes, can_fail, strict=True):
            column = operand(frame.narrowed(~decided) if fails and decided.any() else frame)
            known = is_known(column)
            decided = decided | ((column.values if stops_at else ~column.values) & known)
            if column.valid is not None:
                unknown = unknown | ~known
            if decided.all() and decided.ndim:
                break
        values = decided if stops_at else ~decided
        valid = np.asarray(decided | ~unknown) if unknown.any() else None
        return Column(ColumnType.BOOLEAN, np.asarray(values), valid)

    return node


def in_constants_node(operand: Node, values: list[Column]) -> Node:
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
        return lambda column: np.zeros(
            np.shape(column.values) if _is_array(column) else (), np.bool_
        )
    if values[0].type.held_as_text:
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


def case_node(branches: list[tuple[Node, Node]], otherwise: Node, type_: ColumnType) -> Node:
    def node(frame: Frame) -> Column:
        arms: list[tuple[Mask, Column]] = []
        remaining: Mask | None = None  # None: all rows
        for condition_node, value_node in branches:
            rest = frame if remaining is None else frame.narrowed(remaining)
            taken = _rows_of_truth(condition_node(rest), frame.rows)
            if remaining is not None:
                taken = taken & remaining
            if taken.any():
                arms.append((taken, value_node(frame.narrowed(taken))))
                remaining = ~taken if remaining is None else remaining & ~taken
                if not remaining.any():
                    break
        if not frame.rows:
            return null_column(type_, 0)
        if remaining is None or remaining.any():
            result = otherwise(frame if remaining is None else frame.narrowed(remaining))
        else:
            _, result = arms.pop()
        for taken, column in arms:
            result = choose(taken, column, result)
        return spread(result, frame.rows)

    return node


def _rows_of_truth(column: Column, rows: int) -> Mask:
    """Where a column is TRUE."""
    true = column.values if column.valid is None else column.values & column.valid
    return true if np.ndim(true) else np.full(rows, true)


def user_call_node(function: UserFunction, nodes: list[Node]) -> Node:
    """A user's function, asked only about rows where no argument is NULL."""

    def node(frame: Frame) -> Column:
        arguments = [spread(argument(frame), frame.rows) for argument in nodes]
        asked = np.ones(frame.rows, np.bool_) if frame.active is None else frame.active.copy()
        for argument in arguments:
            if argument.valid is not None:
                asked &= argument.valid
        rows = [select(argument, asked) for argument in arguments]
        result, failed = call_user_function(function, rows, int(asked.sum()))
        frame.failures.count += failed
        return _scatter(result, asked)

    return node
