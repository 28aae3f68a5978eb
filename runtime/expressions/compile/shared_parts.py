"""What conditions have in common: a part of several of them is worked out once for each packet.

    k % 100 = 1 | k % 100 = 2 | ...      k % 100 once, and a comparison for each

Only arithmetic that cannot fail is shared. What can is NULL where it fails, and counted for each condition that asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import Arithmetic, ArithmeticOp, ColumnRef, Literal, children
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.expressions.compile.compile_expression import (
    REPLACED,
    Compiled,
    compile_expression,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cqc.compiler.meaning.bound import Expression
    from cqc.runtime.columns.columns import Column


class SharedParts:
    """Parts of conditions by number, as long as a condition has them."""

    def __init__(self) -> None:
        self._numbers: dict[Expression, int] = {}
        self._compiled: dict[int, Compiled] = {}
        self._users: dict[int, int] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def use(self, condition: Expression) -> Compiled:
        """A condition that asks for its parts by number, with `columns(REPLACED, number)`."""
        replaced: dict[Expression, int] = {}
        for part in set(shareable_parts(condition)):
            number = self._numbers.get(part)
            if number is None:
                number = self._numbers[part] = self._next
                self._next += 1
                self._compiled[number] = compile_expression(part)
                self._users[number] = 0
            self._users[number] += 1
            replaced[part] = number
        return compile_expression(condition, replaced)

    def release(self, condition: Expression) -> None:
        """One condition less."""
        for part in set(shareable_parts(condition)):
            number = self._numbers[part]
            self._users[number] -= 1
            if not self._users[number]:
                del self._numbers[part], self._compiled[number], self._users[number]

    def source(
        self, columns: Callable[[int], Column], count: int, made: dict[int, Column]
    ) -> Callable[[int, int], Column]:
        """The columns of so many tuples and the parts of conditions over them; those that were `made` are there."""

        def column(item: int, number: int) -> Column:
            if item != REPLACED:
                return columns(number)
            if number not in made:
                made[number] = self._compiled[number].run(lambda _, at: columns(at), count)
            return made[number]

        return column


def shareable_parts(condition: Expression) -> Iterator[Expression]:
    """The largest parts of a condition that can be shared."""
    if isinstance(condition, Arithmetic) and _is_sure(condition):
        yield condition
        return
    for part in children(condition):
        yield from shareable_parts(part)


def _is_sure(expression: Expression) -> bool:
    """Whether it is arithmetic over columns that never fails."""
    match expression:
        case ColumnRef() | Literal():
            return True
        case Arithmetic(op=op, left=left, right=right):
            if not (_is_sure(left) and _is_sure(right)):
                return False
            if op is ArithmeticOp.MODULO:
                if not isinstance(right, Literal) or left.type is not ColumnType.BIGINT:
                    return False
                return type(right.value) is int and right.value != 0
            doubles = expression.type is ColumnType.DOUBLE
            return doubles and op is not ArithmeticOp.DIVIDE
        case _:
            return False
