"""The n-ary join against the oracle, over random programs, packet splits, registration moments and disorder."""

from __future__ import annotations

from random import Random

import pytest

from cqc.runtime.adapt import settings
from cqc.runtime.join.execute.flat_join import FlatJoin
from tests.support.generators.random_joins import (
    SECOND,
    Bench,
    random_query,
    random_row,
    random_shape,
    random_times,
)

_SEEDS = range(40)


def _run(seed: int, *, rows: bool) -> None:
    random = Random(seed)
    bench = Bench([random_row(random, at) for at in range(5)])
    shape = random_shape(random)
    for _ in range(random.randint(1, 5)):
        bench.add(random_query(random, shape, rows=rows))
    for clock in range(
        random.randint(2, max(3, 12 - 2 * len(shape.relations)))
    ):  # nested loops judge it
        if random.random() < 0.2:
            bench.add(random_query(random, shape, rows=rows))
        running = [each for each in bench.queries if each.until is None]
        if not rows and random.random() < 0.15 and running:
            bench.remove(random.choice(running))
        for name in "abc":
            for _ in range(random.choice((0, 1, 1, 2))):
                count = random.randint(1, 3)
                times = random_times(random, clock, count, bench.newest[name])
                tuples = [random_row(random, len(bench.input[name]) + at) for at in range(count)]
                bench.push(name, tuples, times)
        bench.end_batch(purge=random.random() < 0.7)
    bench.end_batch(at_end=True)
    for each in bench.queries:
        assert sorted(each.found) == bench.wanted(each), each.query.span.text
        if each.until is None:
            assert each.seat.results == len(each.found)


@pytest.mark.parametrize("seed", _SEEDS)
def test_random_joins_give_the_oracles_answer(seed: int) -> None:
    _run(seed, rows=False)


