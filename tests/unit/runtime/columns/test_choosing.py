"""One column or the other, row by row."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.choosing import choose
from cqc.runtime.columns.columns import Column, from_python, to_python


@pytest.mark.parametrize(
    ("type_", "one", "other"),
    [
        (T.STRING, ["a", "b"], [None, "d"]),
        (T.BIGINT, [1, 2], [3, None]),
        (T.BIGINT, [-(2**63), 2], [3, 2**63 - 1]),
        (T.DOUBLE, [-0.0, 2.0], [3.0, -math.inf]),
        (T.BOOLEAN, [True, False], [False, True]),
    ],
)
def test_a_column_is_chosen_by_row(type_: T, one: list[object], other: list[object]) -> None:
    made = choose(np.array([True, False]), from_python(type_, one), from_python(type_, other))
    assert repr(to_python(made)) == repr([one[0], other[1]])


def test_a_column_and_a_constant() -> None:
    mask, constant = np.array([True, False, True]), Column(T.DOUBLE, np.asarray(math.nan))
    made = choose(mask, constant, from_python(T.DOUBLE, [1.0, 2.0, 3.0]))
    assert repr(to_python(made)) == "[nan, 2.0, nan]"
    made = choose(mask, constant, Column(T.DOUBLE, np.asarray(0.5)))
    assert repr(to_python(made)) == "[nan, 0.5, nan]"
