from __future__ import annotations

from tests.unit.runtime.windows.windows import Held

SESSIONS = "SELECT k, window_start, COUNT(*) AS n FROM SESSION(s PARTITION BY k, 5 SEC) GROUP BY window_end, k"


def test_tuples_at_most_the_gap_apart_are_one_session() -> None:
    held = Held(SESSIONS)
    held.take((1, "a", 0), (6, "a", 0), (12, "a", 0), (2, None, 0))
    assert held.decide(11) == [(7, None, 2, 1)]
    assert held.decide(12) == [(11, "a", 1, 2)]
    held.restart()
    assert held.decide(18) == [(17, "a", 12, 1)]


def test_a_tuple_out_of_order_makes_one_session_of_two() -> None:
    held = Held(SESSIONS)
    held.take((1, "a", 0), (11, "a", 0))
    held.restart()
    held.take((6, "a", 0))
    assert held.decide(16) == []
    assert held.decide(17) == [(16, "a", 1, 3)]
