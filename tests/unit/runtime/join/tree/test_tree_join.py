"""The join tree: the JIT paper's examples step by step, what feedback saves, and the oracle's answers."""

from __future__ import annotations

import itertools
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cqc.compiler import compile as compile_program
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.physical.executors import Flat, OnDemand, Tree
from cqc.compiler.physical.tree_shape import bushy, left_deep
from cqc.runtime.adapt import settings
from cqc.runtime.columns.columns import from_python
from cqc.runtime.columns.packet import Packet
from cqc.runtime.join.choice.build_join import build_join
from cqc.runtime.join.execute.demand_join import DemandSteps
from cqc.runtime.join.execute.flat_join import FlatJoin
from cqc.runtime.join.execute.join_node import push_packet
from cqc.runtime.join.tree import feedback_trials
from cqc.runtime.join.tree.pair_gate import PairGates
from cqc.runtime.state.shared_state import SharedState
from tests.support.generators import random_joins
from tests.support.generators.random_joins import Bench
from tests.unit.runtime.join.execute import test_flat_join

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.graph.nodes import JoinHost
    from cqc.compiler.physical.tree_shape import Shape
    from cqc.runtime.join.execute.join_node import JoinNode

SECOND = 1_000_000
TABLE_1 = """
CREATE STREAM A (ts BIGINT, x BIGINT, y BIGINT);
CREATE STREAM B (ts BIGINT, x BIGINT);
CREATE STREAM C (ts BIGINT, y BIGINT);
SELECT A.ts AS a, B.ts AS b, C.ts AS c FROM A, B, C WHERE A.x = B.x AND A.y = C.y MAXWINDOW 5 MIN;
"""
TRIANGLE = """
CREATE STREAM a (ts BIGINT, x BIGINT, y BIGINT);
CREATE STREAM b (ts BIGINT, x BIGINT, z BIGINT);
CREATE STREAM c (ts BIGINT, y BIGINT, z BIGINT);
SELECT a.ts AS t FROM a, b, c WHERE a.x = b.x AND a.y = c.y AND b.z = c.z MAXWINDOW 5 SEC;
"""
FIGURE_5 = """
CREATE STREAM A (ts BIGINT, k BIGINT, x BIGINT);
CREATE STREAM B (ts BIGINT, k BIGINT, y BIGINT);
CREATE STREAM C (ts BIGINT, k BIGINT, z BIGINT);
CREATE STREAM D (ts BIGINT, k BIGINT, w BIGINT);
CREATE STREAM E (ts BIGINT, x BIGINT, y BIGINT, z BIGINT, w BIGINT);
SELECT A.ts AS a FROM A, B, C, D, E
WHERE A.k = B.k AND C.k = D.k AND B.k = C.k AND A.x = E.x AND B.y = E.y AND C.z = E.z AND D.w = E.w MAXWINDOW 5 MIN;
"""


class Running:
    """One query on one join, fed tuple by tuple; after each step: (partial results made, suspended, resumed, results)."""

    def __init__(self, program: str, shape: Shape | None, feedback: str = "off") -> None:
        compiled = compile_program(program)
        self.states = {name: SharedState(each) for name, each in compiled.catalog.relations.items()}
        (body,) = compiled.graph.bodies.values()
        assert body.host is not None
        executor = Flat() if shape is None else Tree(shape, feedback)
        self.join = build_join(body.host, executor, self.states)
        self.join.add(body)
        self.found = 0

    def push(self, stream: str, seconds: int, *values: int) -> tuple[int, ...]:
        return self.push_rows(stream, [(seconds, *values)])

    def push_rows(self, stream: str, rows: list[tuple[int, ...]]) -> tuple[int, ...]:
        columns = tuple(
            from_python(ColumnType.BIGINT, [row[at] for row in rows]) for at in range(len(rows[0]))
        )
        times = np.array([SECOND * row[0] for row in rows], np.int64)
        packet = Packet(columns, times, np.arange(len(rows)))
        found = push_packet(self.states[stream.lower()], [self.join], packet, keep_all=True)
        self.found += sum(len(each) for each in found)
        return self.counts()

    def purge(self, seconds: int) -> None:
        watermarks = dict.fromkeys(self.states, SECOND * seconds)
        for name, state in self.states.items():
            before = self.join.purge_before(name, watermarks)
            assert before is not None
            state.purge(before)

    def counts(self) -> tuple[int, ...]:
        detail = self.join.measure().detail
        made = detail.get("partial results", 0)
        return made, detail.get("suspended", 0), detail.get("resumed", 0), self.found


