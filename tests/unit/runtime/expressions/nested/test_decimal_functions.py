"""Functions of DECIMAL, with the digits that Spark gives results."""

from __future__ import annotations

from decimal import Decimal

import pytest

import cqc
from tests.unit.runtime.expressions.nested.one_value import STREAM, value


@pytest.mark.parametrize(
    ("text", "type_", "expected"),
    [
        ("round(d, 1)", "DECIMAL(10, 1)", "12.5"),
        ("round(12.345BD, 2)", "DECIMAL(5, 2)", "12.35"),
        ("bround(12.345BD, 2)", "DECIMAL(5, 2)", "12.34"),
        ("bround(2.5BD)", "DECIMAL(2, 0)", "2"),
        ("round(155BD, -1)", "DECIMAL(4, 0)", "160"),
        ("round(155BD, -5)", "DECIMAL(6, 0)", "0"),
        ("floor(-155BD, -5)", "DECIMAL(6, 0)", "-100000"),
        ("floor(-d)", "DECIMAL(9, 0)", "-13"),
        ("ceil(d)", "DECIMAL(9, 0)", "13"),
        ("floor(3.14159, 2)", "DECIMAL(18, 2)", "3.14"),
        ("floor(-3.14159, 2)", "DECIMAL(18, 2)", "-3.15"),
        ("ceil(3.14159, 2)", "DECIMAL(18, 2)", "3.15"),
        ("floor(12345, -2)", "DECIMAL(21, 0)", "12300"),
        ("floor(1.25BD, 50)", "DECIMAL(4, 2)", "1.25"),
        ("abs(-d)", "DECIMAL(10, 2)", "12.50"),
        ("mod(7.5BD, 2)", "DECIMAL(2, 1)", "1.5"),
        ("pmod(-7.5BD, 2.25BD)", "DECIMAL(3, 2)", "1.50"),
        ("pmod(-7.5BD, -2.0BD)", "DECIMAL(2, 1)", "-1.5"),
    ],
)
def test_a_result_has_the_digits_of_spark(text: str, type_: str, expected: str) -> None:
    program = cqc.compile(f"{STREAM} SELECT {text} AS v FROM s;")
    assert program.queries["q1"].outputs[0].expression.type.value == type_
    assert value(text) == Decimal(expected)
    assert str(value(text)) == expected


def test_a_whole_quotient_is_a_bigint_and_what_has_none_is_null() -> None:
    assert value("7.5BD DIV 2") == 3
    assert value("div(-7.5BD, 2)") == -3
    assert value("d DIV (d - d)") is None
    assert value("CAST('99999999999999999999999999999999999999' AS DECIMAL(38, 0)) DIV 1") is None


def test_what_has_no_such_decimal_fails() -> None:
    assert value("floor(CAST('NaN' AS DOUBLE), 1)") is None
    assert value("floor(1e20, 1)") is None
    assert value("floor(-1.25BD, -50)") is None
    assert value("mod(d, 0)") is None
