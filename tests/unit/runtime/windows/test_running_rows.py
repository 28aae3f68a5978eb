from __future__ import annotations

from cqc.runtime.columns.event_time import ALL_SEEN
from cqc.runtime.windows.running_rows import RunningRows
from tests.unit.runtime.windows.windows import Held


def kept(held: Held) -> int:
    assert isinstance(held.holder, RunningRows)
    return held.holder.kept


def test_a_range_frame_waits_for_rows_of_the_same_time() -> None:
    held = Held("SELECT COUNT(*) OVER (PARTITION BY k RANGE 5 SECONDS PRECEDING) AS n FROM s")
    held.take((1, "a", 0), (6, "a", 0), (6, "b", 0))
    assert held.decide(6) == [(1, 1)]
    held.take((6, "a", 0))
    assert held.decide(7) == [(6, 3), (6, 1), (6, 3)]


def test_rows_out_of_reach_are_forgotten() -> None:
    held = Held("SELECT SUM(x) OVER (RANGE 5 SECONDS PRECEDING) AS n FROM s")
    held.take(*((at, "a", 1) for at in range(100)))
    assert held.decide(100)[-1] == (99, 6)
    assert kept(held) == 5
    held.restart()
    held.take((101, "a", 1))
    assert held.decide(ALL_SEEN) == [(101, 5)]


def test_rows_frames_and_lag_keep_the_last_rows_of_each_key() -> None:
    held = Held(
        "SELECT k, LAG(x, 2) OVER (PARTITION BY k) AS before, SUM(x) OVER (PARTITION BY k ROWS 1 PRECEDING) AS two FROM s"
    )
    held.take((1, "a", 1), (2, "a", 2), (3, "b", 9), (4, "a", 3))
    assert held.decide(4) == [
        (1, "a", None, 1),
        (2, "a", None, 3),
        (3, "b", None, 9),
        (4, "a", 1, 5),
    ]
    assert kept(held) == 3
    held.restart()
    held.take((4, "a", 4))
    assert held.decide(4) == [(4, "a", 2, 7)]


def test_a_key_that_was_silent_starts_anew_and_is_forgotten() -> None:
    held = Held(
        "SELECT k, ROW_NUMBER() OVER (PARTITION BY k) AS n FROM s", "SET KEY_IDLE = 5 SECONDS;"
    )
    held.take((1, "a", 0), (6, "a", 0), (12, "a", 0), (12, "b", 0))
    assert held.decide(12) == [(1, "a", 1), (6, "a", 2), (12, "a", 1), (12, "b", 1)]
    held.take((18, "b", 0))
    assert held.decide(18) == [(18, "b", 1)]
    assert kept(held) == 1


def test_silent_keys_stay_aside_and_come_back() -> None:
    held = Held(
        "SELECT k, ROW_NUMBER() OVER (PARTITION BY k) AS n, LAG(x) OVER (PARTITION BY k) AS b FROM s"
    )
    held.take(*((at, f"k{at}", at) for at in range(50)))
    assert len(held.decide(50)) == 50
    for at in range(20):
        held.take((60 + at, f"k{at}", 7))
        assert held.decide(60 + at) == [(60 + at, f"k{at}", 2, at)]
    assert kept(held) == 50
