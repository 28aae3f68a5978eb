"""Hosts that share a join node: split where sharing does not pay, together again where that does not pay either."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import cqc
from cqc.cli.analyze import split_rows
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.adapt import settings
from cqc.runtime.join.choice.sharing_costs import LevelWork, SharingCosts
from cqc.runtime.join.choice.split_trials import SharedNodes, SplitTrials
from cqc.runtime.join.execute.join_node import JoinNode
from cqc.runtime.lineage.rank_lineage import bitmap, move_bits

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cqc.runtime.join.choice.sharing_costs import Groups

STREAMS = "".join(f"CREATE STREAM {name} (ts BIGINT, k BIGINT, v BIGINT);" for name in "abcd")
# One query with much work, and many whose filters let hardly a tuple through; all over stream a.
WORK = "SELECT a.v AS x, b.v AS y FROM a, b WHERE a.k = b.k MAXWINDOW 1 SEC"
WIDTH = "SELECT a.v AS x, c.v AS y FROM a, c WHERE a.k = c.k AND a.v = {0} AND c.v < {0} MAXWINDOW 1 SEC"
PULL = "SELECT a.v AS x, d.v AS y FROM a, d WHERE a.k = d.k BEGIN(NOW - 1 SEC) END(NOW)"
APART: Groups = (frozenset((0,)), frozenset((1,)))


def engine_of(many: int = 200, **options: Any) -> cqc.Engine:
    queries = [WORK, *(WIDTH.format(value) for value in range(100, 100 + many))]
    return cqc.Engine(cqc.compile(STREAMS + ";".join(queries)), **options)


def push(engine: cqc.Engine, clock: int, rows: int = 30) -> None:
    random = np.random.default_rng(clock)
    for name in "abcd":
        values = random.integers(0, 120, (rows, 2)).tolist()
        engine.push(name, [{"ts": 20 * clock, "k": k % 3, "v": v} for k, v in values])


def nodes_of(engine: cqc.Engine, query: str = "q1") -> SharedNodes:
    join = engine._circuit.join(query)
    assert isinstance(join, JoinNode)
    return engine._circuit._shared_nodes[join]


def results_of(engine: cqc.Engine) -> Counter[tuple[Any, ...]]:
    return Counter((each.query, each.ts, *each.row.values()) for each in engine.drain())


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Looks come after every few tuples, whatever the clock says, and any gain is worth a trial."""
    sometimes = {"stretch": 50, "clearly": 1.0, "better": 1e9, "worse": 1e9}
    rule = replace(settings.SHARING, budget=1e9, enough_s=0.0, **sometimes)  # type: ignore[arg-type]  # numbers
    monkeypatch.setattr(settings, "SHARING", rule)
    for name in ("CALL", "PACKET", "TUPLE"):
        monkeypatch.setattr(settings, f"SHARING_{name}", 0.0)
    return monkeypatch


def forced(monkeypatch: pytest.MonkeyPatch, choose: Callable[[int], Groups | None]) -> None:
    """After each micro-batch the groups that `choose` names, None for as they are."""
    looks = iter(range(1_000))

    def look(self: SplitTrials, subject: SharedNodes) -> bool:
        wanted = choose(next(looks))
        if wanted is not None:
            self.arm = wanted
        return wanted is not None

    monkeypatch.setattr(SplitTrials, "is_due", lambda self, subject: True)
    monkeypatch.setattr(SplitTrials, "look", look)


def test_a_host_with_work_is_split_from_one_with_many_slots(eager: pytest.MonkeyPatch) -> None:
    engine = engine_of()
    push(engine, 0)
    assert engine._circuit.join("q1") is engine._circuit.join("q2")
    for clock in range(1, 20):
        push(engine, clock)
    assert set(nodes_of(engine).groups) == set(APART)
    assert nodes_of(engine).trials.changes == 1
    narrow, wide = engine._circuit.join("q1"), engine._circuit.join("q2")
    assert isinstance(narrow, JoinNode)
    assert isinstance(wide, JoinNode)
    assert (narrow.members.words, wide.members.words) == (1, 4)
    assert engine._circuit.join("q201") is wide
    rows = {name: (origin, why) for name, origin, why in split_rows(engine.measure())}
    assert rows["join0"][0] == rows["join1"][0] == "join0+1"
    assert "us a tuple, not" in rows["join0"][1]
    assert rows["join0"][1].startswith("1+4 words of lineage, not 4; ")


def test_hosts_that_cost_no_less_apart_stay_together(eager: pytest.MonkeyPatch) -> None:
    engine = engine_of(many=1)
    for clock in range(20):
        push(engine, clock)
    assert nodes_of(engine).groups == (frozenset((0, 1)),)
    assert nodes_of(engine).trials.changes == 0
    assert not list(split_rows(engine.measure()))


