"""Cut WHERE and WINDOW into the conditions that must all be TRUE.

Example: `WHERE a > 1 AND (b < 2 OR c) WINDOW A.ts < B.ts` has three: `a > 1`, `b < 2 OR c` and `A.ts < B.ts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import And, Literal

if TYPE_CHECKING:
    from cqc.compiler.meaning.bound import Expression, Query


def split_conjunctions(query: Query) -> tuple[Expression, ...]:
    """The conditions of a query whose negations are pushed down; constants that are TRUE are left out."""
    found: list[Expression] = []
    for condition in (query.where, query.window):
        if condition is not None:
            _split(condition, found)
    return tuple(found)


def _split(condition: Expression, found: list[Expression]) -> None:
    if type(condition) is And:
        for operand in condition.operands:
            _split(operand, found)
    elif not (type(condition) is Literal and condition.value is True):
        found.append(condition)
