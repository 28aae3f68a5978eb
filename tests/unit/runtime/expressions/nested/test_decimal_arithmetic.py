"""Arithmetic of DECIMAL, with the digits that Spark gives results."""

from __future__ import annotations

from decimal import Decimal

import pytest

import cqc
from tests.unit.runtime.expressions.nested.one_value import STREAM, value


@pytest.mark.parametrize(
    ("text", "type_", "expected"),
    [
        ("d + 1", "DECIMAL(11, 2)", "13.50"),
        ("d - 0.125BD", "DECIMAL(12, 3)", "12.375"),
        ("d * d", "DECIMAL(21, 4)", "156.2500"),
        ("d / 3", "DECIMAL(14, 6)", "4.166667"),
        ("d % 5", "DECIMAL(3, 2)", "2.50"),
        ("-d", "DECIMAL(10, 2)", "-12.50"),
        ("d + n", "DECIMAL(23, 2)", "22.50"),
        ("CAST(1 AS DECIMAL(38, 10)) * CAST(3 AS DECIMAL(38, 10))", "DECIMAL(38, 6)", "3.000000"),
    ],
)
def test_a_result_has_the_digits_of_spark(text: str, type_: str, expected: str) -> None:
    program = cqc.compile(f"{STREAM} SELECT {text} AS v FROM s;")
    assert program.queries["q1"].outputs[0].expression.type.value == type_
    assert str(value(text)) == expected


def test_a_double_makes_a_double_and_a_division_by_zero_is_null() -> None:
    assert value("d * r") == 1.5625
    assert value("d / (d - d)") is None
    assert value("CAST('99999999999999999999999999999999999999' AS DECIMAL(38, 0)) + 1") is None
    assert value("d > 12.4 AND d = 12.5BD AND d < 13") is True
    assert value("CAST(d AS DECIMAL(5, 1))") == Decimal("12.5")
