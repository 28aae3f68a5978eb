"""The order in which packets visit the filters of their stream: it follows what is measured and never changes an answer."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import cqc
from cqc.compiler.meaning.normal import AllOf, Formula, Interval, ValueAtom
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.adapt import settings
from cqc.runtime.columns.columns import Column
from cqc.runtime.columns.packet import Packet
from cqc.runtime.filter import packet_index
from cqc.runtime.filter.grouped_filter import StreamFilter
from cqc.runtime.filter.match_source import Costs, Side
from cqc.runtime.filter.visit_order import FilterRoute, greedy_order
from tests.support.formula_judge import (
    TYPES,
    is_true,
    packet_of,
    random_formula,
    random_rows,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROUTINGS = ("lottery", "selectivity", "fixed", "random")
FIVE = (ColumnType.BIGINT,) * 5


class Ticking:
    """A clock by which a visit of a column takes the seconds it is told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def at_least(column: int, limit: int) -> ValueAtom:
    return ValueAtom(column, ColumnType.BIGINT, (Interval(limit, True, None, False),))


def nested(limits: tuple[int, ...]) -> list[Formula]:
    """The queries of the paper's table 3: the first column's condition is in all of them, the last one's in one."""
    return [
        AllOf(tuple(at_least(column, limit) for column, limit in enumerate(limits[:count])))
        for count in range(1, len(limits) + 1)
    ]


def whole_packet(values: NDArray[np.int64]) -> Packet:
    columns = tuple(Column(ColumnType.BIGINT, np.ascontiguousarray(column)) for column in values.T)
    numbers = np.arange(len(values), dtype=np.int64)
    return Packet(columns, numbers, numbers)


def visits_per_tuple(routing: str, formulas: list[Formula], packets: int = 30) -> float:
    filters = StreamFilter(FIVE, route=FilterRoute(routing))
    for slot, formula in enumerate(formulas):
        filters.add(slot, formula)
    rng = np.random.default_rng(3)
    for _ in range(packets):
        filters.match(whole_packet(rng.integers(0, 100, (1000, 5))))
    return sum(known.tuples for _, known, _ in filters.route.measure()) / (1000 * packets)


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("mapped", [False, True])
def test_every_order_gives_the_same_lineage(
    routing: str, seed: int, mapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "VISITS", replace(settings.VISITS, stretch=1))
    for price in ("GATE_S", "BLOCK_S", "PICKED_S"):
        monkeypatch.setattr(settings, f"VISITS_{price}", 0.0)
    if mapped:
        monkeypatch.setattr(packet_index, "MOST_DIRECT_ROWS", 10)
    rng = random.Random(seed)
    costs = Costs(access=Side(0.0)) if seed % 2 else Costs(packet=Side(0.0))
    filters = StreamFilter(TYPES, costs, FilterRoute(routing))
    formulas = {slot: random_formula(rng, TYPES) for slot in range(1 + 3 * seed)}
    for slot, formula in formulas.items():
        filters.add(slot, formula)
    for count in (40, 700, 1, 90):
        rows = random_rows(rng, TYPES, count)
        lineage = filters.match(packet_of(TYPES, rows))
        for slot, formula in formulas.items():
            expected = [at for at, row in enumerate(rows) if is_true(formula, row)]
            assert lineage.tuples_of(slot).tolist() == expected, (routing, slot, formula)


def test_a_filter_whose_queries_have_all_said_no_is_skipped() -> None:
    filters = StreamFilter(FIVE, route=FilterRoute("fixed"))
    filters.add(0, AllOf((at_least(0, 50), at_least(1, 50))))
    filters.add(1, AllOf((at_least(0, 60), at_least(2, 50))))
    values = np.zeros((100, 5), np.int64)
    values[:10, 0] = 55
    filters.match(whole_packet(values))
    first, second, third = filters.route.measure()
    assert [known.tuples for _, known, _ in (first, second, third)] == [100, 10, 0]
    assert third[1].skipped == 1


