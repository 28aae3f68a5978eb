"""Any-element questions about an array as conditions on one element, so that the elements of all rows are looked up as values are.

    array_contains(args, 'x')              some element = 'x'
    exists(args, a -> a ILIKE '%x%')       some element ILIKE '%x%'

A condition can be asked so where it is about the element alone, and where only TRUE matters: some element makes it TRUE, or none does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import (
    LAMBDA,
    VARIABLE,
    ColumnRef,
    Comparison,
    ComparisonOp,
    FunctionCall,
    InList,
    Literal,
    Match,
    Not,
)
from cqc.compiler.meaning.normal import FoldedAtom, NetAtom, PatternAtom, ValueAtom
from cqc.compiler.meaning.types import ArrayType

if TYPE_CHECKING:
    from cqc.compiler.meaning.bound import Expression
    from cqc.compiler.meaning.normal import Formula

_CALLS = ("lower", "cidr_match", "is_private_ip")


def element_condition(condition: Expression) -> tuple[ColumnRef, Expression] | None:
    """The array that is asked about, and the condition on its element, which is column 0 of item 0; None for other conditions."""
    match condition:
        case FunctionCall(
            name="array_contains",
            arguments=(ColumnRef(type=ArrayType()) as array, Literal() as value),
        ):
            if value.value is None:
                return None
            element = _element_of(array)
            return array, Comparison(element, ComparisonOp.EQ, value, condition.span)
        case FunctionCall(
            name="exists" | "any",
            arguments=(
                ColumnRef(type=ArrayType()) as array,
                FunctionCall(name=name, arguments=(Literal() as first, body)),
            ),
        ) if name == LAMBDA:
            about = _about(body, first, _element_of(array))
            return None if about is None else (array, about)
        case _:
            return None


def _element_of(array: ColumnRef) -> ColumnRef:
    assert isinstance(array.type, ArrayType)
    return ColumnRef(0, 0, array.type.element, array.span)


def _about(body: Expression, first: Literal, element: ColumnRef) -> Expression | None:
    """The body of a lambda with a column in the place of its variable; None where it speaks of anything else."""
    match body:
        case Literal():
            return body
        case FunctionCall(name=name, arguments=(Literal() as number,)) if name == VARIABLE:
            return element if number.value == first.value else None
        case Comparison():
            left, right = _about(body.left, first, element), _about(body.right, first, element)
            return None if left is None or right is None else replace(body, left=left, right=right)
        case Match() | Not():
            operand = _about(body.operand, first, element)
            return None if operand is None else replace(body, operand=operand)
        case InList():
            operand = _about(body.operand, first, element)
            if operand is None or not all(isinstance(each, Literal) for each in body.values):
                return None
            return replace(body, operand=operand)
        case FunctionCall(name=name, arguments=arguments) if name in _CALLS:
            made = [_about(each, first, element) for each in arguments]
            known = [each for each in made if each is not None]
            return replace(body, arguments=tuple(known)) if len(known) == len(made) else None
        case _:
            return None


def is_indexed(formula: Formula) -> bool:
    """Whether elements that make it TRUE are found by a look-up: single values, patterns and nets, not what denies them."""
    match formula:
        case ValueAtom():
            points = all(
                each.low is not None and each.low == each.high for each in formula.intervals
            )
            return points and bool(formula.intervals) and not formula.matches_null
        case PatternAtom() | FoldedAtom() | NetAtom():
            return not formula.negated and not formula.matches_null
        case _:
            return False
