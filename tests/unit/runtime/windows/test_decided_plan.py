from __future__ import annotations

import numpy as np

from cqc.runtime.windows.waiting_rows import Rows
from tests.unit.runtime.windows.windows import Held


def test_only_the_columns_that_a_query_needs_wait() -> None:
    held = Held("SELECT COUNT(*) AS n FROM TUMBLE(s, 10 SEC) GROUP BY window_end, k")
    assert held.plan.places == ((0, 1),)


def test_windows_that_are_closed_take_no_rows() -> None:
    held = Held("SELECT COUNT(*) AS n FROM HOP(s, 5 SEC, 10 SEC) GROUP BY window_end")
    times = np.array([7_000_000], np.int64)
    rows = held.plan.in_windows(Rows(times, times, ()), 10_000_000)
    assert rows.end_us.tolist() == [15_000_000]