def test_a_query_without_a_condition_visited_before_keeps_the_gate_open() -> None:
    filters = StreamFilter(FIVE, route=FilterRoute("fixed"))
    filters.add(0, AllOf((at_least(0, 50), at_least(1, 50))))
    filters.add(1, at_least(1, 70))
    filters.match(whole_packet(np.zeros((100, 5), np.int64)))
    assert [known.tuples for _, known, _ in filters.route.measure()] == [100, 100]


def test_lottery_visits_fewer_filters_than_chance_and_more_than_the_best_order() -> None:
    formulas = nested((90, 70, 50, 30, 10))
    best, worst = visits_per_tuple("fixed", formulas), 5.0
    lottery, chance = visits_per_tuple("lottery", formulas), visits_per_tuple("random", formulas)
    assert best < lottery < chance < worst
    assert lottery < 1.5 * best


def test_tickets_go_to_the_filter_of_a_query_that_arrives() -> None:
    route = FilterRoute("lottery")
    filters = StreamFilter(FIVE, route=route)
    rng = np.random.default_rng(5)
    filters.add(0, at_least(0, 20))
    filters.add(1, at_least(1, 50))
    filters.match(whole_packet(rng.integers(0, 100, (1000, 5))))
    for slot in range(2, 6):
        filters.add(slot, AllOf((at_least(2, 95 - slot), at_least(0, 20))))
    for _ in range(10):
        filters.match(whole_packet(rng.integers(0, 100, (1000, 5))))
    tickets = {station.column: held for station, _, held in route.measure()}
    assert tickets[2] > 0.5 * sum(tickets.values())


def test_the_greedy_order_puts_what_saves_most_for_its_cost_first() -> None:
    full = ~np.uint64(0)
    # One query over three stations: the second leaves a quarter of 64 tuples, the others half.
    other_half = full >> np.uint64(32) << np.uint64(8)
    rows = np.array([[full >> np.uint64(32)], [full >> np.uint64(48)], [other_half]])
    numbers = np.arange(3)
    needs = np.array([0b111], np.uint64)
    order, shares = greedy_order(rows, np.zeros(3, np.int64), numbers, needs, np.ones(3), 64)
    assert order[0] == 1
    assert shares.tolist()[:2] == [1.0, 0.25]
    dear = np.array([1.0, 100.0, 1.0])
    order, _ = greedy_order(rows, np.zeros(3, np.int64), numbers, needs, dear, 64)
    assert order.tolist()[-1] == 1


def test_a_slow_function_is_asked_last_and_the_order_follows_when_selectivities_swap() -> None:
    clock = Ticking()
    asked: list[int] = []

    def slow(values: NDArray[np.int64]) -> NDArray[np.int64]:
        asked.append(len(values))
        clock.now += 1e-5 * len(values)
        return values

    cqc.function("slow_in_route", slow, returns="BIGINT")
    program = cqc.compile(
        "CREATE STREAM s (ts BIGINT, a BIGINT, b BIGINT, c BIGINT);"
        "SELECT a FROM s WHERE slow_in_route(c) >= 0 AND a >= 50 AND b >= 50;"
    )
    body = program.graph.queries["q1"].body
    types = tuple(column.type for column in body.relations[0].columns)
    route = FilterRoute("selectivity", clock)
    filters = StreamFilter(types, route=route)
    filters.add(0, body.filters[0])
    rng = np.random.default_rng(1)
    for swapped in (False, True):
        for number in range(8):
            values = rng.integers(0, 100, (20_000, 4))
            values[:, 1 if swapped else 2] = 99  # passes: only the other column tells
            asked.clear()
            lineage = filters.match(whole_packet(values))
            if number >= 3:
                assert sum(asked) < 0.6 * len(values)
        mask = next(known for station, known, _ in route.measure() if station.mask >= 0)
        assert mask.place == 2
        expected = np.count_nonzero((values[:, 1] >= 50) & (values[:, 2] >= 50))
        assert lineage.counts()[0] == expected
