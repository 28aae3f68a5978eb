"""Instants as text, beside Python's own calendar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from cqc.runtime.columns.bytes.instant_text import instant_texts
from cqc.runtime.columns.timestamp_text import FIRST_US, LAST_US


def test_instants_are_those_of_the_calendar() -> None:
    chosen = np.random.default_rng(2)
    us = np.concatenate(
        [
            chosen.integers(FIRST_US, LAST_US, 5_000),
            chosen.integers(FIRST_US // 10**6, LAST_US // 10**6, 5_000) * 10**6,
            [FIRST_US, LAST_US, 0, -1, 1],
        ]
    )
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    for number, text in zip(us.tolist(), instant_texts(us).to_pylist(), strict=True):
        moment = epoch + timedelta(microseconds=number)
        shown = f"{moment.year:04d}-{moment:%m-%d %H:%M:%S}"
        fraction = f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else ""
        assert text == shown + fraction
