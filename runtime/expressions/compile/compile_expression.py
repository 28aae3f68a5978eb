"""Expressions over columns: a bound expression is compiled once into nested functions, then run on any number of rows.

Every node of the expression becomes a function from a `Frame` (the rows at hand) to a `Column`. Constants are columns whose
values have no dimension (an Arrow scalar for text), so NumPy's broadcasting does the rest; only what leaves `Compiled.run`
has one value a row. An evaluation that Spark's ANSI mode would fail is NULL and counted. It is counted only where it is
asked for: a branch of CASE not taken, or the rest of an AND that is already FALSE, does not fail, which is what the frame's
`active` mask is for.

    x <> 0 AND 1 / x > 2        with x = 0: the left side is FALSE, the division by zero is not counted
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, assert_never

import numpy as np

from cqc.compiler.diagnostics.diagnostic import InternalError
from cqc.compiler.diagnostics.record import record
from cqc.compiler.functions.registered import user_functions
from cqc.compiler.functions.registry import SCALAR_FUNCTIONS
from cqc.compiler.meaning import bound
from cqc.compiler.meaning.bound import ComparisonOp, Expression
from cqc.compiler.meaning.types import ColumnType, DecimalType, common_type
from cqc.runtime.errors import RunError
from cqc.runtime.expressions.arithmetic import Outcome, arithmetic, negate
from cqc.runtime.expressions.compile.function_kernels import KERNELS, NODES, PARTIAL_KERNELS
from cqc.runtime.expressions.compile.scalar_functions import UNNAMED_KERNELS
from cqc.runtime.expressions.expression_kernels import (
    ColumnSource,
    Failures,
    Frame,
    Mask,
    Node,
    case_node,
    cast_node,
    column_node,
    comparison_node,
    connective_node,
    constant,
    constant_node,
    in_constants_node,
    int_node,
    is_distinct_node,
    is_null_node,
    is_truth_node,
    lifted,
    lifted_partial,
    not_node,
    spread,
    user_call_node,
)
from cqc.runtime.expressions.nested.decimal_arithmetic import decimal_arithmetic, negated_decimal
from cqc.runtime.expressions.nested.lambdas import HIGHER_ORDER, VARIABLES, field_node, item_node
from cqc.runtime.expressions.patterns.like_patterns import make_matcher

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from cqc.runtime.columns.columns import Column

REPLACED = -1  # the item number under which replaced expressions are asked for


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
        return spread(self._node(Frame(columns, rows, self._failures)), rows)

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


def columns_of(expression: Expression, items: Container[int] | None = None) -> set[int]:
    """The numbers of the columns that an expression is made of, of some FROM items (all by default)."""
    found, waiting = set[int](), [expression]
    while waiting:
        part = waiting.pop()
        if isinstance(part, bound.ColumnRef) and (items is None or part.item in items):
            found.add(part.column)
        waiting.extend(bound.children(part))
    return found


@record
class Evaluator:
    """Turns expressions into nodes."""

    replaced: Mapping[Expression, int] = field(default_factory=dict)

    def node(self, expression: Expression) -> Node:
        """The node of an expression; bare NULL is a STRING, as in `columns.from_python`."""
        if self.replaced and expression in self.replaced:
            return column_node(REPLACED, self.replaced[expression])
        match expression:
            case bound.Literal():
                return constant_node(constant(expression.value, expression.type))
            case bound.ColumnRef():
                return column_node(expression.item, expression.column)
            case bound.Arithmetic():
                return self._arithmetic(expression)
            case bound.Negate():
                if isinstance(expression.type, DecimalType):
                    return negated_decimal(self.node(expression.operand))
                return lifted(
                    negate, expression.type, [self._typed(expression.operand, expression.type)]
                )
            case bound.Comparison():
                return comparison_node(
                    expression.op, *self._alike(expression.left, expression.right)
                )
            case bound.And():
                return self._connective(expression.operands, stops_at=False)
            case bound.Or():
                return self._connective(expression.operands, stops_at=True)
            case bound.Not():
                return not_node(self._typed(expression.operand, ColumnType.BOOLEAN))
            case bound.InList():
                return self._in_list(expression)
            case bound.Match():
                return self._match(expression)
            case bound.IsNull():
                return is_null_node(self.node(expression.operand))
            case bound.IsTruth():
                return is_truth_node(
                    self._typed(expression.operand, ColumnType.BOOLEAN), expression.value
                )
            case bound.IsDistinct():
                return is_distinct_node(*self._alike(expression.left, expression.right))
            case bound.Case():
                return self._case(expression)
            case bound.Cast():
                if expression.is_tried:
                    return cast_node(self.node(expression.operand), expression.type, counted=False)
                return self._typed(expression.operand, expression.type)
            case bound.FunctionCall():
                return self._function(expression)
            case bound.UserCall():
                return self._user_call(expression)
            case bound.Aggregate():
                raise InternalError("an aggregate is not an expression over rows")
            case bound.Over():
                raise InternalError("OVER is not an expression over one row")
            case _:
                assert_never(expression)

    def _typed(self, expression: Expression, type_: ColumnType) -> Node:
        """The node of an expression, cast where its type is another."""
        if expression.type is ColumnType.NULL:
            return constant_node(constant(None, type_))
        node = self.node(expression)
        return node if expression.type is type_ else cast_node(node, type_)

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
            return constant_node(constant(None, expression.type))
        op = expression.op
        nodes = [self.node(side) for side in sides]
        if isinstance(expression.type, DecimalType):
            return decimal_arithmetic(op, expression.type, nodes)
        return lifted(lambda left, right: arithmetic(op, left, right), expression.type, nodes)

    def _connective(self, operands: tuple[Expression, ...], *, stops_at: bool) -> Node:
        nodes = [self._typed(operand, ColumnType.BOOLEAN) for operand in operands]
        return connective_node(nodes, [_can_fail(operand) for operand in operands], stops_at)

    def _in_list(self, expression: bound.InList) -> Node:
        operand, *values = self._alike(expression.operand, *expression.values)
        if all(isinstance(value, bound.Literal) for value in expression.values):
            frame = Frame(_no_columns, 0, Failures())
            return in_constants_node(operand, [value(frame) for value in values])
        equal = [comparison_node(ComparisonOp.EQ, operand, value) for value in values]
        return connective_node(equal, [_can_fail(value) for value in expression.values], True)

    def _match(self, expression: bound.Match) -> Node:
        if expression.pattern is None:
            return constant_node(constant(None, ColumnType.BOOLEAN))
        matcher = make_matcher(expression.kind, expression.pattern, expression.escape)

        def outcome(texts: Column) -> Outcome:
            found = matcher.run(texts.values)
            return found, np.ones_like(found) if matcher.fails else None

        operand = self._typed(expression.operand, ColumnType.STRING)
        return lifted(outcome, ColumnType.BOOLEAN, [operand])

    def _case(self, expression: bound.Case) -> Node:
        branches = [
            (self._typed(condition, ColumnType.BOOLEAN), self._typed(value, expression.type))
            for condition, value in expression.branches
        ]
        return case_node(
            branches, self._typed(expression.otherwise, expression.type), expression.type
        )

    def _function(self, expression: bound.FunctionCall) -> Node:
        name, arguments, type_ = expression.name, expression.arguments, expression.type
        if name == bound.VARIABLE:
            return column_node(VARIABLES, _number_of(arguments[0]))
        if name == bound.FIELD:
            return field_node(self.node(arguments[0]), _number_of(arguments[1]), type_)
        if name == bound.ITEM:
            return item_node(self.node(arguments[0]), self.node(arguments[1]), type_)
        if name in HIGHER_ORDER:
            body = arguments[1]
            assert isinstance(body, bound.FunctionCall)
            first, inner = body.arguments
            array = self.node(arguments[0])
            return HIGHER_ORDER[name](array, self.node(inner), _number_of(first), type_)
        unnamed = UNNAMED_KERNELS.get(name)
        if unnamed is None and SCALAR_FUNCTIONS[name].takes_null:
            return NODES[name](self._arguments(expression), type_)
        if any(argument.type is ColumnType.NULL for argument in arguments):
            return constant_node(constant(None, type_))
        if unnamed is not None:
            return lifted(unnamed, type_, [self.node(argument) for argument in arguments])
        if name in PARTIAL_KERNELS:
            return lifted_partial(PARTIAL_KERNELS[name], type_, self._arguments(expression))
        return lifted(KERNELS[name], type_, self._arguments(expression))

    def _arguments(self, expression: bound.FunctionCall) -> list[Node]:
        """The arguments' nodes, converted as the function's entry says."""
        entry = SCALAR_FUNCTIONS[expression.name]
        nodes = []
        for at, argument in enumerate(expression.arguments):
            type_ = entry.argument_type(at, expression.type)
            node = self.node(argument) if type_ is None else self._typed(argument, type_)
            nodes.append(int_node(node) if entry.rule(at).is_int else node)
        return nodes

    def _user_call(self, expression: bound.UserCall) -> Node:
        function = user_functions().get(expression.name)
        if function is None:
            raise RunError(f"the function {expression.name} is not registered in this process")
        nodes = [self.node(argument) for argument in expression.arguments]
        return user_call_node(function, nodes)


def _number_of(expression: Expression) -> int:
    assert isinstance(expression, bound.Literal)
    assert isinstance(expression.value, int)
    return expression.value


def _no_columns(item: int, column: int) -> Column:
    raise InternalError(f"column {column} of item {item} in a constant")


def _can_fail(expression: Expression) -> bool:
    """Whether an evaluation may fail, so that it matters on which rows it is asked for."""
    match expression:
        case bound.Arithmetic() | bound.Negate() | bound.Cast() | bound.UserCall():
            return True
        case bound.FunctionCall() | bound.Match():
            return True
        case _:
            return any(_can_fail(child) for child in bound.children(expression))
