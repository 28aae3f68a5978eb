from __future__ import annotations

import numpy as np

from cqc.runtime.columns.event_time import ALL_SEEN
from cqc.runtime.windows import grouped_windows
from tests.unit.runtime.windows.windows import Held

COUNTS = "SELECT k, COUNT(*) AS n, SUM(x) AS total FROM TUMBLE(s, 10 SEC) GROUP BY window_end, k"


def test_a_window_is_delivered_when_the_watermark_has_reached_its_end() -> None:
    held = Held(COUNTS)
    held.take((1, "a", 2), (9, "a", 3), (10, "a", 4))
    assert held.decide(9) == []
    assert held.decide(10) == [(10, "a", 2, 5)]
    assert held.decide(10) == []


def test_the_end_of_the_input_decides_every_window_and_closes_it() -> None:
    held = Held(COUNTS)
    held.take((1, "a", 2))
    assert held.decide(ALL_SEEN) == [(10, "a", 1, 2)]
    held.restart()
    held.take((5, "a", 1), (11, "b", 1))
    assert held.decide(ALL_SEEN) == [(20, "b", 1, 1)]


def test_parts_of_a_group_survive_a_restart_and_are_put_together(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(grouped_windows, "_MANY", 2)
    held = Held(COUNTS)
    for at in range(6):
        held.take((at, "a", at), (at, None, 1))
        held.restart()
    assert sorted(held.decide(10), key=repr) == [(10, "a", 6, 15), (10, None, 6, 6)]


def test_aggregates_that_need_rows_keep_them() -> None:
    held = Held(
        "SELECT COUNT(DISTINCT x) AS n, MAX(k) AS last FROM HOP(s, 5 SEC, 10 SEC) GROUP BY window_end"
    )
    held.take((1, "a", 2), (6, "b", 2))
    held.restart()
    held.take((7, None, 3))
    assert held.decide(ALL_SEEN) == [(5, 1, "a"), (10, 2, "b"), (15, 2, "b")]
    assert held.holder.nbytes == 0


def test_sums_that_overflow_on_the_way_come_right_in_the_end() -> None:
    held = Held("SELECT SUM(x * 1e308) AS total FROM TUMBLE(s, 10 SEC) GROUP BY window_end")
    held.take((1, "a", 1), (1, "a", 1))
    held.restart()
    held.take((2, "a", -1), (2, "a", 0))
    ((_, total),) = held.decide(10)
    assert np.isclose(total, 1e308)  # type: ignore[arg-type]
