"""Metaqueues: who waits, who goes on, how thresholds follow, and that waiting changes no answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import pytest

import cqc
from cqc.benchmarks.papers.teddies import workload
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.adapt.settings import TRAINS
from cqc.runtime.join.execute.flat_join import FlatJoin
from cqc.runtime.join.execute.metaqueues import (
    MetaQueue,
    MetaQueues,
    TrainSize,
)
from cqc.runtime.join.step.probe_step import Rows
from tests.property.test_strategies import check_case
from tests.support.generators import random_case
from tests.support.generators.random_joins import (
    Bench,
    random_query,
    random_row,
    random_shape,
    random_times,
)

SIZES = (1, 3, 64, None)


@dataclass(eq=False)
class Item:
    item: int


@dataclass(eq=False)
class FakeLevel:
    """As much of a level as a queue looks at."""

    bound_items: list[int]
    target: Item
    rows: Rows = field(default_factory=lambda: Rows(2, 1))


@dataclass(eq=False)
class FakeBranch:
    level: FakeLevel


def branch_of(*items: int) -> Any:
    return FakeBranch(FakeLevel(list(items[:-1]), Item(items[-1])))


def rows_of(count: int, first: int = 0) -> Rows:
    rows = Rows(1, 1)
    if count > rows.room:
        rows.resize(count)
    rows.count = count
    rows.positions[0, :count] = np.arange(first, first + count)
    rows.ts[0, :count] = 0
    rows.lineage[:count] = 1
    return rows


def wide_open(queues: MetaQueues, *items: int) -> MetaQueue:
    """A queue that has seen that its rows find little."""
    queue = queues.of(branch_of(*items))
    queue.size.most = 1 << 14
    return queue


def test_few_rows_wait_while_more_tuples_follow() -> None:
    queues = MetaQueues()
    queue = wide_open(queues, 0, 1)
    assert not queues.passes(queue, TRAINS.first - 1, more=True)
    assert queues.passes(queue, TRAINS.first, more=True)


def test_no_row_waits_where_nothing_follows() -> None:
    queues = MetaQueues()
    assert queues.passes(wide_open(queues, 0, 1), 1, more=False)


def test_the_last_rows_join_those_that_wait() -> None:
    queues = MetaQueues()
    queue = wide_open(queues, 0, 1)
    queues.put(queue, rows_of(3), 0)
    assert not queues.passes(queue, 2, more=False)
    queues.put(queue, rows_of(2, first=3), 0)
    assert queues.next_waiting() is queue
    taken = queue.take()
    assert taken.positions[0, : taken.count].tolist() == [0, 1, 2, 3, 4]
    assert not queues


def test_a_queue_is_ready_when_it_holds_its_threshold() -> None:
    queues = MetaQueues()
    queue = wide_open(queues, 0, 1)
    queues.put(queue, rows_of(TRAINS.first - 1), 0)
    assert queues.next_ready() is None
    queues.put(queue, rows_of(1), 0)
    assert queues.next_ready() is queue
    assert queue.take().count == TRAINS.first


def test_ready_queues_are_taken_in_turn_and_go_on_filling_until_then() -> None:
    queues = MetaQueues()
    one, two = wide_open(queues, 0, 1), wide_open(queues, 0, 1, 2)
    for queue in (two, one):
        queues.put(queue, rows_of(TRAINS.first - 1), 0)
        queues.put(queue, rows_of(TRAINS.first - 1), 0)
    queues.put(two, rows_of(2), 0)
    assert queues.next_ready() is two
    assert two.take().count == 2 * TRAINS.first
    assert queues.next_ready() is one
    assert queues.next_ready() is None


def test_a_threshold_doubles_when_twice_as_many_rows_are_taken() -> None:
    size = TrainSize()
    size.most = 1 << 14
    size.saw(2 * TRAINS.first - 1)
    assert size.threshold == TRAINS.first
    size.saw(2 * TRAINS.first)
    assert size.threshold == 2 * TRAINS.first
    for _ in range(20):
        size.saw(1 << 20)
    assert size.threshold == TRAINS.most


def test_a_queue_that_waits_too_long_halves_its_threshold_until_it_is_ready() -> None:
    queues = MetaQueues()
    busy, slow = wide_open(queues, 0, 1), wide_open(queues, 0, 1, 2)
    queues.put(slow, rows_of(TRAINS.first // 4), 0)
    for _ in range(TRAINS.starved):
        queues.ran(busy, TRAINS.first, 0)
    assert slow.size.threshold == TRAINS.first
    queues.ran(busy, TRAINS.first, 0)
    assert slow.size.threshold == TRAINS.first // 2
    assert queues.next_ready() is None
    queues.ran(busy, TRAINS.first, 0)
    assert queues.next_ready() is slow
    slow.take()
    assert slow.counter == 0


def test_the_counter_of_an_empty_queue_stands_still() -> None:
    queues = MetaQueues()
    busy, empty = wide_open(queues, 0, 1), wide_open(queues, 0, 1, 2)
    for _ in range(10 * TRAINS.starved):
        queues.ran(busy, TRAINS.first, 0)
    assert (empty.counter, empty.size.threshold) == (0, TRAINS.first)


def test_rows_that_wait_are_copied_and_their_oldest_start_is_known() -> None:
    queues = MetaQueues()
    queue = wide_open(queues, 0, 1)
    reused = rows_of(2)
    queues.put(queue, reused, 7)
    reused.positions[0, :2] = 99
    queues.put(queue, rows_of(1, first=2), 5)
    taken = queue.take()
    assert taken.positions[0, : taken.count].tolist() == [0, 1, 2]
    assert queue.oldest_us == 5


def test_the_end_of_a_turn_begins_with_the_shortest_history() -> None:
    queues = MetaQueues()
    deep, first = wide_open(queues, 0, 1, 2), wide_open(queues, 0, 1)
    queues.put(deep, rows_of(1), 0)
    queues.put(first, rows_of(1), 0)
    assert queues.next_waiting() is first
    assert queues.next_waiting() is deep


def test_rows_that_find_too_much_are_cut_into_trains() -> None:
    queue = MetaQueues().of(branch_of(0, 1))
    rows = rows_of(100)
    assert next(queue.trains(rows)) is rows
    queue.ran(64, 1 << 20)
    assert 1 <= queue.size.most < 64
    assert queue.size.threshold == queue.size.most
    taken = [train.positions[0, : train.count].tolist() for train in queue.trains(rows)]
    assert [len(each) for each in taken[:-1]] == [queue.size.most] * (len(taken) - 1)
    assert [at for each in taken for at in each] == list(range(100))


def test_trains_grow_when_their_rows_find_little() -> None:
    size = TrainSize()
    for _ in range(10):
        size.ran(size.most, 0, room=1000)
    assert size.most == 1 << 14


def test_one_at_a_time_every_row_is_a_train() -> None:
    queues = MetaQueues()
    queues.one_at_a_time = True
    queue = queues.of(branch_of(0, 1))
    assert queues.passes(queue, 1, more=True)
    assert [train.count for train in queue.trains(rows_of(3))] == [1, 1, 1]
    queue.ran(1, 0)
    assert queue.size.threshold == 1


JOIN = """
CREATE STREAM R (ts BIGINT, a BIGINT); CREATE STREAM S (ts BIGINT, a BIGINT, b BIGINT); CREATE STREAM T (ts BIGINT, b BIGINT);
CREATE QUERY q AS SELECT R.ts AS r, S.ts AS s, T.ts AS t FROM R, S, T WHERE R.a = S.a AND S.b = T.b MAXWINDOW 100 SEC;
"""


def engine_with_partners(packet: int | None) -> cqc.Engine:
    engine = cqc.Engine(cqc.compile(JOIN), strategy=Strategy(packet=packet))
    engine.push("S", [{"ts": at, "a": at % 50, "b": at} for at in range(100)])
    engine.push("T", [{"ts": at, "b": at} for at in range(100)])
    return engine


def detail_of(engine: cqc.Engine) -> dict[str, int]:
    (join,) = (each for each in engine.measure() if "slots" in each.detail)
    return join.detail


def test_rows_of_several_packets_go_on_in_one_train() -> None:
    engine = engine_with_partners(packet=4)
    engine.push("R", [{"ts": 100, "a": at % 50} for at in range(60)])
    detail = detail_of(engine)
    assert detail["queue R -> S rows"] == 60
    assert detail["queue R -> S trains"] == 5  # 4 packets teach the order of probes, 11 wait
    assert detail["queue R -> S waited"] == 44
    assert detail["queue R S -> T trains"] <= 6
    assert len(list(engine.drain())) == 120


def test_what_waited_does_not_mislead_the_order_of_probes() -> None:
    """Later packets of a micro-batch reach less of the past: what is found by those before them says nothing of that."""
    for packet in (16, 64, None):
        strategy = Strategy(packet=packet, join="flat", feedback="off")
        engine = cqc.Engine(workload.program(), strategy=strategy, collect=False)
        for batch in workload.batches(2):
            engine.push_typed(batch)
        assert not [name for name in detail_of(engine) if name.startswith("queue R -> T")]


def test_a_micro_batch_that_is_one_packet_sees_no_queue() -> None:
    engine = engine_with_partners(packet=None)
    engine.push("R", [{"ts": 100, "a": at % 50} for at in range(60)])
    detail = detail_of(engine)
    assert {number for name, number in detail.items() if name.endswith(" waited")} == {0}
    assert len(list(engine.drain())) == 120


def test_new_tuples_are_in_their_state_before_anything_waits() -> None:
    """Two items of one relation: what a packet brings meets itself, once, whatever the packets."""
    program = JOIN + "CREATE QUERY p AS SELECT x.ts AS x, y.ts AS y FROM R x, R y WHERE x.a = y.a;"
    program = program.replace("y.a;", "y.a MAXWINDOW 9 SEC;")
    for packet in SIZES:
        engine = cqc.Engine(cqc.compile(program), strategy=Strategy(packet=packet))
        engine.push("R", [{"ts": at, "a": 1} for at in range(5)])
        assert len(list(engine.drain())) == 25


@pytest.mark.parametrize("seed", range(6))
def test_packets_never_change_an_answer(seed: int) -> None:
    random = Random(f"packets {seed}")
    case = random_case(random.randrange(10_000), kinds=("join", "joins"))
    for packet in SIZES:
        routing = random.choice(("selectivity", "lottery", "random"))
        feedback = random.choice(("off", "auto", "demand"))
        check_case(case, Strategy(packet=packet, routing=routing, feedback=feedback))


@pytest.mark.parametrize("seed", range(8))
def test_what_waits_between_packets_is_found_once(seed: int) -> None:
    """Thresholds that are never met, and trains of any size, over random joins judged by the oracle."""
    random = Random(f"queues {seed}")
    shape = random_shape(random)
    bench = Bench([random_row(random, number) for number in range(4)])
    running = [bench.add(random_query(random, shape)) for _ in range(3)]
    for clock in range(3):
        for name in "abc":
            packets = random.randint(1, 3)
            for at in range(packets):
                for join in bench.joins.values():
                    assert isinstance(join.executor, FlatJoin)
                    for size in join.executor.queues.sizes().values():
                        size.most = random.choice((1, 2, 5, 64))
                        size.worth.value = random.choice((1, 3, 1000))
                count = random.randint(0, 2)
                rows = [random_row(random, 100 * clock + 10 * at + n) for n in range(count)]
                times = random_times(random, clock, count, bench.newest[name])
                bench.push(name, rows, times, more=at + 1 < packets)
        bench.end_batch()
    for each in running:
        assert sorted(each.found) == bench.wanted(each)
