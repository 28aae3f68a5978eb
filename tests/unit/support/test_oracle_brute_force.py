"""The oracle's answers on inputs small enough to check by eye."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cqc
from tests.support.oracle.brute_force import Data, every_instants, pull_answer, push_answer

if TYPE_CHECKING:
    from cqc.compiler.meaning import bound
    from tests.support.oracle.scalars import Row

STREAMS = "CREATE STREAM a (ts BIGINT, x BIGINT); CREATE STREAM b (ts BIGINT, x BIGINT);"
SECOND_US = 1_000_000


def query_of(text: str) -> bound.Query:
    return cqc.compile(STREAMS + text).queries["q1"]


def data_of(**streams: list[Row]) -> Data:
    return Data(
        {name: [(row, at) for at, row in enumerate(rows)] for name, rows in streams.items()}
    )


def push(text: str, **streams: list[Row]) -> list[tuple[int, Row]]:
    data = data_of(**streams)
    return push_answer(query_of(text), data.streams, data.tables)


def test_results_come_in_result_time_order() -> None:
    assert push("SELECT x FROM a WHERE x > 1", a=[(3, 3), (1, 1), (2, 2)]) == [
        (2 * SECOND_US, (2,)),
        (3 * SECOND_US, (3,)),
    ]


def test_rows_of_one_item_are_counted_at_the_last_of_the_combination() -> None:
    text = "SELECT a.x AS p, b.x AS q FROM a [ROWS 1], b [ROWS 1]"
    found = push(text, a=[(1, 1), (3, 3)], b=[(2, 2), (3, 4)])
    assert [row for _, row in found] == [(1, 2), (3, 2), (3, 4)]


def test_ties_of_rows_go_by_position_in_from() -> None:
    text = "SELECT a.x AS p, b.x AS q FROM {} MAXWINDOW 0 SEC"
    first = push(text.format("a [ROWS 1], b"), a=[(1, 1), (1, 2)], b=[(1, 9)])
    last = push(text.format("b, a [ROWS 1]"), a=[(1, 1), (1, 2)], b=[(1, 9)])
    assert [row for _, row in first] == [(2, 9)]
    assert [row for _, row in last] == [(1, 9), (2, 9)]


def test_rows_of_a_pull_query_are_the_last_inside_the_end() -> None:
    query = query_of("SELECT x FROM a [ROWS 2] BEGIN 2 END NOW")
    data = data_of(a=[(1, 1), (2, 2), (3, 3)])
    assert pull_answer(query, data) == [(2,), (3,)]
    assert pull_answer(query, data, 2 * SECOND_US) == [(2,)]


def test_nothing_seen_is_the_answer_over_no_rows() -> None:
    assert pull_answer(query_of("SELECT COUNT(*) AS n FROM a BEGIN 0 END NOW"), data_of(a=[])) == [
        (0,)
    ]
    assert pull_answer(query_of("SELECT x FROM a BEGIN 0 END NOW"), data_of(a=[])) == []


def test_instants_of_every_are_multiples_between_the_first_and_the_last_event_time() -> None:
    query = query_of("SELECT COUNT(*) AS n FROM a BEGIN 0 END NOW EVERY 2 SEC")
    assert every_instants(query, data_of(a=[(3, 0), (8, 0)])) == [
        4 * SECOND_US,
        6 * SECOND_US,
        8 * SECOND_US,
    ]
    assert every_instants(query, data_of(a=[(-3, 0), (1, 0)])) == [-2 * SECOND_US, 0]
    assert every_instants(query, data_of(a=[])) == []


def test_order_by_places_nulls_first_ascending_and_last_descending() -> None:
    data = data_of(a=[(1, 2), (2, None), (3, 1)])
    ascending = query_of("SELECT x FROM a BEGIN 0 END NOW ORDER BY x")
    descending = query_of("SELECT x FROM a BEGIN 0 END NOW ORDER BY x DESC")
    assert pull_answer(ascending, data) == [(None,), (1,), (2,)]
    assert pull_answer(descending, data) == [(2,), (1,), (None,)]