def test_table_1_step_by_step_without_feedback() -> None:
    running = Running(TABLE_1, ((0, 1), 2))
    for _ in range(3):
        running.push("B", 0, 1)
    assert running.push("A", 1, 1, 100) == (3, 0, 0, 0)
    assert running.push("B", 2, 1) == (4, 0, 0, 0)
    assert running.push("A", 3, 1, 100) == (8, 0, 0, 0)
    assert running.push("C", 4, 100) == (8, 0, 0, 8)


@pytest.mark.parametrize("feedback", ["exact", "bloom"])
def test_table_1_step_by_step(feedback: str) -> None:
    running = Running(TABLE_1, ((0, 1), 2), feedback)
    # C is empty: the producer is suspended whole.
    assert running.push_rows("B", [(0, 1), (0, 1), (0, 1)]) == (0, 3, 0, 0)
    assert running.push("A", 1, 1, 100) == (0, 4, 0, 0)
    # A partner of nobody ends the empty state: the three b go on, a1 still waits for its value.
    assert running.push("C", 1, 7) == (0, 4, 3, 0)
    # b4 finds no a; a2 has the value of a1 and goes to the blacklist.
    assert running.push("B", 2, 1) == (0, 4, 3, 0)
    assert running.push("A", 3, 1, 100) == (0, 5, 3, 0)
    # c1 resumes a1 and a2: eight partial results, now that somebody asks for them.
    assert running.push("C", 4, 100) == (8, 5, 5, 8)
    # What comes later is made at once, and nothing is made twice.
    assert running.push("C", 5, 100) == (8, 5, 5, 16)
    assert running.push("B", 6, 1) == (10, 5, 5, 20)


def test_figure_5_step_by_step() -> None:
    shape: Shape = (((0, 1), (2, 3)), 4)
    running = Running(FIGURE_5, shape, "exact")
    assert running.push("E", 0, 9, 1, 9, 1) == (0, 0, 0, 0)
    # b1 is asked for by E and waits, on its way to C join D, for a partner there; c1 waits for E.
    assert running.push("B", 0, 1, 1) == (0, 1, 0, 0)
    assert running.push("C", 0, 1, 1) == (0, 2, 0, 0)
    assert running.push("D", 0, 1, 1) == (0, 2, 0, 0)
    # a1 is suspended: nobody in E, nor in C join D, asks for it.
    assert running.push("A", 1, 1, 1) == (0, 3, 0, 0)
    # e1 matches all: c1 is resumed, c1d1 is made, which resumes b1 and a1 where they wait; then a1b1 and a1b1c1d1.
    made, _, resumed, found = running.push("E", 2, 1, 1, 1, 1)
    assert (made, found) == (3, 1)
    assert resumed >= 3
    # What is not suspended any more joins as it comes.
    assert running.push("D", 3, 1, 1)[3] == 2
    assert running.push("B", 3, 1, 1)[3] == 4


def test_figure_5_without_feedback_makes_what_nobody_asks_for() -> None:
    running = Running(FIGURE_5, (((0, 1), (2, 3)), 4))
    running.push("E", 0, 9, 1, 9, 1)
    running.push("B", 0, 1, 1)
    running.push("C", 0, 1, 1)
    assert running.push("D", 0, 1, 1) == (1, 0, 0, 0)
    assert running.push("A", 1, 1, 1) == (3, 0, 0, 0)


def test_rows_that_miss_a_value_of_a_table_are_forgotten() -> None:
    program = TABLE_1.replace("CREATE STREAM C (ts BIGINT, y", "CREATE TABLE C (y")
    program = program.replace(", C.ts AS c", "")
    running = Running(program, ((0, 1), 2), "exact")
    values = from_python(ColumnType.BIGINT, [5])
    packet = Packet((values,), np.zeros(1, np.int64), np.zeros(1, np.int64))
    push_packet(running.states["c"], [running.join], packet, keep_all=True)
    running.push("B", 0, 1)
    assert running.push("A", 1, 1, 100) == (0, 1, 0, 0)
    assert running.push("A", 1, 1, 5) == (1, 1, 0, 1)


PAIRS = """
CREATE STREAM A (ts BIGINT, x BIGINT, y BIGINT);
CREATE STREAM B (ts BIGINT, k BIGINT, x BIGINT);
CREATE STREAM C (ts BIGINT, k BIGINT, y BIGINT);
SELECT A.ts AS a FROM A, B, C WHERE B.k = C.k AND B.x = A.x AND C.y = A.y MAXWINDOW 10 SEC;
"""


