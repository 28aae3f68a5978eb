"""Tuples start only for slots that find a tuple of every other item in time; what is stored is not touched."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cqc.compiler import compile as compile_program
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.adapt import settings
from cqc.runtime.columns.columns import from_python
from cqc.runtime.columns.packet import Packet
from cqc.runtime.join.execute.company import Company
from cqc.runtime.join.execute.flat_join import FlatJoin
from cqc.runtime.join.execute.join_node import JoinNode, push_packet
from cqc.runtime.join.membership.membership import JoinMembership
from cqc.runtime.state.shared_state import SharedState

SECOND = 1_000_000
STREAMS = "".join(f"CREATE STREAM {name} (ts BIGINT, k BIGINT);\n" for name in "abc")


class Bench:
    """One node over the streams of a program, and its states."""

    def __init__(self, queries: str) -> None:
        program = compile_program(STREAMS + queries)
        self.states = {name: SharedState(each) for name, each in program.catalog.relations.items()}
        bodies = list(program.graph.bodies.values())
        assert all(body.host is not None for body in bodies)
        self.members = JoinMembership(bodies[0].host, self.states)  # type: ignore[arg-type]
        self.node = JoinNode(self.members, FlatJoin())
        for body in bodies:
            self.node.add(body)

    def push(self, name: str, seconds: list[int], keys: list[int] | None = None) -> None:
        columns = (
            from_python(ColumnType.BIGINT, seconds),
            from_python(ColumnType.BIGINT, keys or [1] * len(seconds)),
        )
        times = np.array(seconds, np.int64) * SECOND
        packet = Packet(columns, times, np.arange(len(seconds)))
        push_packet(self.states[name], [self.node], packet, keep_all=True)

    def left(self, name: str, company: Company | None = None) -> list[int]:
        """The lineage of each tuple of a stream, as far as it has company."""
        (item,) = self.members.items_of[name]
        each = self.members.inputs[item]
        live = slice(each.state.first - each.state.base, each.state.head - each.state.base)
        company = company or Company(self.node.plan)
        kept = company.of(item, each.lineage.values[live], each.state.ts[live])
        return [int(words[0]) for words in kept] if len(kept) else [0] * len(each.state)


@pytest.fixture
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "COMPANY_LEAST_ROWS", 1)
    monkeypatch.setattr(settings, "COMPANY_LEAST_LOOKS", 1)
    monkeypatch.setattr(settings, "COMPANY_MOST_TUPLES", 1 << 40)


A_THEN_B = "SELECT a.k FROM a, b WHERE a.k = b.k WINDOW b.ts > a.ts MAXWINDOW 5 SEC;\n"


@pytest.mark.usefixtures("_always")
def test_a_tuple_without_company_in_time_does_not_start() -> None:
    bench = Bench(A_THEN_B)
    bench.push("b", [12])
    bench.push("a", [10, 11, 12, 40])
    assert bench.left("a") == [1, 1, 0, 0]  # keys do not matter: they are the join's
    assert bench.left("b") == [1]


@pytest.mark.usefixtures("_always")
def test_every_other_item_must_be_there() -> None:
    three = "SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.k = c.k MAXWINDOW 5 SEC;\n"
    bench = Bench(three)
    bench.push("a", [10, 20, 30])
    bench.push("b", [11, 21])
    assert bench.left("a") == [0, 0, 0]
    bench.push("c", [22])
    assert bench.left("a") == [0, 1, 0]


@pytest.mark.usefixtures("_always")
def test_each_slot_has_windows_and_tuples_of_its_own() -> None:
    bench = Bench(
        "SELECT a.k FROM a, b WHERE a.k = b.k MAXWINDOW 1 SEC;\n"
        "SELECT a.k FROM a, b WHERE a.k = b.k AND b.k > 5 MAXWINDOW 20 SEC;\n"
    )
    bench.push("b", [10, 40], [9, 1])
    bench.push("a", [10, 25, 41])
    first, second = (slot.number for slot in sorted(bench.members.slots, key=lambda s: s.number))
    found = bench.left("a")
    assert found == [1 << first | 1 << second, 1 << second, 1 << first]


@pytest.mark.usefixtures("_always")
@pytest.mark.parametrize("seed", range(6))
def test_disorder_and_many_slots_as_counted_one_by_one(seed: int) -> None:
    random = Random(seed)
    spans = [random.randint(0, 30) for _ in range(90)]
    bench = Bench(
        "".join(
            f"SELECT a.k FROM a, b WHERE a.k = b.k AND b.k > {at} WINDOW b.ts >= a.ts MAXWINDOW {span} SEC;\n"
            for at, span in enumerate(spans)
        )
    )
    theirs = [(random.randint(0, 400), random.randint(0, 90)) for _ in range(60)]
    own = [random.randint(0, 400) for _ in range(50)]
    bench.push("b", [at for at, _ in theirs], [key for _, key in theirs])
    bench.push("a", own)
    (item,) = bench.members.items_of["a"]
    (other,) = bench.members.items_of["b"]
    wanted = bench.members.inputs[other].lineage.values[: len(theirs)]
    lineage = bench.members.inputs[item].lineage.values[: len(own)]
    kept = Company(bench.node.plan).of(item, lineage, np.array(own, np.int64) * SECOND)
    (part,) = bench.node.plan.parts.values()
    for slot, most in zip(part.numbers, part.most_between(item, other).tolist(), strict=True):
        word, bit = divmod(slot, 64)
        for row, at in enumerate(own):
            is_there = any(
                0 <= (ts - at) * SECOND <= most
                for (ts, _), words in zip(theirs, wanted, strict=True)
                if int(words[word]) >> bit & 1
            )
            assert bool(int(kept[row, word]) >> bit & 1) == is_there


def test_small_packets_and_large_states_are_not_asked_about() -> None:
    bench = Bench(A_THEN_B)
    bench.push("b", [99])
    bench.push("a", [98] + [100] * (settings.COMPANY_LEAST_ROWS - 2))
    company = Company(bench.node.plan)
    assert all(bench.left("a", company))
    bench.push("a", [100])
    assert sum(bench.left("a", company)) == 1
    bench.push("b", [101] * (settings.COMPANY_MOST_TUPLES * settings.COMPANY_LEAST_ROWS + 1))
    assert all(bench.left("a", company))
    assert company.asked == settings.COMPANY_SAMPLE + settings.COMPANY_LEAST_ROWS


def test_where_nothing_is_young_enough_it_is_told_for_smaller_packets_too() -> None:
    bench = Bench(A_THEN_B)
    bench.push("b", [1])
    bench.push("a", [100] * (settings.COMPANY_LEAST_LOOKS - 1))
    company = Company(bench.node.plan)
    assert all(bench.left("a", company))
    bench.push("a", [100])
    assert not any(bench.left("a", company))


def test_a_part_of_a_packet_is_asked_first() -> None:
    bench = Bench(A_THEN_B)
    bench.push("b", [11])
    rows = 4 * settings.COMPANY_SAMPLE
    bench.push("a", [10] * rows)
    company = Company(bench.node.plan)
    assert all(bench.left("a", company))
    assert company.asked == settings.COMPANY_SAMPLE
    bench = Bench(A_THEN_B)
    bench.push("b", [11])
    bench.push("a", [10] + [12] * (rows - 1))
    company = Company(bench.node.plan)
    assert bench.left("a", company) == [1] + [0] * (rows - 1)
    assert company.asked == settings.COMPANY_SAMPLE + rows


@pytest.mark.usefixtures("_always")
def test_asking_rests_where_nearly_all_have_company() -> None:
    bench = Bench(A_THEN_B)
    bench.push("b", [11])
    bench.push("a", [10, 9])
    company = Company(bench.node.plan)
    for _ in range(settings.COMPANY.losses):
        bench.left("a", company)
    asked = company.asked
    decision = company.decision("join0")
    assert decision is not None
    assert "rests for 1 stream" in decision.sentence
    bench.left("a", company)
    assert company.asked == asked
    for _ in range(settings.COMPANY.stretch):
        bench.left("a", company)
    assert company.asked > asked
