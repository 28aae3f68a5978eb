"""Quotients and remainders of whole numbers beside Python's exact ones: constants and columns, the extremes, and where they fail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cqc.runtime.expressions.division import (
    positive_remainder,
    quotient,
    remainder,
    towards_zero,
)

LEAST, MOST = -(2**63), 2**63 - 1
NUMBERS = [LEAST, LEAST + 1, -8, -7, -1, 0, 1, 6, 7, 8, MOST - 1, MOST]
DIVISORS = [1, 2, 7, MOST, -1, -7, LEAST]
whole = st.integers(LEAST, MOST) | st.sampled_from(NUMBERS)


def exact(left: int, right: int) -> tuple[int, int, int]:
    """Quotient towards zero, what is left, and the same made positive as Spark does."""
    size = abs(left) // abs(right)
    found = -size if (left < 0) != (right < 0) else size
    rest = left - found * right
    again = (rest + right + 2**63) % 2**64 - 2**63  # it may wrap around
    lifted = abs(again) % abs(right) * (-1 if again < 0 else 1)
    return found, rest, lifted if rest < 0 else rest


@given(st.lists(st.tuples(whole, whole), min_size=1), st.booleans())
def test_division_is_exact(pairs: list[tuple[int, int]], is_constant: bool) -> None:
    if is_constant:
        pairs = [(left, pairs[0][1]) for left, _ in pairs]
    lefts = np.array([left for left, _ in pairs], np.int64)
    rights = np.asarray(pairs[0][1]) if is_constant else np.array([right for _, right in pairs])
    for which, function in enumerate((quotient, remainder, positive_remainder)):
        values, failed = function(lefts, rights)
        bad = np.broadcast_to(False if failed is None else failed, lefts.shape).tolist()
        for (left, right), value, wrong in zip(pairs, values.tolist(), bad, strict=True):
            least_by_minus_one = which == 0 and left == LEAST and right == -1
            assert wrong == (right == 0 or least_by_minus_one)
            assert wrong or value == exact(left, right)[which]


@pytest.mark.parametrize("divisor", DIVISORS)
def test_constants_alone(divisor: int) -> None:
    for left in NUMBERS[1:]:
        sides = np.asarray(left), np.asarray(divisor)
        found = [int(make(*sides)[0]) for make in (quotient, remainder, positive_remainder)]
        assert found == list(exact(left, divisor))


def test_towards_zero() -> None:
    assert towards_zero(np.array([LEAST, -7, -6, 6, MOST]), 7).tolist() == [
        -(2**63 // 7), -1, 0, 0, MOST // 7
    ]  # fmt: skip
