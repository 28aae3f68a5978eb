"""Constants that queries compare with in QUALIFY, lifted out: queries that differ in these alone do the same.

    QUALIFY n >= 3 AND LAG(n >= 3) OVER w IS NOT TRUE    is    n >= c0 AND LAG(n >= c1) OVER w IS NOT TRUE,  c = 3, 3
    QUALIFY n >= 9 AND LAG(n >= 9) OVER w IS NOT TRUE    the same with  c = 9, 9

A constant that was lifted is a column, with a number that no column of a stream has.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.bound import ColumnRef, Comparison, Literal
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.rewrites.rebuild import rebuilt
from cqc.runtime.columns.columns import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.meaning.bound import Decided, Expression

FIRST_CONSTANT = 1 << 30
_NUMBERS = {ColumnType.BIGINT: np.int64, ColumnType.DOUBLE: np.float64}


def lifted(decided: Decided) -> tuple[Decided, tuple[Literal, ...]]:
    """The clauses with columns in the place of constants, and the constants."""
    constants: list[Literal] = []

    def of_side(part: Expression) -> Expression:
        if not isinstance(part, Literal):
            return changed(part)
        if part.value is None or part.type not in _NUMBERS:
            return part
        constants.append(part)
        return ColumnRef(0, FIRST_CONSTANT + len(constants) - 1, part.type, part.span)

    def changed(part: Expression) -> Expression:
        if isinstance(part, Literal | ColumnRef):
            return part
        if isinstance(part, Comparison) and not (
            isinstance(part.left, Literal) and isinstance(part.right, Literal)
        ):
            return replace(part, left=of_side(part.left), right=of_side(part.right))
        return rebuilt(part, changed)

    if decided.qualify is None:
        return decided, ()
    return replace(decided, qualify=changed(decided.qualify)), tuple(constants)


def constant_columns(by_query: Sequence[tuple[Literal, ...]]) -> tuple[Column, ...]:
    """The constants of several queries by column, those of query k at place k; queries that are gone have none."""
    known = next((each for each in by_query if each), ())
    return tuple(
        Column(
            literal.type,
            np.array([each[at].value if each else 0 for each in by_query], _NUMBERS[literal.type]),
        )
        for at, literal in enumerate(known)
    )
