"""The forms of a built-in function: an elementwise kernel has a value everywhere and warns of nothing."""

from __future__ import annotations

import math

import numpy as np

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import Column, from_python
from cqc.runtime.expressions.kernel import elementwise


def test_a_numpy_function_is_applied_to_the_values() -> None:
    values, failed = elementwise(np.hypot)(
        from_python(T.DOUBLE, [3.0]), from_python(T.DOUBLE, [4.0])
    )
    assert (values.tolist(), failed) == ([5.0], None)


def test_what_numpy_would_warn_of_is_in_the_values() -> None:
    values, failed = elementwise(np.log)(from_python(T.DOUBLE, [0.0, -1.0]))
    assert failed is None
    assert values[0] == -math.inf
    assert math.isnan(values[1])


def test_a_constant_gives_a_constant() -> None:
    values, _ = elementwise(np.sqrt)(Column(T.DOUBLE, np.asarray(4.0)))
    assert (values.ndim, values.item()) == (0, 2.0)
