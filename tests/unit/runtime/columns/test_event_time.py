"""Watermarks, lateness, idleness, and the instants of event-time columns."""

from __future__ import annotations

import math

import numpy as np

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python
from cqc.runtime.columns.event_time import (
    ALL_SEEN,
    NOTHING_SEEN,
    StreamClock,
    instants,
    smallest_watermark,
)
from tests.support.relations import relation

SECOND = 1_000_000


def seconds(*values: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([value * SECOND for value in values], dtype=np.int64)


def clock(delay: int = 0) -> StreamClock:
    return StreamClock(relation({"ts": T.TIMESTAMP}, delay_us=delay * SECOND))


def test_nothing_is_late_in_the_first_micro_batch() -> None:
    stream = clock()
    assert stream.watermark_us == NOTHING_SEEN
    assert stream.admit(seconds(10, 3)) is None
    assert (stream.first_us, stream.largest_us) == (3 * SECOND, 10 * SECOND)


def test_a_tuple_below_the_watermark_is_late_and_one_at_it_is_not() -> None:
    stream = clock(delay=2)
    stream.admit(seconds(10))
    assert stream.watermark_us == 8 * SECOND
    admitted = stream.admit(seconds(7, 8, 11))
    assert admitted is not None
    assert admitted.tolist() == [False, True, True]


def test_tuples_of_one_micro_batch_do_not_make_each_other_late() -> None:
    stream = clock()
    stream.admit(seconds(1))
    assert stream.admit(seconds(100, 2)) is None


def test_late_tuples_do_not_count_as_seen() -> None:
    stream = clock()
    stream.admit(seconds(10))
    stream.admit(seconds(5))
    assert stream.first_us == 10 * SECOND


def test_an_empty_micro_batch_changes_nothing() -> None:
    stream = clock()
    assert stream.admit(seconds()) is None
    assert stream.watermark_us == NOTHING_SEEN


def test_the_end_of_the_input_is_past_everything() -> None:
    stream = clock()
    stream.end_input()
    assert stream.watermark_us == ALL_SEEN


def test_a_silent_stream_is_idle_after_its_timeout_until_something_arrives() -> None:
    now = [0.0]
    quiet = StreamClock(relation({"ts": T.TIMESTAMP}), 30 * SECOND, lambda: now[0])
    busy = clock()
    busy.admit(seconds(50))
    assert smallest_watermark([quiet, busy]) == NOTHING_SEEN
    now[0] = 31.0
    assert quiet.is_idle()
    assert smallest_watermark([quiet, busy]) == 50 * SECOND
    quiet.admit(seconds(20))
    assert smallest_watermark([quiet, busy]) == 20 * SECOND


def test_double_event_time_is_rounded_to_microseconds() -> None:
    us, bad = instants(from_python(T.DOUBLE, [0.1, 1.0000004, math.nan, math.inf, None, 1e300]))
    assert us.tolist()[:2] == [100_000, 1_000_000]
    assert bad.tolist() == [False, False, True, True, True, True]


def test_whole_seconds_beyond_the_range_of_instants_are_none() -> None:
    us, bad = instants(from_python(T.BIGINT, [5, 2**62, -(2**63)]))
    assert us[0] == 5 * SECOND
    assert bad.tolist() == [False, True, True]
