"""A query that works without end is stopped in the middle of a micro-batch, and all others get what they would have got."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import cqc
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.errors import Halted
from cqc.runtime.join.execute.metaqueues import MetaQueue
from cqc.runtime.join.execute.result_limits import Flood

if TYPE_CHECKING:
    from cqc.runtime.adapt.work_watch import WorkWatch

DECLARED = """
CREATE STREAM s (ts BIGINT, k BIGINT, x BIGINT);
CREATE STREAM r (ts BIGINT, k BIGINT, x BIGINT);
"""
GOOD = {
    "pairs": "SELECT a.x AS a, b.x AS b FROM s a, s b WHERE a.k = b.k AND a.x < b.x MAXWINDOW 2 SEC",
    "both": "SELECT a.x AS a, b.x AS b FROM s a, r b WHERE a.k = b.k AND a.x < 2 * b.x MAXWINDOW 2 SEC",
    "rows": "SELECT a.x AS a, b.x AS b FROM s [ROWS 2] a, r b WHERE a.k = b.k MAXWINDOW 9 SEC",
    "kept": "SELECT COUNT(*) AS n FROM s a, s b WHERE a.x = b.x + 1 BEGIN NOW - 9 END NOW EVERY 3 SEC",
}
FIVE = "FROM s a, s b, s c, s d, s e WHERE a.x < b.x AND b.x < c.x AND c.x < d.x AND d.x + a.x * e.x < 0"
ENDLESS = {
    "five": f"SELECT a.x AS a {FIVE} MAXWINDOW 1 HOUR",
    "key": "SELECT a.x AS a FROM s a, s b, r c, s d WHERE a.k = b.k AND b.k = c.k AND c.k = d.k"
    " AND a.x + b.x * c.x + d.x < 0 MAXWINDOW 1 HOUR",
    "asked": f"SELECT COUNT(*) AS n {FIVE} BEGIN NOW - 1 HOUR END NOW",
}
LAST = (
    "SELECT a.x AS a FROM s [ROWS 99] a, s [ROWS 99] b, r [ROWS 99] c, s [ROWS 99] d, r [ROWS 99] e"
    " WHERE a.x + b.x * c.x + d.x * e.x < 0 MAXWINDOW 1 HOUR"
)
ROWS = [{"ts": at // 8, "k": at % 3, "x": at} for at in range(120)]


class Ticks:
    """A clock that a test can rely on: it goes on by being looked at."""

    def __init__(self, step: float) -> None:
        self.now = 0.0
        self.step = step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def watched(engine: cqc.Engine, seconds: float, step: float = 0.005) -> WorkWatch:
    engine.bound(found=10**9, past=10**9, seconds=seconds)
    engine.watch.clock = engine.watch.processor = Ticks(step)
    return engine.watch


def answers(
    queries: dict[str, str], strategy: Strategy, seconds: float, step: float = 0.005
) -> tuple[object, ...]:
    engine = cqc.Engine(cqc.compile(DECLARED), strategy=strategy)
    for name, text in queries.items():
        engine.register(text, name)
    watched(engine, seconds, step)
    found, stopped = [], {}
    for begin in range(0, len(ROWS), 40):
        engine.push_batch({"s": ROWS[begin : begin + 40], "r": ROWS[begin : begin + 40 : 2]})
        for name, why in engine.take_silenced().items():
            engine.unregister(name)
            stopped[name] = why
        found += [
            (each.query, each.ts, each.at, tuple(each.row.values()))
            for each in engine.drain()
            if each.query in GOOD
        ]
    counts = engine.result_counts()
    return sorted(map(str, found)), {name: counts[name] for name in GOOD}, sorted(stopped.items())


WHY = "it took more than 0.3 seconds at once, which is what --query-seconds allows"


@pytest.mark.parametrize(
    "strategy",
    [
        Strategy(),
        Strategy(sharing=False),
        Strategy(packet=16),
        Strategy(join="bushy", feedback="exact"),
        Strategy(join="flat", feedback="demand"),
        pytest.param(Strategy(routing="lottery"), marks=pytest.mark.slow),
        pytest.param(Strategy(order="WAJ"), marks=pytest.mark.slow),
        pytest.param(Strategy(join="left-deep"), marks=pytest.mark.slow),
        pytest.param(Strategy(join="bushy"), marks=pytest.mark.slow),
        pytest.param(Strategy(join="left-deep", feedback="bloom"), marks=pytest.mark.slow),
    ],
    ids=lambda strategy: (
        f"{strategy.join}, {strategy.feedback}, {strategy.packet}, {strategy.order}"
    ),
)
def test_others_get_what_they_would_have_got(strategy: Strategy) -> None:
    rows, counts, _ = answers(GOOD, strategy, 0.3)
    assert rows
    stopped = sorted(dict.fromkeys(ENDLESS, WHY).items())
    assert answers({**ENDLESS, **GOOD}, strategy, 0.3) == (rows, counts, stopped)


def test_a_join_of_the_last_rows_is_stopped_as_well() -> None:
    rows, counts, _ = answers(GOOD, Strategy(), 3, step=0.02)
    found = answers({"last": LAST, **GOOD}, Strategy(), 3, step=0.02)
    assert found == (rows, counts, [("last", WHY.replace("0.3", "3"))])


def test_with_time_enough_nobody_is_stopped() -> None:
    rows, counts, _ = answers(GOOD, Strategy(), 0.3)
    assert answers({"key": ENDLESS["key"], **GOOD}, Strategy(), 1e9) == (rows, counts, [])


def test_of_a_family_the_members_that_accept_much_are_stopped() -> None:
    engine = cqc.Engine(cqc.compile(DECLARED))
    text = "SELECT a.x AS a FROM s a, s b WHERE {} * a.x > b.x MAXWINDOW 1 HOUR"
    for factor in (-2, -1, 1, 2):
        engine.register(text.format(factor), f"f{factor}")
    engine.push("s", ROWS)
    watched(engine, 1.0)
    join = engine._circuit.join("f1")
    assert join is not None
    (slot,) = join.slots
    flood = Flood([slot.number], "it takes too long")
    assert join.limits.silence(join.members, flood, all_members=False)
    assert set(engine._circuit.silenced()) == {"f1", "f2"}


def test_a_query_that_is_dropped_meanwhile_leaves_alone() -> None:
    engine = cqc.Engine(cqc.compile(DECLARED))
    for name, text in {"five": ENDLESS["five"], **GOOD}.items():
        engine.register(text, name)
    watch = watched(engine, 1e9)
    threading.Timer(0.2, watch.drop, ["five"]).start()
    engine.push_batch({"s": ROWS * 3, "r": ROWS})
    assert engine.take_silenced() == {"five": "it is being removed"}
    engine.unregister("five")
    assert not watch.dropped
    assert engine.result_counts()["pairs"] > 0


def push_for_ever(engine: cqc.Engine) -> None:
    while True:
        engine.push_batch({"s": ROWS * 3, "r": ROWS * 3})


@pytest.mark.parametrize("text", [ENDLESS["five"], ENDLESS["key"], LAST])
def test_everything_stops_when_that_is_asked_for(text: str) -> None:
    engine = cqc.Engine(cqc.compile(DECLARED))
    engine.register(text, "endless")
    threading.Timer(0.2, engine.watch.halt, ["enough"]).start()
    with pytest.raises(Halted, match="enough"):
        push_for_ever(engine)


def test_a_registration_that_takes_too_long_changes_nothing() -> None:
    engine = cqc.Engine(cqc.compile(DECLARED))
    engine.register(GOOD["kept"], "kept")
    engine.push("s", ROWS)
    watched(engine, 1.0)
    with pytest.raises(cqc.RunError, match="asked was given up while it was joined with the"):
        engine.register(ENDLESS["asked"], "asked")
    assert engine.queries == ("kept",)
    engine.push("s", [{"ts": 20, "k": 1, "x": 1}])
    assert engine.take_silenced() == {}


def test_an_answer_that_takes_too_long_is_given_up() -> None:
    engine = cqc.Engine(cqc.compile(DECLARED))
    engine.register("SELECT x, k, x + k AS y FROM s BEGIN 0 END NOW ORDER BY x", "asked")
    engine.push("s", ROWS)
    assert len(engine.ask("asked").block) == len(ROWS)
    watched(engine, 0.002)
    with pytest.raises(cqc.RunError, match="the answer of asked was given up: it took more than"):
        engine.ask("asked")
    watched(engine, 1e9)
    assert len(engine.ask("asked").block) == len(ROWS)


def test_a_periodic_query_that_takes_too_long_is_stopped() -> None:
    engine = cqc.Engine(cqc.compile(DECLARED))
    text = "SELECT x + {} AS y FROM s BEGIN NOW - {} END NOW EVERY 1 SEC ORDER BY y LIMIT 1"
    engine.register(text.format(0, 2), "short")
    engine.register(text.format(0, 9_999), "long")
    engine.register(text.format(1, 2), "other")
    watched(engine, 0.05)
    count = 3_000
    rows = {
        "ts": np.arange(count) // 3, "k": np.zeros(count, np.int64), "x": np.arange(count)
    }  # fmt: skip
    engine.push("s", pa.table(rows))
    assert set(engine.take_silenced()) == {"long"}
    found = [each.query for each in engine.drain()]
    assert found.count("short") == found.count("other") > 0


def test_kernels_give_up_what_would_take_long_and_are_called_with_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Enough rows of one key that one call would look at more tuples than a call may."""
    query = "SELECT a.x AS x FROM s a, r b WHERE a.k = b.k AND a.x < b.x - 5990 MAXWINDOW 1 HOUR"
    engine = cqc.Engine(cqc.compile(DECLARED))
    engine.register(query, "push")
    gave_up: list[int] = []
    known = MetaQueue.gave_up
    monkeypatch.setattr(
        MetaQueue, "gave_up", lambda queue, rows: (gave_up.append(rows), known(queue, rows))
    )
    zeros, numbers = np.zeros(6_000, np.int64), np.arange(6_000)
    other = pa.table({"ts": zeros, "k": numbers + 1, "x": numbers})
    same = pa.table({"ts": zeros, "k": zeros, "x": numbers})
    engine.push("r", same)
    for _ in range(8):  # so that long trains are known to be fine
        engine.push("s", other)
    engine.push("s", same)
    assert engine.result_counts()["push"] == 45
    assert gave_up
