"""The retained past in an engine of its own."""

import pytest

from cqc.runtime.errors import Halted
from cqc.runtime.serve.views.past import in_batches, scratch_engine, take_past
from tests.unit.runtime.serve.views.services import push, rows_of, service_of


def test_the_past_is_what_is_kept() -> None:
    service = service_of()
    push(service, "s", *rows_of(30))
    past = take_past(service, ["s", "r"], 100)
    assert past.rows == 30
    assert past.cut == ()


def test_a_long_past_is_cut_at_one_event_time_for_all_streams() -> None:
    service = service_of()
    push(service, "s", *rows_of(30))
    push(service, "r", {"ts": 3, "k": 1}, {"ts": 28, "k": 1})
    past = take_past(service, ["s", "r"], 5)
    assert past.cut == ("s",)
    assert past.tuples["s"].ts_us.tolist() == [n * 1_000_000 for n in range(25, 30)]
    assert past.tuples["r"].ts_us.tolist() == [28_000_000]


def test_batches_come_in_event_time_order_and_nothing_is_late() -> None:
    service = service_of()
    push(service, "s", *rows_of(10, start=100))
    push(service, "r", *({"ts": 100 + n, "k": n} for n in range(10)))
    past = take_past(service, ["s", "r"], 100)
    with scratch_engine(past, 10.0) as engine:
        for batch in in_batches(past, engine, 3):
            engine.push_typed(batch)
        counts = engine.stream_counts()
    assert counts["s"].read == counts["r"].read == 10
    assert counts["s"].late == counts["r"].late == 0


def test_an_engine_that_takes_too_long_stops() -> None:
    service = service_of()
    push(service, "s", *rows_of(10))
    past = take_past(service, ["s"], 100)
    with scratch_engine(past, 60.0) as engine:
        engine.watch.halt("it took too long")
        with pytest.raises(Halted):
            engine.push_typed(next(in_batches(past, engine, 3)))


def test_what_runs_is_not_touched() -> None:
    service = service_of()
    push(service, "s", *rows_of(10))
    before = service.engine.metrics()
    past = take_past(service, ["s"], 100)
    with scratch_engine(past, 10.0) as engine:
        engine.register("SELECT k FROM s", name="big")  # a name that is taken there
        for batch in in_batches(past, engine, 100):
            engine.push_typed(batch)
    after = service.engine.metrics()
    assert after.streams == before.streams
    assert [each.tuples_in for each in after.operators] == [
        each.tuples_in for each in before.operators
    ]
