"""Conditions that are linear in one column, as the exact set of values that satisfy them.

`T.fluct * 2 = 103` is a condition on `T.fluct` alone, but `fluct = 103 / 2` may differ from it in the last digit: the
constant cannot be moved across in floating point. What does hold is that every step of such an expression (plus, minus,
times or divided by a constant) is monotone, rounding included. So the values that satisfy the condition are an interval
of the ordered values of the column, and its ends are found by bisection with the original expression: 64 evaluations,
and no answer changes.

BIGINT steps are exact, and a step that overflows gives NULL: the values for which no step overflows are an interval too,
and the search is confined to it.

Example: for `-3 * x + 1 < 7` over BIGINT the ordinals are the numbers themselves, the expression falls as x grows, and
the answer is x >= -1 (up to where -3 * x stays in range).
"""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.bound import (
    Arithmetic,
    ArithmeticOp,
    Cast,
    ColumnRef,
    ComparisonOp,
    Expression,
    Literal,
    Negate,
)
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.meaning.value_sets import (
    BOTTOM,
    LARGEST,
    SMALLEST,
    TOP,
    Intervals,
    Span,
    cut_above,
    cut_below,
    from_spans,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_WHOLE = (ColumnType.BIGINT, ColumnType.TIMESTAMP, ColumnType.DATE, ColumnType.INTERVAL)
_INFINITE = 0x7FF0_0000_0000_0000  # the ordinal of Infinity


def double_to_ordinal(value: float) -> int:
    """The rank of a double among all doubles, 0 for both zeros; NaN has none."""
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits if bits >= 0 else -(bits & LARGEST)


def ordinal_to_double(ordinal: int) -> float:
    """The inverse of `double_to_ordinal`."""
    bits = ordinal if ordinal >= 0 else (-ordinal) | SMALLEST
    value: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return value


@record
class Chain:
    """A monotone function of one column: first `scale * x + shift` in whole numbers, then steps in DOUBLE.

    `low` and `high` are the ordinals between which no whole-number step overflows.
    """

    column: ColumnRef
    scale: int
    shift: int
    low: int
    high: int
    steps: tuple[Callable[[float], float], ...]
    rising: bool

    @property
    def is_whole(self) -> bool:
        return not self.steps and self.column.type is not ColumnType.DOUBLE

    def value(self, ordinal: int) -> int | float:
        """The function's value at the column value of an ordinal."""
        if self.column.type is ColumnType.DOUBLE:
            value: int | float = ordinal_to_double(ordinal)
        else:
            value = self.scale * ordinal + self.shift
        for step in self.steps:
            value = step(value)
        return value


def solve(
    expression: Expression, op: ComparisonOp, constant: Literal
) -> tuple[ColumnRef, Intervals] | None:
    """The column and its values for which `expression op constant` is TRUE, or None when it is not such a condition."""
    chain = find_chain(expression)
    if chain is None or constant.value is None or isinstance(constant.value, str | bool):
        return None
    target: int | float = constant.value
    if not (chain.is_whole and constant.type in _WHOLE):
        target = float(target)
        if not chain.steps and chain.column.type is not ColumnType.DOUBLE:
            chain = replace(chain, steps=(float,))
        if math.isnan(target):
            return None
    spans = _ordinal_spans(chain, op, target)
    return chain.column, _to_intervals(chain, op, spans)


def find_chain(expression: Expression) -> Chain | None:
    """The expression as a monotone function of one column, or None."""
    match expression:
        case ColumnRef(type=ColumnType.DOUBLE):
            return Chain(expression, 1, 0, -_INFINITE, _INFINITE, (), True)
        case ColumnRef(type=ColumnType.BIGINT | ColumnType.TIMESTAMP | ColumnType.DATE):
            return Chain(expression, 1, 0, SMALLEST, LARGEST, (), True)
        case Negate(operand=operand):
            chain = find_chain(operand)
            return chain and _negate(chain)
        case Cast(operand=operand, type=ColumnType.DOUBLE):
            chain = find_chain(operand)
            if chain is None or chain.column.type in (ColumnType.TIMESTAMP, ColumnType.DATE):
                return None
            return replace(chain, steps=(*chain.steps, float))
        case Arithmetic(left=left, right=Literal() as constant):
            chain = find_chain(left)
            return chain and _apply(chain, expression, constant, constant_first=False)
        case Arithmetic(left=Literal() as constant, right=right):
            chain = find_chain(right)
            return chain and _apply(chain, expression, constant, constant_first=True)
        case _:
            return None


def _apply(
    chain: Chain, step: Arithmetic, constant: Literal, *, constant_first: bool
) -> Chain | None:
    value = constant.value
    if value is None or isinstance(value, str | bool) or not math.isfinite(value):
        return None
    if step.op is ArithmeticOp.MODULO or (step.op is ArithmeticOp.DIVIDE and constant_first):
        return None
    if value == 0 and step.op in (ArithmeticOp.MULTIPLY, ArithmeticOp.DIVIDE):
        return None
    if step.type is ColumnType.DOUBLE:
        return _apply_double(chain, step.op, float(value), constant_first=constant_first)
    if not chain.is_whole or isinstance(value, float):
        return None
    if ColumnType.INTERVAL in (step.type, constant.type) and step.op is ArithmeticOp.MULTIPLY:
        return None
    return _apply_whole(chain, step.op, value, constant_first=constant_first)


def _apply_double(chain: Chain, op: ArithmeticOp, value: float, *, constant_first: bool) -> Chain:
    rising = chain.rising
    step: Callable[[float], float]
    match op:
        case ArithmeticOp.ADD:
            step = lambda x: float(x) + value  # noqa: E731  four of a kind read best as expressions
        case ArithmeticOp.SUBTRACT if constant_first:
            step, rising = lambda x: value - float(x), not rising
        case ArithmeticOp.SUBTRACT:
            step = lambda x: float(x) - value  # noqa: E731
        case ArithmeticOp.MULTIPLY:
            step, rising = lambda x: float(x) * value, rising == (value > 0)
        case _:
            step, rising = lambda x: float(x) / value, rising == (value > 0)
    return replace(chain, steps=(*chain.steps, step), rising=rising)


def _apply_whole(
    chain: Chain, op: ArithmeticOp, value: int, *, constant_first: bool
) -> Chain | None:
    match op:
        case ArithmeticOp.ADD:
            return _confine(replace(chain, shift=chain.shift + value))
        case ArithmeticOp.SUBTRACT if constant_first:
            return _confine(
                replace(
                    chain, scale=-chain.scale, shift=value - chain.shift, rising=not chain.rising
                )
            )
        case ArithmeticOp.SUBTRACT:
            return _confine(replace(chain, shift=chain.shift - value))
        case ArithmeticOp.MULTIPLY:
            rising = chain.rising == (value > 0)
            scaled = replace(
                chain, scale=chain.scale * value, shift=chain.shift * value, rising=rising
            )
            return _confine(scaled)
        case _:
            return None


def _negate(chain: Chain) -> Chain:
    if chain.is_whole:
        return _confine(
            replace(chain, scale=-chain.scale, shift=-chain.shift, rising=not chain.rising)
        )
    return replace(chain, steps=(*chain.steps, lambda x: -float(x)), rising=not chain.rising)


def _confine(chain: Chain) -> Chain:
    """Leave out the column values for which the latest whole-number step overflows."""
    least, most = SMALLEST - chain.shift, LARGEST - chain.shift
    if chain.scale < 0:
        least, most = -most, -least
    size = abs(chain.scale)
    low, high = -(-least // size), most // size
    return replace(chain, low=max(chain.low, low), high=min(chain.high, high))


def _ordinal_spans(chain: Chain, op: ComparisonOp, target: float) -> list[tuple[int, int]]:
    """The ordinals (first, last) at which the condition is TRUE, NaN apart."""
    low, high = chain.low, chain.high
    if low > high:
        return []
    if chain.rising:
        reached = _first(low, high, lambda at: chain.value(at) >= target)
        passed = _first(reached, high, lambda at: chain.value(at) > target)
        spans = {
            ComparisonOp.LT: [(low, reached - 1)],
            ComparisonOp.LE: [(low, passed - 1)],
            ComparisonOp.GT: [(passed, high)],
            ComparisonOp.GE: [(reached, high)],
        }
    else:
        reached = _first(low, high, lambda at: chain.value(at) <= target)
        passed = _first(reached, high, lambda at: chain.value(at) < target)
        spans = {
            ComparisonOp.LT: [(passed, high)],
            ComparisonOp.LE: [(reached, high)],
            ComparisonOp.GT: [(low, reached - 1)],
            ComparisonOp.GE: [(low, passed - 1)],
        }
    spans[ComparisonOp.EQ] = [(reached, passed - 1)]
    spans[ComparisonOp.NE] = [(low, reached - 1), (passed, high)]
    return [span for span in spans[op] if span[0] <= span[1]]


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first ordinal from low to high where a condition holds that stays true from there on; high + 1 if none."""
    high += 1
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _to_intervals(chain: Chain, op: ComparisonOp, spans: list[tuple[int, int]]) -> Intervals:
    column_type = chain.column.type
    if column_type is not ColumnType.DOUBLE:
        whole = [(cut_below(column_type, a), cut_above(column_type, b)) for a, b in spans]
        return from_spans(column_type, _join_touching(whole))
    pieces: list[Span] = []
    for first, last in spans:
        low = BOTTOM if first == -_INFINITE else cut_below(column_type, ordinal_to_double(first))
        pieces.append((low, cut_above(column_type, ordinal_to_double(last))))
    # A NaN goes through every step unchanged, and is greater than the constant.
    if op in (ComparisonOp.GT, ComparisonOp.GE, ComparisonOp.NE):
        pieces.append((cut_below(column_type, math.nan), TOP))
    return from_spans(column_type, _join_touching(pieces))


def _join_touching(spans: list[Span]) -> list[Span]:
    joined: list[Span] = []
    for low, high in spans:
        if joined and joined[-1][1] == low:
            joined[-1] = (joined[-1][0], high)
        else:
            joined.append((low, high))
    return joined
