from __future__ import annotations

from tests.unit.runtime.windows.windows import Held


def test_a_tuple_is_given_out_at_once_in_each_of_its_windows() -> None:
    held = Held("SELECT x, window_end FROM HOP(s, 5 SEC, 10 SEC) WHERE window_end > 10")
    held.take((7, "a", 1), (12, "b", 2))
    assert held.decide(-5) == [(7, 1, 15), (12, 2, 20), (12, 2, 15)]
    held.restart()
    assert held.decide(100) == []
