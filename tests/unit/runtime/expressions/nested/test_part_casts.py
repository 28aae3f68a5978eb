"""CAST of nested values, DECIMAL and BINARY."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.unit.runtime.expressions.nested.one_value import value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CAST(x AS STRING)", "[3, 1, null]"),
        ("CAST(m AS STRING)", "{k -> 5, z -> null}"),
        ("CAST(u AS STRING)", "{ann, null}"),
        ("CAST(x AS ARRAY<STRING>)", ["3", "1", None]),
        ("CAST(array('1', 'x') AS ARRAY<BIGINT>)", None),
        ("CAST(d AS STRING)", "12.50"),
        ("CAST(d AS BIGINT)", 12),
        ("CAST(d AS DOUBLE)", 12.5),
        ("CAST(d AS DECIMAL(3, 0))", Decimal(13)),
        ("CAST(d AS DECIMAL(2, 1))", None),
        ("CAST(r AS DECIMAL(5, 2))", Decimal("0.13")),
        ("CAST(' 1.005 ' AS DECIMAL(5, 2))", Decimal("1.01")),
        ("CAST('x' AS DECIMAL(5, 2))", None),
        ("CAST(TRUE AS DECIMAL(5, 2))", Decimal("1.00")),
        ("CAST('é' AS BINARY)", "é".encode()),
        ("CAST(CAST('é' AS BINARY) AS STRING)", "é"),
    ],
)
def test_a_cast_gives(text: str, expected: object) -> None:
    assert value(text) == expected
