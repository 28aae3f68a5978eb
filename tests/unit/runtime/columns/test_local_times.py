"""Local times become instants: twice is the earlier one, never moves on by the gap."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np

from cqc.runtime.columns.local_times import instants_of_local

BERLIN = ZoneInfo("Europe/Berlin")


def us(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp()) * 1_000_000  # type: ignore[arg-type]  # year and so on


def instants(*local: int) -> list[int]:
    return instants_of_local(np.array(local, np.int64), BERLIN).tolist()


def test_summer_and_winter() -> None:
    assert instants(us(2024, 1, 1, 12), us(2024, 7, 1, 12)) == [
        us(2024, 1, 1, 11),
        us(2024, 7, 1, 10),
    ]


def test_a_time_that_comes_twice_is_the_earlier_instant() -> None:
    assert instants(us(2024, 10, 27, 2, 30)) == [us(2024, 10, 27, 0, 30)]


def test_a_time_that_never_comes_moves_on_by_the_gap() -> None:
    assert instants(us(2024, 3, 31, 2, 30), us(2024, 1, 1)) == [
        us(2024, 3, 31, 1, 30),
        us(2023, 12, 31, 23),
    ]
