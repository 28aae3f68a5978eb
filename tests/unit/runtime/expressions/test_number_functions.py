"""Numbers that have no value, and those that fail."""

from __future__ import annotations

import math

import pytest

from tests.unit.runtime.expressions.calls import evaluate


@pytest.mark.parametrize(
    ("call", "failures"),
    [
        ("ln(d)", 0),
        ("abs(CAST(d AS BIGINT) - 9223372036854775807 - 1)", 1),
        ("ceil(d * 1e300)", 0),
        ("ceil(1e300 * 1e300)", 1),
    ],
)
def test_no_value_is_not_counted_and_a_failure_is(call: str, failures: int) -> None:
    values, counted = evaluate(call, d=[0.0])
    assert counted == failures
    assert values == [None if call != "ceil(d * 1e300)" else 0]


def test_a_logarithm_is_null_for_zero_and_below_and_nan_for_nan() -> None:
    values, failures = evaluate("ln(d)", d=[1.0, 0.0, -1.0, None, math.inf, math.nan])
    assert values[:5] == [0.0, None, None, None, math.inf]
    assert math.isnan(values[5])
    assert failures == 0


def test_the_sign_of_zero_is_itself() -> None:
    values, _ = evaluate("sign(d)", d=[-0.0, 0.0, -7.5, math.nan])
    assert [math.copysign(1.0, value) for value in values[:2]] == [-1.0, 1.0]
    assert values[2] == -1.0
    assert math.isnan(values[3])


def test_a_number_out_of_range_warns_nobody() -> None:
    values, failures = evaluate("sqrt(d) + exp(d)", d=[-1e300, 1e300])
    assert math.isnan(values[0])
    assert values[1] == math.inf
    assert failures == 0


def test_constants_are_numbers_too() -> None:
    assert evaluate("sqrt(4) + ln(1) + sign(-2)", i=[1, 2]) == ([1.0, 1.0], 0)
    assert evaluate("ln(0)", i=[1, 2]) == ([None, None], 0)
