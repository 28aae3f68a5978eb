"""Nets that end with the last address, and far places."""

from __future__ import annotations

import math

from tests.unit.runtime.expressions.calls import evaluate


def test_the_whole_internet_has_no_end() -> None:
    assert evaluate("cidr_match('ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '::/0')") == ([True], 0)
    assert evaluate("cidr_match('255.255.255.255', '0.0.0.0/0')") == ([True], 0)


def test_the_other_side_of_the_earth() -> None:
    (half,), _ = evaluate("haversine(0, 0, 0, 180)")
    assert math.isclose(half, math.pi * 6371.0088)
