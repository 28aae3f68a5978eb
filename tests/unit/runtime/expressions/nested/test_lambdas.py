"""Parts of nested values, and bodies of lambdas on the elements of all rows."""

from __future__ import annotations

import pytest

from tests.unit.runtime.expressions.nested.one_value import value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x[0]", 3),
        ("x[-1]", None),
        ("x[9]", None),
        ("m['k']", 5),
        ("m['none']", None),
        ("m.k", 5),
        ("u.name", "ann"),
        ("us.name", ["bob", None]),
        ("exists(x, e -> e > 2)", True),
        ("exists(x, e -> e > 5)", None),
        ("exists(filter(x, e -> e IS NOT NULL), e -> e > 5)", False),
        ("forall(x, e -> e > 2)", False),
        ("filter(x, (e, i) -> i > 0)", [1, None]),
        ("transform(x, e -> e + n)", [13, 11, None]),
        ("transform(x, e -> size(filter(x, f -> f < e)))", [1, 0, 0]),
    ],
)
def test_a_part_or_a_lambda_gives(text: str, expected: object) -> None:
    assert value(text) == expected
