import math

from cqc.runtime.cases.compare import pair_up


def test_rows_are_a_multiset() -> None:
    assert pair_up([(1,), (2,)], [(2,), (1,)]) is None
    assert pair_up([(1,), (1,)], [(1,)]) == [(0, 0), (1, None)]
    assert pair_up([(1,)], [(3,), (1,)]) == [(0, 1), (None, 0)]


def test_order_counts_when_it_is_asked_for() -> None:
    assert pair_up([(1,), (2,)], [(2,), (1,)], ordered=True) == [(0, 0), (1, 1)]
    assert pair_up([(1,)], [(1,)], ordered=True) is None


def test_numbers_are_compared_to_twelve_digits() -> None:
    assert pair_up([(0.1 + 0.2,), (math.nan,), (-0.0,)], [(0.3,), (math.nan,), (0.0,)]) is None
    assert pair_up([(1.0,)], [(1.001,)]) is not None
