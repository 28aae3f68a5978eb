"""Who among a packet's tuples must visit a filter, by what others have told."""

from __future__ import annotations

import numpy as np

from cqc.compiler.meaning.normal import AllOf, Formula, Interval, ValueAtom
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.filter.grouped_filter import StreamFilter
from cqc.runtime.filter.packet_index import PacketIndex, RowTable, make_layout
from cqc.runtime.filter.stations import Stations
from tests.support.formula_judge import packet_of

INTS = (ColumnType.BIGINT,) * 3


def above(column: int, limit: int) -> ValueAtom:
    return ValueAtom(column, ColumnType.BIGINT, (Interval(limit, False, None, False),))


def stations_of(*formulas: Formula) -> tuple[StreamFilter, Stations]:
    filters = StreamFilter(INTS)
    for slot, formula in enumerate(formulas):
        filters.add(slot, formula)
    layout = filters._settled()
    return filters, Stations(filters._atoms, layout, filters._store)


def test_every_column_is_a_station_that_knows_how_many_queries_need_it() -> None:
    _, stations = stations_of(above(0, 90), AllOf((above(0, 90), above(2, 70))))
    assert [each.column for each in stations.all] == [0, 2]
    assert list(stations.predicates) == [2, 1]
    assert (len(stations), stations.queries) == (2, 2)


def test_a_gate_is_open_while_some_query_has_said_nothing() -> None:
    _, stations = stations_of(
        AllOf((above(0, 90), above(1, 70))), AllOf((above(1, 70), above(2, 0)))
    )
    assert stations.gate(1, 0b001).is_open  # the second has nothing on the first column
    assert not stations.gate(2, 0b010).is_open


def test_a_gate_lets_in_the_tuples_that_some_of_its_queries_still_want() -> None:
    filters, stations = stations_of(
        above(0, 90),
        AllOf((above(0, 50), above(1, 70))),
        AllOf((above(0, 20), above(1, 10), above(2, 0))),
    )
    seen = []

    def route(index: PacketIndex) -> None:
        index.visit_column(stations.all[0].at)
        gate = stations.gate(1, 0b001)
        seen.append(index.union_so_far(gate.located, gate.conjunctions).tolist())
        for each in stations.all[1:]:
            index.visit_column(each.at)

    layout = make_layout(filters._atoms)
    packet = packet_of(INTS, [(95, 0, 0), (10, 99, 9), (30, 99, 9), (60, 0, 0)])
    PacketIndex(packet, filters._atoms, layout, RowTable(), route)
    assert seen == [[True, False, True, True]]


def test_gates_are_made_once_and_equal_conditions_of_many_queries_are_one() -> None:
    same = AllOf((above(0, 50), above(1, 70)))
    _, stations = stations_of(*[same] * 50)
    gate = stations.gate(1, 0b01)
    assert stations.gate(1, 0b01) is gate
    assert sum(map(len, gate.conjunctions.slots)) == 1


def test_a_sample_of_queries_is_taken_apart_by_station() -> None:
    _, stations = stations_of(above(0, 90), AllOf((above(0, 50), above(2, 70))))
    some = stations.sample(np.array([0, 1]))
    told = list(zip(some.query_of.tolist(), some.station_of.tolist(), strict=True))
    assert told == [(0, 0), (1, 0), (1, 1)]
    assert some.needs.tolist() == [0b01, 0b11]
