"""The digits of numbers are those that Python finds, spelt as Java does."""

from __future__ import annotations

import numpy as np

from cqc.runtime.columns.bytes.double_text import double_texts
from cqc.runtime.columns.number_text import format_double, java_text


def test_texts_are_the_shortest_that_tell_a_number() -> None:
    chosen = np.random.default_rng(5)
    values = np.concatenate(
        [
            chosen.integers(0, 2**64, 20_000, dtype=np.uint64).view(np.float64),
            np.round(chosen.normal(size=5_000) * 1_000, 2),
            chosen.integers(-(10**9), 10**9, 2_000).astype(np.float64),
            10.0 ** np.arange(-323, 309),
            2.0 ** np.arange(-1_074, 1_024),
            np.nextafter(10.0 ** np.arange(-300, 309), 0),
            np.arange(200) * 5e-324,
            [0.0, -0.0, np.nan, np.inf, -np.inf, 1.7976931348623157e308, 9007199254740993.0],
        ]
    )
    assert format_double(values).to_pylist() == [java_text(each) for each in values.tolist()]


def test_of_two_digits_that_tell_the_least_numbers_the_nearest_are_shown() -> None:
    assert [java_text(each * 5e-324) for each in (1, 2, 3, 10)] == [
        "4.9E-324",
        "9.9E-324",
        "1.5E-323",
        "4.9E-323",
    ]
    _, left = double_texts(np.array([5e-324, 1e-300]))
    assert left.tolist() == [True, False]
