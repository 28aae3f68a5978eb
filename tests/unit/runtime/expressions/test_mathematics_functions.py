"""What has no value, and where C and Java differ."""

from __future__ import annotations

import math

from tests.unit.runtime.expressions.calls import evaluate


def test_a_logarithm_is_null_for_zero_and_below_and_nan_for_nan() -> None:
    values, failures = evaluate("ln(d)", d=[1.0, 0.0, -1.0, None, math.inf, math.nan])
    assert values[:5] == [0.0, None, None, None, math.inf]
    assert math.isnan(values[5])
    assert failures == 0


def test_a_logarithm_to_a_base_needs_both_above_zero() -> None:
    values, failures = evaluate("log(i, d)", i=[2, 0, 1, 10], d=[8.0, 8.0, 8.0, -1.0])
    assert values == [3.0, None, math.inf, None]
    assert failures == 0


def test_powers_are_those_of_java() -> None:
    values, _ = evaluate("pow(d, 0.5)", d=[-math.inf, -0.0, 4.0, -4.0])
    assert values[:3] == [math.inf, 0.0, 2.0]
    assert math.copysign(1.0, values[1]) == 1.0
    assert math.isnan(values[3])
    values, _ = evaluate("pow(1, d)", d=[math.nan, math.inf, 0.0])
    assert [math.isnan(value) for value in values] == [True, True, False]


def test_minus_zero_is_no_other_direction() -> None:
    assert evaluate("atan2(0, d)", d=[-0.0, 0.0]) == ([0.0, 0.0], 0)


def test_constants_are_numbers_too() -> None:
    assert evaluate("sqrt(4) + ln(1) + sign(-2)", i=[1, 2]) == ([1.0, 1.0], 0)
    assert evaluate("ln(0)", i=[1, 2]) == ([None, None], 0)
    assert evaluate("cos(pi())", i=[1, 2]) == ([-1.0, -1.0], 0)


def test_a_number_out_of_range_warns_nobody() -> None:
    values, failures = evaluate("sqrt(d) + exp(d)", d=[-1e300, 1e300])
    assert math.isnan(values[0])
    assert values[1] == math.inf
    assert failures == 0
