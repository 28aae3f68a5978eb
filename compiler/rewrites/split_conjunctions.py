"""Cut WHERE and WINDOW into the conditions that must all be TRUE.

Example: `WHERE a > 1 AND (b < 2 OR c) WINDOW A.ts < B.ts` has three: `a > 1`, `b < 2 OR c` and `A.ts < B.ts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import And, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cqc.compiler.meaning.bound import Expression, Query


def split_conjunctions(query: Query) -> tuple[Expression, ...]:
    """The conditions of a query whose negations are pushed down; constants that are TRUE are left out."""
    conditions = [each for each in (query.where, query.window) if each is not None]
    return tuple([part for condition in conditions for part in _parts(condition)])


def _parts(condition: Expression) -> Iterator[Expression]:
    if isinstance(condition, And):
        for operand in condition.operands:
            yield from _parts(operand)
    elif not (isinstance(condition, Literal) and condition.value is True):
        yield condition
