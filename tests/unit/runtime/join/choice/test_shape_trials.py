"""What `--join auto` does while it runs: it takes the cheaper shape, keeps it, and gives up what does not pay."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

import cqc
from cqc.runtime.adapt import settings
from cqc.runtime.join.choice.shape_costs import ShapeCosts, Statistics
from cqc.runtime.join.choice.shape_trials import ShapeTrials
from cqc.runtime.join.execute.demand_join import DemandSteps
from cqc.runtime.join.execute.flat_join import FlatJoin
from cqc.runtime.join.tree.tree_join import TreeJoin

if TYPE_CHECKING:
    from cqc.compiler.physical.tree_shape import Shape
    from cqc.runtime.join.execute.join_node import JoinNode

STREAMS = "".join(f"CREATE STREAM {name} (ts BIGINT, v BIGINT, w BIGINT);" for name in "abc")
# Few a and b agree; c comes after both and agrees with all, so the flat join meets every a and b again for every c.
THETAS = (
    "SELECT a.v AS x FROM a, b, c WHERE a.v > b.v AND a.w < c.w AND b.w < c.w"
    " WINDOW a.ts <= c.ts AND b.ts <= c.ts MAXWINDOW 500 SEC;"
)


def statistics(
    sizes: list[float], came: list[float], rest: dict[tuple[int, int], float]
) -> Statistics:
    count = len(sizes)
    shares = np.ones((count, count))
    for (one, two), share in rest.items():
        shares[one, two] = shares[two, one] = share
    return Statistics(
        np.array(sizes), np.array(came), {}, shares, np.zeros((count, count), np.bool_)
    )


def test_what_few_pairs_pass_is_joined_first_and_kept() -> None:
    costs = ShapeCosts(statistics([100, 100, 1], [1000, 1000, 1000], {(0, 1): 0.001}))
    shape, cost = costs.best()
    assert shape == ((0, 1), 2)
    assert cost == pytest.approx(costs.of(shape))
    assert cost < 0.2 * costs.flat()


def test_where_every_pair_agrees_keeping_pairs_does_not_pay() -> None:
    costs = ShapeCosts(statistics([50, 50, 50], [500, 500, 500], {}))
    assert costs.flat() < costs.of(((0, 1), 2))


def test_equal_values_count_once_however_many_columns_are_equal() -> None:
    pairs = [(one, two) for one in range(3) for two in range(3) if one != two]
    equal = {pair: {0: 0.01} for pair in pairs}
    known = Statistics(
        np.full(3, 100.0), np.full(3, 100.0), equal, np.ones((3, 3)), np.zeros((3, 3), np.bool_)
    )
    assert ShapeCosts(known).combinations(frozenset((0, 1, 2))) == pytest.approx(100.0)


def eager(monkeypatch: pytest.MonkeyPatch, **changes: float) -> None:
    """Looks come after every few tuples, whatever they cost."""
    rule = replace(settings.SHAPE, budget=1e9, enough_s=0.0, **changes)  # type: ignore[arg-type]  # all are floats
    monkeypatch.setattr(settings, "SHAPE", rule)


def engine_of(query: str) -> cqc.Engine:
    return cqc.Engine(cqc.compile(STREAMS + query))


def push(engine: cqc.Engine, clock: int, rows: int = 20) -> None:
    for name, low in (("a", 0), ("b", 100), ("c", 0)):
        values = [
            {"ts": clock, "v": low + at + 90 * (at == 0), "w": at if name != "c" else 999}
            for at in range(rows)
        ]
        engine.push(name, values)


def test_auto_takes_the_tree_that_costs_less_and_stays_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    eager(monkeypatch, better=1e9, worse=1e9)  # whatever the clock says
    engine = engine_of(THETAS)
    shapes: list[Shape | None] = []
    for clock in range(40):
        push(engine, clock)
        join = engine._circuit.join("q1")
        assert join is not None
        executor = join.executor
        shapes.append(executor.shape if isinstance(executor, TreeJoin) else None)
    assert shapes[0] is None
    assert shapes[-1] == ((0, 1), 2)
    changes = sum(one != two for one, two in itertools.pairwise(shapes))
    assert changes == 1
    detail = next(each.detail for each in engine.measure() if each.name == "join0")
    assert detail["shape ((a b) c) chosen"] == 1


class Timed:
    """A join that takes so many seconds a tuple in each shape, and whose statistics speak for a tree."""

    executor = None
    alone = SimpleNamespace(
        inputs=[
            SimpleNamespace(state=SimpleNamespace(relation=SimpleNamespace(name=name)))
            for name in "abc"
        ]
    )
    slots = ()
    name = "join0"

    def __init__(self, flat_s: float, tree_s: float) -> None:
        self._each_s = {True: flat_s, False: tree_s}
        self.tuples_in, self.seconds = 0, 0.0

    def run(self, trials: ShapeTrials, tuples: int) -> None:
        self.tuples_in += tuples
        self.seconds += tuples * self._each_s[trials.arm is None]


def looks(flat_s: float, tree_s: float, monkeypatch: pytest.MonkeyPatch) -> ShapeTrials:
    def choose(self: ShapeTrials, subject: JoinNode, each_s: float) -> bool:
        """The estimate is always for the tree."""
        if self.arm is not None:
            self._wait_longer()
            return False
        self._try(subject, ((0, 1), 2), each_s)
        return True

    monkeypatch.setattr(ShapeTrials, "_choose", choose)
    eager(monkeypatch)
    trials, timed = ShapeTrials(), Timed(flat_s, tree_s)
    join = cast("JoinNode", timed)
    for _ in range(10_000):
        timed.run(trials, 100)
        if trials.is_due(join) and trials.look(join):
            trials.moved(join)
    return trials


def test_a_shape_that_is_faster_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = looks(1e-4, 5e-5, monkeypatch)
    assert (trials.changes, trials.returns, trials.arm) == (1, 0, ((0, 1), 2))


def test_a_shape_that_is_no_faster_is_tried_ever_more_seldom(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trials = looks(1e-4, 1e-4, monkeypatch)
    assert trials.arm is None
    assert trials.changes == trials.returns <= 6  # in a million tuples


def test_join_that_makes_no_unawaited_pairs_keeps_its_shape(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The estimate counts every pair, and this join makes hardly any of them."""
    eager(monkeypatch)
    text = "SELECT a.v AS x FROM a, b, c WHERE a.v = b.v AND a.w = c.w AND b.w = c.v MAXWINDOW 500 SEC;"
    engine = cqc.Engine(cqc.compile(STREAMS + text), keep_past=False)
    random = np.random.default_rng(1)
    for start in range(0, 3_000, 100):
        for name in "abc":
            rows = zip(*random.integers(0, 40, (2, 100)).tolist(), strict=True)
            engine.push(
                name, [{"ts": start + at, "v": v, "w": w} for at, (v, w) in enumerate(rows)]
            )
    (join,) = engine._circuit.joins_of("a")
    assert isinstance(join.executor, FlatJoin)
    assert isinstance(join.executor.steps, DemandSteps)
    assert join.executor.steps.is_asking
