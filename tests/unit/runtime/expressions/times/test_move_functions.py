"""Moves that leave what a TIMESTAMP or DATE holds fail."""

from __future__ import annotations

import numpy as np
import pytest

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.expressions.expression_kernels import constant
from cqc.runtime.expressions.times.move_functions import KERNELS, PARTIAL_KERNELS

LAST = Column(ColumnType.TIMESTAMP, np.array([2**63 - 1]))


@pytest.mark.parametrize("unit", ["MICROSECOND", "DAY", "MONTH", "YEAR"])
def test_the_last_instant_cannot_be_moved_on(unit: str) -> None:
    arguments = constant(unit, ColumnType.STRING), constant(1, ColumnType.BIGINT), LAST
    _, failed, _ = PARTIAL_KERNELS["timestampadd"](*arguments)
    assert failed is not None
    assert failed.tolist() == [True]


def test_microseconds_between_the_ends_do_not_fit() -> None:
    first = Column(ColumnType.TIMESTAMP, np.array([-(2**63)]))
    for unit, fits in (("MICROSECOND", False), ("DAY", True), ("YEAR", True)):
        arguments = constant(unit, ColumnType.STRING), first, LAST
        _, failed, _ = PARTIAL_KERNELS["timestampdiff"](*arguments)
        assert (failed is None or not failed.any()) is fits


def test_a_date_beyond_32_bits_fails() -> None:
    day = Column(ColumnType.DATE, np.array([2**31 - 1]))
    _, failed = KERNELS["date_add"](day, constant(1, ColumnType.BIGINT))
    assert failed is not None
    assert failed.tolist() == [True]
