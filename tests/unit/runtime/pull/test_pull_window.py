"""Instants as users name them, and the ends of windows, both inside."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest

from cqc.compiler.meaning.bound import Instant
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.errors import RunError
from cqc.runtime.pull.pull_window import (
    FAR_US,
    first_edge,
    instant_us,
    last_edge,
    near,
    show_instant,
)

YEAR_2024_US = 1_704_067_200_000_000


@pytest.mark.parametrize(
    ("at", "type_", "us"),
    [
        ("2024-01-01T00:00:00Z", T.TIMESTAMP, YEAR_2024_US),
        (dt.datetime(2024, 1, 1), T.TIMESTAMP, YEAR_2024_US),
        (7, T.BIGINT, 7_000_000),
        ("1.5", T.DOUBLE, 1_500_000),
        (10**30, T.BIGINT, FAR_US),
    ],
)
def test_an_instant_is_microseconds(at: Any, type_: T, us: int) -> None:
    assert instant_us(at, type_) == us


@pytest.mark.parametrize(
    ("at", "type_"),
    [
        ("soon", T.TIMESTAMP),
        (None, T.TIMESTAMP),
        (float("nan"), T.DOUBLE),
        (True, T.DOUBLE),
        (b"1", T.BIGINT),
    ],
)
def test_what_is_no_instant_is_refused(at: Any, type_: T) -> None:
    with pytest.raises(RunError, match="is no instant"):
        instant_us(at, type_)


def test_an_exclusive_end_is_the_neighbouring_microsecond_inside() -> None:
    begin = first_edge(Instant(from_now=True, offset_us=-60, exclusive=True))
    end = last_edge(Instant(from_now=False, offset_us=50, exclusive=True))
    assert (begin.at(100), end.at(100)) == (41, 49)
    assert begin.at(np.array([100, 130])).tolist() == [41, 71]
    assert end.at(np.array([100, 130])).tolist() == [49, 49]


def test_instants_are_shown_as_people_write_them() -> None:
    assert show_instant(YEAR_2024_US, T.TIMESTAMP) == "2024-01-01T00:00:00Z"
    assert show_instant(2_000_000, T.BIGINT) == "2"
    assert near(-(2**63)) == -FAR_US
