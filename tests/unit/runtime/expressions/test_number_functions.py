"""Numbers that have no value, and those that fail."""

from __future__ import annotations

import math

import pytest

import cqc
from tests.unit.runtime.expressions.calls import evaluate


@pytest.mark.parametrize(
    ("call", "failures"),
    [
        ("abs(CAST(d AS BIGINT) - 9223372036854775807 - 1)", 1),
        ("ceil(d * 1e300)", 0),
        ("ceil(1e300 * 1e300)", 1),
    ],
)
def test_no_value_is_not_counted_and_a_failure_is(call: str, failures: int) -> None:
    values, counted = evaluate(call, d=[0.0])
    assert counted == failures
    assert values == [None if call != "ceil(d * 1e300)" else 0]


def test_the_sign_of_zero_is_itself() -> None:
    values, _ = evaluate("sign(d)", d=[-0.0, 0.0, -7.5, math.nan])
    assert [math.copysign(1.0, value) for value in values[:2]] == [-1.0, 1.0]
    assert values[2] == -1.0
    assert math.isnan(values[3])


def test_a_number_for_nan_is_asked_for_only_where_it_is_needed() -> None:
    nan = math.nan
    assert evaluate("nanvl(d, 1 / i)", d=[1.0, None, nan, nan], i=[0, 0, 0, 2]) == (
        [1.0, None, None, 0.5],
        1,
    )
    assert evaluate("isnan(d)", d=[1.0, None, nan]) == ([False, False, True], 0)


def test_a_remainder_fails_for_zero_and_takes_numbers_only() -> None:
    assert evaluate("mod(i, 4)", i=[-7, 7, None]) == ([-3, 3, None], 0)
    assert evaluate("mod(i, 0.0)", i=[-7, None]) == ([None, None], 1)
    with pytest.raises(cqc.CompileError, match="takes a number, not STRING"):
        evaluate("mod(t, t)")
