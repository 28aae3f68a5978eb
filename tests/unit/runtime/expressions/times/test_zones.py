"""What clocks show, near and far."""

from __future__ import annotations

import numpy as np
import pytest

from cqc.compiler.meaning.times.time_zones import zone_called
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.expressions.times.zones import clock_of, instants_in

HOUR_US = 3_600_000_000


@pytest.mark.parametrize(
    ("us", "shift_us"),
    [
        (1_719_792_000_000_000, 2 * HOUR_US),  # 2024-07-01
        (-5_348_808_000_000_000, 3_208_000_000),  # 1800, by the sun
        (221_860_684_800_000_000, 2 * HOUR_US),  # 9000-07-01
        (347_955_307_200_000_000, 2 * HOUR_US),  # 12996-07-01
    ],
)
def test_clocks_of_berlin(us: int, shift_us: int) -> None:
    shown, failed, _ = clock_of("Europe/Berlin", Column(ColumnType.TIMESTAMP, np.array([us])))
    assert failed is None
    assert shown.tolist() == [us + shift_us]
    back, _, _ = instants_in("Europe/Berlin", Column(ColumnType.TIMESTAMP, shown))
    assert back.tolist() == [us]


@pytest.mark.parametrize("name", ["GMT+1", "+01", "+01:00", "UTC+1", "+0100", "PST", "UTC", "Z"])
def test_zones_have_many_names(name: str) -> None:
    assert zone_called(name) is not None


@pytest.mark.parametrize("name", ["", "europe/berlin", "Mars", "+19:00", "12", "../etc"])
def test_what_is_no_zone(name: str) -> None:
    assert zone_called(name) is None
    _, failed, _ = clock_of(name, Column(ColumnType.TIMESTAMP, np.array([0])))
    assert failed is not None
    assert failed.all()