@pytest.mark.parametrize("seed", range(100, 120))
def test_asking_for_company_and_choosing_chains_change_no_answer(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With every packet, however small, and whatever the sample says.
    monkeypatch.setattr(settings, "COMPANY_LEAST_ROWS", 1)
    monkeypatch.setattr(settings, "COMPANY_MOST_TUPLES", 1 << 40)
    monkeypatch.setattr(settings, "CHAINS_FIRST_LOOK", 0)
    monkeypatch.setattr(settings, "CHAINS_NEXT_LOOK", 1)
    _run(seed, rows=False)


@pytest.mark.parametrize("seed", range(12))
def test_random_joins_with_rows_windows_give_the_oracles_answer(seed: int) -> None:
    _run(seed, rows=True)


def test_a_family_is_one_slot_and_every_member_has_its_own_rows() -> None:
    bench = Bench()
    queries = [
        bench.add(
            f"SELECT p.id AS i0, q.id AS i1 FROM A AS p, B AS q WHERE p.d < {k / 4} * q.d MAXWINDOW 9 SEC;"
        )
        for k in range(1, 9)
    ]
    (join,) = bench.joins.values()
    assert len(join) == 1
    bench.push("a", [(at, 0, float(at - 4), "", 0) for at in range(9)], [SECOND] * 9)
    bench.push("b", [(at, 0, float(at - 2), "", 0) for at in range(6)], [2 * SECOND] * 6)
    for each in queries:
        assert sorted(each.found) == bench.wanted(each)
        assert each.seat.results == len(each.found)
    assert len({len(each.found) for each in queries}) > 1


def test_a_query_registered_later_sees_only_later_tuples_though_an_equal_one_runs() -> None:
    bench = Bench()
    text = "SELECT p.id AS i0, q.id AS i1 FROM A AS p, B AS q WHERE p.a = q.a MAXWINDOW 9 SEC;"
    older = bench.add(text)
    bench.push("a", [(1, 7, 0.0, "", 0)], [SECOND])
    younger = bench.add(text.replace("9 SEC", "8 SEC"))
    bench.push("b", [(2, 7, 0.0, "", 0)], [SECOND])
    bench.push("a", [(3, 7, 0.0, "", 0)], [SECOND])
    assert sorted(older.found) == [(SECOND, (1, 2)), (SECOND, (3, 2))]
    assert younger.found == [(SECOND, (3, 2))]


def test_freed_slots_are_used_again_without_old_bits() -> None:
    bench = Bench()
    text = "SELECT p.id AS i0, q.id AS i1 FROM A AS p, B AS q WHERE p.a = q.a AND p.x >= {} MAXWINDOW 9 SEC;"
    bench.add(text.format(0))
    (join,) = bench.joins.values()
    for at in range(40):
        gone = bench.add(text.format(at % 5 + 1))
        bench.push("a", [(at, 7, 0.0, "", 5)], [SECOND])
        bench.remove(gone)
    assert join.members.table.size < 40
    last = bench.add(text.format(1))
    bench.push("b", [(99, 7, 0.0, "", 0)], [SECOND])
    assert last.found == []
    assert len(bench.queries[0].found) == 40


def test_state_is_kept_as_long_as_a_window_needs_it_and_no_longer() -> None:
    bench = Bench()
    bench.add("SELECT p.id AS i0, q.id AS i1 FROM A AS p, B AS q WHERE p.a = q.a MAXWINDOW 3 SEC;")
    for second in range(30):
        for name in "ab":
            bench.push(name, [(second, 7, 0.0, "", 0)], [second * SECOND])
        bench.end_batch()
        for name in "ab":
            oldest = second - 3 - 2  # the window and the delay
            times = bench.states[name].packet().ts_us.tolist()
            assert times == [at * SECOND for at in range(max(0, oldest), second + 1)]


def test_a_silent_stream_holds_back_the_purge_of_the_others_only() -> None:
    bench = Bench()
    running = bench.add("SELECT p.id AS i0, q.id AS i1 FROM A AS p, B AS q MAXWINDOW 3 SEC;")
    bench.push("b", [(0, 7, 0.0, "", 0)], [0])
    for second in range(20):
        bench.push("a", [(second, 7, 0.0, "", 0)], [second * SECOND])
        bench.end_batch()
    assert len(bench.states["a"]) == 20
    assert len(bench.states["b"]) == 0
    assert len(running.found) == 4


def test_a_forced_order_gives_the_same_answer() -> None:
    answers = []
    for order in ((1, 2), (2, 1)):
        bench = Bench()
        running = bench.add(
            "SELECT p.id AS i0, q.id AS i1, r.id AS i2 FROM A AS p, B AS q, C AS r"
            " WHERE p.d < q.d AND q.d < r.d MAXWINDOW 5 SEC;"
        )
        (join,) = bench.joins.values()
        assert isinstance(join.executor, FlatJoin)
        join.executor.steps.orders[0] = order
        for clock in range(6):
            for value, name in enumerate("bca"):
                bench.push(name, [(clock, 0, (3.0 * clock + value) % 5, "", 0)], [clock * SECOND])
        assert sorted(running.found) == bench.wanted(running)
        answers.append(sorted(running.found))
    assert answers[0] == answers[1] != []


def test_counters_tell_what_was_probed_and_found() -> None:
    bench = Bench()
    bench.add("SELECT p.id AS i0, q.id AS i1 FROM A AS p, B AS q WHERE p.a = q.a MAXWINDOW 3 SEC;")
    bench.push("a", [(0, 7, 0.0, "", 0), (1, 8, 0.0, "", 0)], [0, 0])
    bench.push("b", [(0, 7, 0.0, "", 0)], [0])
    (join,) = bench.joins.values()
    count = join.measure()
    assert (count.tuples_in, count.tuples_out) == (3, 1)
    assert (
        count.detail["0:A probes"],
        count.detail["0:A candidates"],
        count.detail["0:A found"],
    ) == (1, 1, 1)


@pytest.mark.parametrize("seed", range(12))
def test_a_query_that_sees_the_past_finds_what_was_there_and_what_follows(seed: int) -> None:
    random = Random(seed)
    bench = Bench([random_row(random, at) for at in range(4)])
    shape = random_shape(random)
    bench.add(random_query(random, shape))
    for clock in range(6):
        if clock == 3:
            bench.add(random_query(random, shape), past=True)
        for name in "abc":
            rows = [random_row(random, 2 * clock + at) for at in range(2)]
            bench.push(name, rows, [clock * SECOND] * 2, keep_all=True)
    for each in bench.queries:
        assert sorted(each.found) == bench.wanted(each), each.query.span.text