def pair_counts(running: Running) -> tuple[int, int, int, int]:
    """Partial results, pairs held, pairs resumed, results."""
    detail = running.join.measure().detail
    return (
        detail["partial results"],
        detail["pairs held"],
        detail["pairs resumed"],
        running.found,
    )


def test_a_pair_that_nobody_asks_for_together_is_marked_step_by_step() -> None:
    """Type II: each of b and c is asked for by some A, and no A asks for both until a3 comes."""
    running = Running(PAIRS, ((1, 2), 0), "exact")
    running.push("A", 0, 1, 9)
    running.push("A", 0, 9, 1)
    running.push("B", 1, 5, 1)
    running.push("C", 1, 5, 1)
    assert pair_counts(running) == (0, 1, 0, 0)
    assert running.counts()[1] == 0  # neither waits by itself
    running.push("C", 2, 5, 1)
    assert pair_counts(running) == (0, 2, 0, 0)
    running.push("A", 3, 1, 1)  # unmarks: both pairs are made now, in the order of their rows
    assert pair_counts(running) == (2, 2, 2, 2)
    running.push("A", 3, 1, 1)  # asked for already: nothing is made twice
    assert pair_counts(running) == (2, 2, 2, 4)
    running.push("B", 4, 5, 1)
    assert pair_counts(running) == (4, 2, 2, 8)
    # The A of (1, 1) are too old and go. What was made stays made, what comes is held until one comes again.
    running.push("A", 12, 1, 9)
    running.push("A", 12, 9, 1)
    running.purge(14)
    running.push("C", 14, 5, 1)
    assert pair_counts(running) == (4, 3, 2, 8)
    running.push("A", 14, 1, 1)
    assert pair_counts(running) == (5, 3, 3, 9)


def clique_counts(feedback: str, shape: Shape | None, most: int = 12) -> tuple[int, int]:
    """Partial results and results of a clique of four streams with few partners."""
    running = Running(clique_program("10 SEC"), shape, feedback)
    random = Random(3)
    for clock in range(120):
        for name in "ABCD":
            rows = [(clock, *(random.randint(1, most) for _ in range(3))) for _ in range(2)]
            running.push_rows(name, rows)
        running.purge(clock)
    return running.counts()[0], running.found


def test_feedback_makes_fewer_partial_results_and_the_same_results() -> None:
    flat = clique_counts("off", None)[1]
    for shape in (((0, 1), (2, 3)), (((0, 1), 2), 3)):
        made, found = clique_counts("off", shape)
        held, same = clique_counts("exact", shape)
        assert found == same == flat > 0
        assert held < 0.9 * made
        made_by_bloom, same = clique_counts("bloom", shape)
        assert same == flat
        assert held <= made_by_bloom < made


def clique_program(window: str) -> str:
    """Four streams with an equality between every two, each on a column of its own."""
    pairs = [(one, two) for at, one in enumerate("ABCD") for two in "ABCD"[at + 1 :]]
    lines = []
    for name in "ABCD":
        columns = ", ".join(f"{one}{two} BIGINT" for one, two in pairs if name in (one, two))
        lines.append(f"CREATE STREAM {name} (ts BIGINT, {columns});")
    where = " AND ".join(f"{one}.{one}{two} = {two}.{one}{two}" for one, two in pairs)
    lines.append(f"SELECT A.ts AS t FROM A, B, C, D WHERE {where} MAXWINDOW {window};")
    return "\n".join(lines)


@pytest.mark.parametrize("feedback", ["off", "exact", "bloom"])
def test_two_sides_that_ask_for_each_other_do_not_wait_for_ever(feedback: str) -> None:
    running = Running(clique_program("5 MIN"), ((0, 1), (2, 3)), feedback)
    running.push("C", 0, 9, 9, 9)
    running.push("D", 0, 9, 9, 9)  # so that no state is empty
    running.push("A", 1, 1, 1, 1)
    running.push("B", 1, 1, 5, 5)  # joins a, and nothing of C or D
    running.push("C", 2, 1, 1, 1)
    running.push("D", 2, 5, 5, 1)  # joins c, and nothing of A or B
    running.push("B", 3, 1, 1, 1)
    assert running.push("D", 3, 1, 1, 1)[3] == 1


