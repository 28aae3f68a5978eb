"""Starts of units at the ends of what a TIMESTAMP holds."""

from __future__ import annotations

import numpy as np
import pytest

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.expressions.expression_kernels import constant
from cqc.runtime.expressions.times.field_functions import PARTIAL_KERNELS


@pytest.mark.parametrize("unit", ["WEEK", "MONTH", "YEAR", "DAY", "HOUR"])
def test_the_first_instant_has_no_start_before_it(unit: str) -> None:
    first = Column(ColumnType.TIMESTAMP, np.array([-(2**63), 0]))
    _, failed, _ = PARTIAL_KERNELS["date_trunc"](constant(unit, ColumnType.STRING), first)
    assert failed is not None
    assert failed.tolist() == [True, False]


def test_a_word_that_names_no_unit_has_no_value_and_does_not_fail() -> None:
    moment = Column(ColumnType.TIMESTAMP, np.array([5]))
    unit = constant("nope", ColumnType.STRING)
    _, failed, present = PARTIAL_KERNELS["date_trunc"](unit, moment)
    assert failed is None
    assert present is not None
    assert present.tolist() == [False]
