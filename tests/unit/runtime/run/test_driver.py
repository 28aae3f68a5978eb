"""One driver of micro-batches: pushed, delivered and counted in this order, until the feed has ended or somebody stops it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.errors import Halted
from cqc.runtime.run import driver as driving
from cqc.runtime.run.driver import NOTHING, Driver, MicroBatch, Observer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cqc.runtime.deliver.results import ResultBlock

PROGRAM = (
    "CREATE STREAM S (ts BIGINT, x BIGINT); CREATE QUERY q AS SELECT x FROM S WHERE x > 1;"
    "CREATE QUERY n AS SELECT COUNT(*) AS n FROM S BEGIN 0 END NOW;"
)


class Notes:
    """An outlet and a ledger that note what the driver asks of them."""

    def __init__(self, *, takes: bool = True) -> None:
        self.said: list[object] = []
        self._takes = takes

    def deliver(self, batch: MicroBatch, results: Iterable[list[ResultBlock]]) -> None:
        del batch
        if self._takes:
            rows = [(block.query, len(block)) for blocks in results for block in blocks]
            self.said.append(rows)

    def count(self, batch: MicroBatch) -> None:
        self.said.append(f"counted {sum(map(len, batch.rows.values()))}")

    def count_end(self) -> None:
        self.said.append("ended")


class Listed:
    """A feed of given micro-batches; None stands for a moment without input."""

    def __init__(self, *batches: MicroBatch | None) -> None:
        self.batches = list(batches)
        self.reached: list[dict[str, int]] = []

    def next_batch(self, reached_us: Mapping[str, int]) -> MicroBatch | None:
        self.reached.append(dict(reached_us))
        return self.batches.pop(0) if self.batches else None

    @property
    def has_ended(self) -> bool:
        return not self.batches


@pytest.fixture
def engine() -> cqc.Engine:
    return cqc.Engine(cqc.compile(PROGRAM))


def batch(engine: cqc.Engine, *numbers: int) -> MicroBatch:
    return MicroBatch(engine.typed({"S": [{"ts": number, "x": number} for number in numbers]}))


def test_a_micro_batch_is_delivered_before_it_counts(engine: cqc.Engine) -> None:
    notes = Notes()
    driver = Driver(engine, notes, notes)
    driver.take(batch(engine, 1, 2, 3))
    driver.take(NOTHING)
    assert notes.said == [[("q", 2)], "counted 3", [], "counted 0"]
    assert driver.reached_us == {"s": 3_000_000}


def test_what_the_outlet_leaves_stays_in_the_engine(engine: cqc.Engine) -> None:
    notes = Notes(takes=False)
    Driver(engine, notes, notes).take(batch(engine, 2))
    assert [result.row for result in engine.drain()] == [{"x": 2}]


def test_the_loop_waits_where_there_is_nothing_and_ends_with_the_feed(
    engine: cqc.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "LOOK_S", 0)
    notes, told = Notes(), []
    feed = Listed(batch(engine, 5), None, batch(engine, 7))
    Driver(engine, notes, notes).run(feed, Observer(told.append, lambda: told.append("waited")))
    assert told == [1, "waited", 2]
    assert feed.reached == [{}, {"s": 5_000_000}, {"s": 5_000_000}, {"s": 7_000_000}]


def test_an_observer_stops_it_between_two_micro_batches(engine: cqc.Engine) -> None:
    notes = Notes()

    def stop(tuples: int) -> None:
        raise KeyboardInterrupt

    feed = Listed(batch(engine, 1), batch(engine, 2))
    with pytest.raises(KeyboardInterrupt):
        Driver(engine, notes, notes).run(feed, Observer(stop))
    assert notes.said == [[], "counted 1"]


def test_the_end_invokes_pull_queries_and_counts_too(engine: cqc.Engine) -> None:
    notes = Notes()
    driver = Driver(engine, notes, notes)
    driver.take(batch(engine, 1, 2))
    driver.finish(at_us=1_000_000)
    assert notes.said[2:] == [[("n", 1)], "ended"]
    assert engine.result_counts()["n"] == 1


def test_a_micro_batch_that_is_given_up_counts_nowhere() -> None:
    text = (
        "CREATE STREAM s (ts BIGINT, x BIGINT);"
        "SELECT a.x FROM s a, s b WHERE a.x < b.x MAXWINDOW 60 SEC"
    )
    engine = cqc.Engine(cqc.compile(text))
    notes = Notes()
    driver = Driver(engine, notes, notes)
    driver.give_up()
    with pytest.raises(Halted, match="the run is stopping"):
        driver.take(MicroBatch(engine.typed({"s": [{"ts": 1, "x": at} for at in range(50)]})))
    assert notes.said == []


def test_a_plain_function_is_an_observer_and_one_with_more_is_heard_out() -> None:
    class Shown:
        said = ""

        def __call__(self, tuples: int) -> None: ...

        def say(self, text: str) -> None:
            self.said = text

    shown = Shown()
    Observer.of(shown).say("starting")
    Observer.of(shown).waiting()
    Observer.of(None).say("nobody hears")
    assert shown.said == "starting"