def test_gates_that_hold_back_nothing_are_switched_off_and_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settings, "GATE_LOOK_TUPLES", 80)
    rule = replace(settings.GATE, stretch=1, losses=1, budget=1e9)
    monkeypatch.setattr(settings, "GATE", rule)
    running = Running(TABLE_1, ((0, 1), 2), "auto")
    running.push("C", 0, 1)
    running.push_rows("A", [(1, 1, 1)] * 80)  # all asked for: the gate before A saved nothing
    assert running.push("A", 1, 1, 2)[1] == 0
    assert running.push("B", 1, 1)[0] == 81
    assert running.push("C", 2, 2)[3] == 80 + 1
    running.push_rows("A", [(3, 1, 1)] * 80)
    assert running.push("A", 3, 1, 7)[1] == 1  # it is on again, for a trial
    assert running.push("C", 4, 7)[3] == 80 + 1 + 80 + 1


def test_one_slow_stretch_does_not_switch_a_gate_off() -> None:
    record = feedback_trials.Record()
    costs = (2.0, 2.0, 0.5, 2.0, 2.0)
    assert [record.has_lost(cost, 1.0, 100) for cost in costs] == [False] * 5
    assert record.has_lost(2.0, 1.0, 100)
    assert (record.controller.pause.left, record.controller.pause.length) == (8, 16)


def test_a_gate_is_not_tried_again_before_work_has_paid_for_what_it_lost() -> None:
    record = feedback_trials.Record()
    for _ in range(settings.GATE.losses):
        record.has_lost(2.0, 1.0, 100)
    looks = 1
    while not record.is_due(10.0):
        looks += 1
    assert looks * 10.0 * settings.GATE.budget == pytest.approx(settings.GATE.losses * 1.0, abs=0.2)


def test_pair_gates_are_switched_without_losing_or_repeating(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settings, "GATE_LOOK_TUPLES", 10)
    rule = replace(settings.GATE, enough=1, stretch=1, longest=2, budget=1e9)
    monkeypatch.setattr(settings, "GATE", rule)
    switched = []
    switch = PairGates.switch

    def noted(self: PairGates, gate: int, clock: int, *, is_on: bool) -> None:
        switched.append(is_on)
        switch(self, gate, clock, is_on=is_on)

    monkeypatch.setattr(PairGates, "switch", noted)
    found = [clique_counts(mode, ((0, 1), (2, 3)), most=3)[1] for mode in ("off", "auto")]
    assert found[0] == found[1] > 0
    assert True in switched
    assert False in switched


def test_demands_that_drop_little_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "DEMAND", replace(settings.DEMAND, stretch=5))
    compiled = compile_program(TRIANGLE)
    (body,) = compiled.graph.bodies.values()
    assert body.host is not None
    states = {name: SharedState(each) for name, each in compiled.catalog.relations.items()}
    join = build_join(body.host, OnDemand(((0, 1), 2), measured=True), states)
    join.add(body)
    found = 0
    for _ in range(4):
        for name in ("c", "a", "b"):
            columns = tuple(from_python(ColumnType.BIGINT, [1, 1]) for _ in range(3))
            packet = Packet(columns, np.full(2, SECOND), np.arange(2))
            found += sum(
                len(each) for each in push_packet(states[name], [join], packet, keep_all=True)
            )
    assert found == 8**3
    assert join.measure().detail["partial results not made"] == 0
    assert isinstance(join.executor, FlatJoin)
    assert isinstance(join.executor.steps, DemandSteps)
    assert not join.executor.steps.is_asking


