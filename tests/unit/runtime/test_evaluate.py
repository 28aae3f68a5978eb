"""The evaluator against the oracle's one-value-at-a-time form, and what the oracle does not know: failure counts."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np
import pytest

from cqc.compiler import bound
from cqc.compiler.bound import ArithmeticOp, ComparisonOp, Expression
from cqc.compiler.functions import function
from cqc.compiler.types import ColumnType as T
from cqc.runtime.columns import from_python, to_python
from cqc.runtime.errors import RunError
from cqc.runtime.evaluate import REPLACED, Compiled, compile_expression
from tests.oracle.scalars import Scope, evaluate
from tests.unit.runtime.random_expressions import (
    COLUMN_TYPES,
    SPAN,
    TYPES,
    random_expression,
    random_rows,
)

X = bound.ColumnRef(0, 0, T.BIGINT, SPAN)


def same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isnan(left) and math.isnan(right))
    return type(left) is type(right) and bool(left == right)


def run_rows(expression: Expression, rows: list[tuple[Any, ...]]) -> list[Any]:
    columns = [
        from_python(type_, [row[at] for row in rows]) for at, type_ in enumerate(COLUMN_TYPES)
    ]
    return to_python(compile_expression(expression).run(lambda _, at: columns[at], len(rows)))


@pytest.mark.parametrize("seed", range(60))
def test_random_expressions_are_what_the_oracle_says(seed: int) -> None:
    random = Random(seed)
    for _ in range(25):
        expression = random_expression(random, random.choice((*TYPES, T.INTERVAL)), 3)
        rows = random_rows(random, random.choice((1, 9)))
        got = run_rows(expression, rows)
        wanted = [evaluate(expression, Scope((row,))) for row in rows]
        if expression.type is T.DOUBLE:
            wanted = [float(value) if isinstance(value, int) else value for value in wanted]
        for row, one, other in zip(rows, got, wanted, strict=True):
            assert same(one, other), f"{expression}\n{row}\n{one!r} is not {other!r}"
