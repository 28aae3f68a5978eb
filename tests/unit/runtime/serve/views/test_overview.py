"""Samples of counters, and what is made of them."""

from datetime import UTC, datetime

import pytest

from cqc.runtime.serve.views.overview import Pulse, Sizes, memory_bytes
from tests.unit.runtime.serve.views.services import push, rows_of, service_of


class Clock:
    def __init__(self, at: float) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at


def test_rates_are_those_of_the_last_seconds() -> None:
    service, clock = service_of(), Clock(1_000.0)
    pulse = Pulse(service, clock, clock)
    for _ in range(3):
        push(service, "s", *rows_of(50, start=100 * int(clock.at)))
        clock.at += 1
        pulse.beat()
    rows, results, load = pulse.rates()
    assert rows["s"] == pytest.approx(50)
    assert rows["r"] == 0
    assert results == pytest.approx(39)
    assert 0 < load <= 1


def test_the_history_has_a_value_for_each_second() -> None:
    service, clock = service_of(), Clock(1_000.0)
    pulse = Pulse(service, clock, clock)
    push(service, "s", *rows_of(50))
    clock.at += 2
    pulse.beat()
    history = pulse.history()
    assert history["at"] == [1_002.0]
    assert history["tuples"] == [25.0]
    assert history["memory"][0] > 1_000_000


def test_streams_say_how_far_they_are() -> None:
    service, clock = service_of(), Clock(1_000.0)
    push(service, "s", {"ts": 7, "k": 1, "x": 1.0}, {"ts": "x", "k": 1, "x": 1.0})
    found = {each.name: each for each in Pulse(service, clock, clock).streams(Sizes.of(service))}
    assert found["s"].watermark_us == 7_000_000
    assert found["s"].lag_seconds is None  # event time is a number
    assert (found["s"].read, found["s"].rejected, found["s"].rows) == (2, 1, 1)
    assert sum(found["s"].reasons.values()) == 1
    assert found["r"].watermark_us is None
    assert not found["t"].is_stream
    assert found["s"].queries == 4


def test_the_lag_is_that_behind_the_clock() -> None:
    service = service_of("CREATE STREAM s (ts TIMESTAMP, k BIGINT); SELECT k FROM s")
    push(service, "s", {"ts": "2024-01-01T00:00:00Z", "k": 1})
    now = datetime(2024, 1, 1, 0, 0, 12, tzinfo=UTC).timestamp()
    [stream] = Pulse(service, lambda: now).streams(Sizes.of(service))
    assert stream.lag_seconds == pytest.approx(12)


def test_memory_is_what_the_process_has() -> None:
    assert memory_bytes() > 10_000_000