@pytest.mark.parametrize("make", [left_deep, bushy])
@pytest.mark.parametrize("feedback", ["off", "exact", "bloom", "auto"])
@pytest.mark.parametrize("seed", range(3))
def test_random_joins_in_trees_give_the_oracles_answer(
    seed: int, feedback: str, make: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape_of = left_deep if make is left_deep else bushy

    def tree(self: Bench, host: JoinHost) -> JoinNode:
        shape = shape_of(len(host.relations), host.equi_joins)
        return build_join(host, Tree(shape, feedback), self.states)

    monkeypatch.setattr(Bench, "new_join", tree)
    test_flat_join._run(100 * seed + len(feedback), rows=False)


def nested(random: Random, items: Sequence[int]) -> Shape:
    """Any tree over the items, with nodes of two inputs or more."""
    if len(items) == 1:
        return items[0]
    cuts = sorted(random.sample(range(1, len(items)), random.randint(1, len(items) - 1)))
    ends = [0, *cuts, len(items)]
    return tuple(nested(random, items[one:two]) for one, two in itertools.pairwise(ends))


@pytest.mark.parametrize("feedback", ["off", "exact", "bloom", "auto"])
@pytest.mark.parametrize("seed", range(6))
def test_random_joins_in_any_tree_give_the_oracles_answer(
    seed: int, feedback: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)

    def tree(self: Bench, host: JoinHost) -> JoinNode:
        items = random.sample(range(len(host.relations)), len(host.relations))
        return build_join(host, Tree(nested(random, items), feedback), self.states)

    monkeypatch.setattr(Bench, "new_join", tree)
    test_flat_join._run(100 * seed + len(feedback), rows=False)


@pytest.mark.parametrize("shape", [((0, 1, 2), 3), (0, 1, 2, 3), (0, (1, 2), 3), (3, (2, (1, 0)))])
def test_nodes_of_more_inputs_give_the_same_results_with_any_feedback(shape: Shape) -> None:
    flat = clique_counts("off", None)[1]
    for feedback in ("off", "exact", "bloom", "auto"):
        made, found = clique_counts(feedback, shape)
        assert found == flat > 0
        if shape == (0, 1, 2, 3):
            assert made == 0


def test_what_must_be_equal_is_compared_wherever_it_meets_first() -> None:
    """C and D are each compared with A, so also with each other: no cross product of theirs."""
    streams = "".join(f"CREATE STREAM {name} (ts BIGINT, k BIGINT);" for name in "ABCD")
    where = "A.k = B.k AND A.k = C.k AND A.k = D.k"
    query = f"SELECT A.ts AS t FROM A, B, C, D WHERE {where} MAXWINDOW 9 SEC;"
    running = Running(streams + query, ((0, 1), (2, 3)))
    running.push_rows("C", [(0, key) for key in range(5)])
    assert running.push_rows("D", [(0, key) for key in range(5)])[0] == 5
    running.push("A", 1, 3)
    assert running.push("B", 1, 3) == (6, 0, 0, 1)


def test_a_node_of_three_inputs_keeps_nothing_between_them() -> None:
    running = Running(clique_program("5 MIN"), ((0, 1, 2), 3))
    running.push("A", 0, 1, 1, 1)
    assert running.push("B", 1, 1, 1, 1) == (0, 0, 0, 0)
    assert running.push("C", 2, 1, 1, 1) == (1, 0, 0, 0)  # (a, b, c), and no (a, b)
    assert running.push("D", 3, 1, 1, 1) == (1, 0, 0, 1)
    assert running.push("B", 4, 1, 1, 1) == (2, 0, 0, 2)


def test_a_row_of_a_node_of_three_inputs_waits_for_what_is_above() -> None:
    running = Running(clique_program("5 MIN"), ((0, 1, 2), 3), "exact")
    running.push("D", 0, 9, 9, 9)
    assert running.push("A", 0, 1, 1, 1)[1] == 1  # no d asks for it
    assert running.push("B", 1, 1, 1, 1)[1] == 2
    assert running.push("C", 2, 1, 1, 1) == (0, 3, 0, 0)
    assert running.push("D", 3, 1, 1, 1) == (1, 3, 3, 1)


@pytest.mark.parametrize("seed", range(8))
def test_random_joins_on_demand_give_the_oracles_answer(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_demand(self: Bench, host: JoinHost) -> JoinNode:
        shape = bushy(len(host.relations), host.equi_joins)
        return build_join(host, OnDemand(shape, measured=seed % 2 == 0), self.states)

    def dense(random: Random) -> random_joins.Shape:
        shape = random_joins.random_shape(random)
        for later in range(len(shape.relations)):
            for earlier in range(later):
                column = random.choice(("a", "x", "s"))
                if random.random() < 0.6:
                    shape.equalities.append(f"t{earlier}.{column} = t{later}.{column}")
        return shape

    monkeypatch.setattr(Bench, "new_join", on_demand)
    monkeypatch.setattr(test_flat_join, "random_shape", dense)
    test_flat_join._run(seed, rows=False)


def test_counts_of_each_edge_say_what_is_suspended_blacklisted_and_resumed() -> None:
    running = Running(TABLE_1, ((0, 1), 2), "exact")
    running.push("C", 0, 7)
    running.push("B", 0, 1)
    running.push("A", 1, 1, 100)  # MNS a1, of value y=100
    running.push("A", 3, 1, 100)  # a2 goes straight to the blacklist
    assert edge(running, "A for C") == (2, 2, 0)
    assert edge(running, "B for C") == (0, 0, 0)  # C is not empty
    running.push("C", 4, 100)
    assert edge(running, "A for C") == (2, 0, 2)


def edge(running: Running, name: str) -> tuple[int, ...]:
    detail = running.join.measure().detail
    return tuple(detail[f"{name} {what}"] for what in ("suspended", "blacklisted", "resumed"))
