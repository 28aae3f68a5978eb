from __future__ import annotations

from cqc.runtime.columns.event_time import ALL_SEEN
from tests.unit.runtime.windows.windows import Held


def test_the_rows_of_a_window_wait_until_it_is_past() -> None:
    held = Held(
        "SELECT k FROM TUMBLE(s, 10 SEC) QUALIFY ROW_NUMBER() OVER (PARTITION BY window_end ORDER BY x DESC) = 1"
    )
    held.take((1, "a", 1), (9, "b", 2), (12, "c", 0))
    assert held.decide(9) == []
    held.restart()
    assert held.decide(10) == [(10, "b")]
    held.take((5, "late", 9))
    assert held.decide(ALL_SEEN) == [(20, "c")]


def test_the_rows_of_an_instant_wait_until_it_is_past() -> None:
    held = Held("SELECT k, COUNT(*) OVER (PARTITION BY ts) AS n FROM s")
    held.take((1, "a", 1), (2, "b", 2))
    assert held.decide(1) == []
    held.take((1, "c", 1))
    assert held.decide(2) == [(1, "a", 2), (1, "c", 2)]
    assert held.decide(ALL_SEEN) == [(2, "b", 1)]