@pytest.mark.parametrize("keep_past", [True, False])
@pytest.mark.parametrize("packet", [None, 1])
def test_results_and_counts_are_the_same_before_after_and_back(
    keep_past: bool, packet: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play() -> tuple[list[dict[str, int]], Counter[tuple[Any, ...]], int]:
        engine = engine_of(30, keep_past=keep_past, strategy=Strategy(packet=packet))
        counts = []
        for clock in range(12):
            push(engine, clock, rows=12)
            counts.append(engine.result_counts())
            if clock == 5:
                engine.register(WORK, "late")
                engine.register(WIDTH.format(110), "late too")
        tuples = sum(each.tuples_out for each in engine.measure())
        return counts, results_of(engine), tuples

    forced(monkeypatch, lambda look: None)
    expected = play()
    ways = {3: APART, 6: (frozenset((0, 1)),), 8: APART[::-1], 9: APART, 10: (frozenset((1, 0)),)}
    forced(monkeypatch, ways.get)
    assert play() == expected
    assert expected[1]


def test_queries_that_come_after_a_split_sit_where_their_streams_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forced(monkeypatch, lambda look: APART if look == 0 else None)
    engine = engine_of(5)
    push(engine, 0)
    narrow, wide = engine._circuit.join("q1"), engine._circuit.join("q2")
    engine.register(WORK.replace("1 SEC", "2 SEC"), "more work")
    engine.register(WIDTH.format(7), "more width")
    engine.register(
        "SELECT a.v AS x FROM a, b, d WHERE a.k = b.k AND b.k = d.k MAXWINDOW 1 SEC", "m"
    )
    assert engine._circuit.join("more work") is narrow
    assert engine._circuit.join("more width") is wide
    assert engine._circuit.join("m") is narrow
    for name in [*engine.queries]:
        engine.unregister(name)
    circuit = engine._circuit
    assert not circuit._shared_nodes
    assert not circuit._trials
    assert not circuit._joins()
    assert not list(circuit._shared.planner)
    assert not any(state._attached for state in engine.states.values())


def test_pull_queries_keep_their_past_when_they_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    program = cqc.compile(STREAMS + "SET RETENTION = 1 MIN;" + WORK.replace("b", "c"))

    def play() -> list[Any]:
        engine = cqc.Engine(program)
        for clock in range(4):
            push(engine, clock)
        other = PULL.replace("d.", "b.").replace(", d", ", b")
        handles = [engine.register(text) for text in (PULL, other)]
        answers = []
        for clock in range(4, 10):
            push(engine, clock)
            answers += [sorted(engine.invoke(each).to_pylist(), key=str) for each in handles]
        return answers

    splits: list[Groups] = []

    forced(monkeypatch, lambda look: None)
    expected = play()

    def look(self: SplitTrials, subject: SharedNodes) -> bool:
        hosts = sorted(host for group in subject.groups for host in group)
        apart = tuple(frozenset((host,)) for host in hosts)
        self.arm = (frozenset(hosts),) if len(subject.joins) > 1 else apart
        splits.append(self.arm)
        return True

    monkeypatch.setattr(SplitTrials, "look", look)
    assert play() == expected
    assert any(expected)
    assert splits


class Timed:
    """Nodes of two hosts: a tuple takes so long together and apart."""

    slots = 10
    has_several_hosts = True
    name = "join0+1"

    def __init__(self, together_s: float, apart_s: float) -> None:
        self._each_s = {1: together_s, 2: apart_s}
        self.tuples_in, self.seconds = 0, 0.0
        self.joins: list[JoinNode] = []
        self.groups: Groups = (frozenset((0, 1)),)


def looks(together_s: float, apart_s: float, monkeypatch: pytest.MonkeyPatch) -> SplitTrials:
    rule = replace(settings.SHARING, budget=1e9, clearly=0.99)
    monkeypatch.setattr(settings, "SHARING", rule)
    costs = SharingCosts(slots={0: 1, 1: 640}, streams={0: frozenset(), 1: frozenset()})
    costs.levels.append(LevelWork(("a", "b"), 0, 0, frozenset((0,)), 1e6, 1e6, 1))
    monkeypatch.setattr(SharingCosts, "of", lambda joins: costs)
    timed: Any = Timed(together_s, apart_s)
    found = SplitTrials()
    for _ in range(10_000):
        timed.tuples_in += 100
        timed.seconds += 100 * timed._each_s[len(timed.groups)]
        if found.is_due(timed) and found.look(timed):
            timed.groups = found.arm
            found.note(timed)
    return found


def test_a_split_that_pays_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    found = looks(1e-4, 5e-5, monkeypatch)
    assert (found.changes, found.returns, set(found.arm)) == (1, 0, set(APART))
    assert found.why.endswith("; 50.0 us a tuple, not 100.0")


def test_a_split_that_does_not_pay_is_tried_ever_more_seldom(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = looks(1e-4, 1e-4, monkeypatch)
    assert found.arm == (frozenset((0, 1)),)
    assert found.changes == found.returns <= 4  # in a million tuples
    assert found.why == "tried apart: 100.0 us a tuple, not 100.0"


def test_hosts_are_cut_where_the_work_for_a_slot_falls() -> None:
    """Two hosts with work share a level and stay together; the third has only slots."""
    costs = SharingCosts(
        slots={0: 2, 1: 1_000, 2: 3}, streams=dict.fromkeys(range(3), frozenset(("a",)))
    )
    costs.tuples["a"] = 1_000
    costs.levels.append(LevelWork(("a", "b"), 0, 0, frozenset((0, 2)), 1e6, 1e5, 10))
    costs.levels.append(LevelWork(("a", "c"), 0, 0, frozenset((1,)), 10, 1, 10))
    costs.wanted[0, 0] = dict.fromkeys(range(3), np.ones(4, np.bool_))
    assert set(costs.best()) == {frozenset((0, 2)), frozenset((1,))}


def test_bits_move_to_other_slots() -> None:
    source = np.array([bitmap([3, 70], 2), bitmap([64], 2), bitmap([], 2)])
    target = np.array([bitmap([9], 1)] * 3)
    move_bits(source, np.array([70, 3, 64]), target, np.array([0, 1, 63]))
    assert target.tolist() == [bitmap(each, 1).tolist() for each in ([9, 0, 1], [9, 63], [9])]
