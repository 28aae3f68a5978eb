"""Rounded numbers, beside decimal arithmetic on the digits that they show."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal

import numpy as np
import pytest

from cqc.runtime.expressions.rounding import rounded_doubles

EXACT = Context(prec=2_000)


@pytest.mark.parametrize("digits", [1, 2, 5, 15, 22])
@pytest.mark.parametrize("even", [False, True])
def test_halves_are_those_of_the_digits_that_are_shown(digits: int, even: bool) -> None:
    chosen = np.random.default_rng(3)
    values = np.concatenate(
        [
            chosen.normal(size=1_000) * 10.0 ** chosen.integers(-5, 16, 1_000),
            np.round(chosen.normal(size=1_000) * 100, min(digits + 1, 10)),
            (chosen.integers(-(10**6), 10**6, 1_000) * 2 + 1) / 2 / 10.0**digits,
            [0.0, 5e-324, 1e300, 2.675, -0.004, 4503599627370495.5],
        ]
    )
    made, left = rounded_doubles(values, digits, even=even)
    rule = ROUND_HALF_EVEN if even else ROUND_HALF_UP
    for value, got, later in zip(values.tolist(), made.tolist(), left.tolist(), strict=True):
        scaled = Decimal(repr(value)).scaleb(digits, EXACT).to_integral_value(rule)
        assert later or got == float(scaled.scaleb(-digits, EXACT)), value
    assert left.sum() < len(values) / 2


def test_infinities_and_nan_stay_and_zero_has_no_sign() -> None:
    made, left = rounded_doubles(np.array([np.inf, -np.inf, np.nan, -0.001]), 2, even=False)
    assert repr(made.tolist()) == "[inf, -inf, nan, 0.0]"
    assert not left.any()
