"""When most queries of a join have left, the lineage that they had is given back, and those that stay miss nothing."""

from __future__ import annotations

import numpy as np
import pytest

import cqc
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.join.execute.demand_join import DemandSteps
from cqc.runtime.join.execute.flat_join import FlatJoin
from cqc.runtime.join.execute.join_node import JoinNode
from cqc.runtime.join.execute.route_steps import PlainSteps
from cqc.runtime.join.execute.routed_join import RoutedSteps
from cqc.runtime.join.membership.membership import _NARROWER
from cqc.runtime.join.tree.tree_join import TreeJoin
from tests.support.join_nodes import SmallNode, packet_of

DECLARED = """
CREATE STREAM s (ts BIGINT, k BIGINT, x BIGINT);
CREATE STREAM r (ts BIGINT, k BIGINT, y BIGINT);
CREATE STREAM t (ts BIGINT, x BIGINT, y BIGINT);
"""
STAYING = {
    "near": "SELECT a.x AS x, b.y AS y FROM s a, r b WHERE a.k = b.k AND a.x > 3 MAXWINDOW 50 SEC",
    "theta": "SELECT a.x AS x, b.y AS y FROM s a, r b WHERE a.k = b.k AND a.x < b.y MAXWINDOW 9 SEC",
    "kept": "SELECT a.x AS x, b.y AS y FROM s a, r b WHERE a.k = b.k AND b.y > 7 BEGIN NOW - 60 END NOW",
    "late": "SELECT a.x AS x, b.x AS y FROM s a, s b WHERE a.k = b.k AND a.x > 9 MAXWINDOW 50 SEC",
    "third": "SELECT a.x AS x, b.y AS y FROM s a, r b, t c WHERE a.k = b.k AND a.x = c.x AND b.y = c.y MAXWINDOW 40 SEC",
}
GOING = (
    "SELECT a.x AS x FROM s a, r b WHERE a.k = b.k AND a.x > {n} MAXWINDOW 40 SEC",
    "SELECT a.x AS x FROM s a, r b WHERE a.k = b.k AND b.y > {n} BEGIN NOW - 60 END NOW",
    "SELECT a.x AS x FROM s a, r b, t c WHERE a.k = b.k AND a.x = c.x AND b.y = c.y AND c.x > {n} MAXWINDOW 30 SEC",
)
WAYS = {
    "flat": (Strategy(feedback="off"), PlainSteps),
    "routed": (Strategy(routing="lottery"), RoutedSteps),
    "demand": (Strategy(feedback="demand"), DemandSteps),
    "tree": (Strategy(join="left-deep", feedback="off"), TreeJoin),
    "tree with feedback": (Strategy(join="bushy", feedback="exact"), TreeJoin),
}


class Churned:
    """An engine with some queries that stay, in the middle of which others come and go."""

    def __init__(self, going: int, strategy: Strategy) -> None:
        self.engine = cqc.Engine(cqc.compile(DECLARED), strategy=strategy)
        self._now = 0
        self._going = 0
        for name, text in STAYING.items():
            if name in ("near", "kept", "third"):
                self.engine.register(text, name)
            self.come(going // len(STAYING))
        self.push()
        for name in ("theta", "late"):
            self.engine.register(STAYING[name], name)
            self.push()

    def come(self, count: int) -> None:
        for _ in range(count):
            self._going += 1
            text = GOING[self._going % len(GOING)].format(n=self._going)
            self.engine.register(text, f"going{self._going}")

    def leave(self) -> None:
        while self._going:
            self.engine.unregister(f"going{self._going}")
            self._going -= 1

    def push(self) -> None:
        at = range(self._now, self._now + 20)
        self._now += 20
        self.engine.push("s", [{"ts": each, "k": each % 4, "x": each % 23} for each in at])
        self.engine.push("r", [{"ts": each, "k": each % 4, "y": each % 19} for each in at])
        self.engine.push("t", [{"ts": each, "x": each % 23, "y": (each + 4) % 19} for each in at])

    def found(self) -> list[str]:
        own = [each for each in self.engine.drain() if each.query in STAYING]
        asked = self.engine.invoke("kept").to_pylist()
        return sorted(map(str, [(each.query, each.ts, each.row) for each in own] + asked))

    def joins(self) -> list[JoinNode]:
        found = [self.engine._circuit.join(name) for name in STAYING]
        return [join for join in dict.fromkeys(found) if isinstance(join, JoinNode)]


@pytest.mark.parametrize("way", WAYS)
def test_what_stays_is_as_if_nobody_had_come(way: str) -> None:
    strategy, kind = WAYS[way]
    churned, quiet = Churned(840, strategy), Churned(0, Strategy(feedback="off"))
    third = churned.engine._circuit.join("third")
    assert third is not None
    executor = third.executor
    assert type(executor.steps if isinstance(executor, FlatJoin) else executor) is kind
    wide = [join for join in churned.joins() if join.members.words > _NARROWER]
    size = sum(each.bytes for each in churned.engine.measure())
    assert churned.engine._circuit.join("near") in wide
    assert churned.engine._circuit.join("third") in wide
    churned.leave()
    assert max(join.members.words for join in churned.joins()) < _NARROWER
    assert sum(each.bytes for each in churned.engine.measure()) < size / 4
    for each in (churned, quiet):
        each.push()
    churned.come(300)
    for each in (churned, quiet):
        each.push()
        each.push()
    found = quiet.found()
    assert len(found) > 100
    assert any(each.startswith("('third'") for each in found)
    assert churned.found() == found
    counts = churned.engine.result_counts()
    assert {name: counts[name] for name in STAYING} == quiet.engine.result_counts()


PAIRS = "SELECT a.k AS x FROM a, b WHERE a.k = b.k MAXWINDOW 5 SEC;"
OTHERS = "SELECT b.k AS x FROM b, c WHERE b.l = c.l MAXWINDOW 5 SEC;"


def test_items_of_a_host_that_leaves_are_freed_and_used_again() -> None:
    node = SmallNode(PAIRS + OTHERS)
    members = node.join.members
    assert members.items_of == {"a": [0], "b": [1], "c": [2]}
    node.join.remove(node.seats[0])
    assert members.items_of == {"b": [1], "c": [2]}
    host = node.bodies[0].host
    assert host is not None
    node.join.take(host)
    assert members.items_of == {"b": [1], "c": [2], "a": [0]}
    assert members.alone is None


def test_lineage_is_stored_beside_the_tuples_in_all_words() -> None:
    members = SmallNode(PAIRS).join.members
    members.inputs[0].state.insert(packet_of([(1, 1, 1, 0.0), (2, 1, 1, 0.0)]))
    members.inputs[0].lineage.values[:] = 9
    members.store(0, np.array([[1], [0]], np.uint64), 0)
    assert members.inputs[0].lineage.values[:2, 0].tolist() == [1, 0]
    members.clear([0])
    assert members.inputs[0].lineage.values[:2, 0].tolist() == [0, 0]
