"""Random tuples: NULLs, NaN, infinities, duplicates, ties in time, boundary values, disorder within the delay."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tests.support.generators.schema import SECOND_US, Declared

if TYPE_CHECKING:
    from random import Random

Value = int | float | str | bool | None
Row = tuple[Value, ...]

EPOCH_US = 1_704_067_200 * SECOND_US  # 2024-01-01 00:00:00
WHOLE = [0, 1, -1, 2, 3, 7, 10, 2**63 - 1, -(2**63), 2**53 + 1, 4_611_686_018_427_387_904]
EXACT = [0.0, 0.5, 1.0, -1.5, 2.25, 3.0, -4.0, 7.75, math.inf, -math.inf, math.nan]
ANY_DOUBLE = [0.0, -0.0, 0.1, 2.675, -2.5, 1e-5, 1e7, 12345678.9, 1e22, 1.7e308, 5e-324, 2.0**53]
ANY_DOUBLE += [math.nan, math.inf, -math.inf, 2.0**63, -(2.0**63), 0.001, 1 / 3]
TEXTS = ["", "a", "b", "ab", "abc", "A%B", "a_b", "Öl", "ÉCOLE", "école", " 12 ", "1.5", "12"]
TEXTS += [
    "1e3",
    "nan",
    "true",
    "no",
    "x\\y",
    "2024-01-01",
    "2024-01-01 00:00:05",
    "9223372036854775808",
]


def random_value(rng: Random, name: str, type_: str) -> Value:
    if rng.random() < 0.12:
        return None
    match name, type_:
        case "k", _:
            return rng.randint(0, 3)
        case "x", _:
            return rng.choice(WHOLE)
        case "d", _:
            return rng.choice(EXACT)
        case "w", _:
            return rng.choice(ANY_DOUBLE)
        case "s", _:
            return rng.choice(TEXTS)
        case "f", _:
            return rng.random() < 0.5
        case "y", _:
            return EPOCH_US // (86_400 * SECOND_US) + rng.randint(-2, 2)
        case _:
            return EPOCH_US + rng.randint(0, 12) * SECOND_US


def random_time_us(rng: Random, type_: str) -> int:
    """A few seconds on a coarse grid, so that ties and exact boundaries are common; sometimes a microsecond off."""
    base_us = EPOCH_US if type_ == "TIMESTAMP" else -2 * SECOND_US
    if type_ == "BIGINT":
        return base_us + rng.randint(0, 12) * SECOND_US
    if type_ == "DOUBLE" and rng.random() < 0.2:
        return base_us + rng.randint(0, 120) * (SECOND_US // 10)
    off = rng.choice([-1, 1]) if type_ == "TIMESTAMP" and rng.random() < 0.1 else 0
    return base_us + rng.randint(0, 24) * (SECOND_US // 2) + off


def time_value(time_us: int, type_: str) -> Value:
    if type_ == "TIMESTAMP":
        return time_us
    return time_us / SECOND_US if type_ == "DOUBLE" else time_us // SECOND_US


def random_stream(rng: Random, stream: Declared, size: int) -> list[Row]:
    """Tuples in order of arrival: each is at most the stream's delay later than its event time says."""
    assert stream.delay_us is not None
    time_type = next(column.type for column in stream.columns if column.name == "ts")
    arrivals = []
    for number in range(size):
        time_us = random_time_us(rng, time_type)
        row = random_row(rng, stream, time_value(time_us, time_type))
        arrivals.append((time_us + rng.randint(0, stream.delay_us), number, row))
        if rng.random() < 0.1:
            arrivals.append((time_us + rng.randint(0, stream.delay_us), number, row))
    arrivals.sort(key=lambda arrival: arrival[:2])
    return [row for _, _, row in arrivals]


def random_row(rng: Random, relation: Declared, time: Value) -> Row:
    return tuple(
        time if column.name == "ts" else random_value(rng, column.name, column.type)
        for column in relation.columns
    )
