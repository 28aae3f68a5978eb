"""Where queries are answered when the work is spread, and what is said of it."""

from __future__ import annotations

import pytest

import cqc
from cqc.compiler.emit.explain_partitions import emit
from cqc.compiler.graph.partitioning import Axis, Chooser, Placement, place

STREAMS = """
CREATE STREAM A (ts BIGINT, k BIGINT, x BIGINT, s STRING);
CREATE STREAM B (ts BIGINT, k BIGINT, y DOUBLE, s STRING);
CREATE STREAM C (ts BIGINT, k BIGINT, y DOUBLE);
CREATE TABLE T (k BIGINT, n STRING);
"""


def placed(queries: str, partitions: int = 4, **weights: float) -> Placement:
    program = cqc.compile(STREAMS + queries)
    return place(program.graph.queries.values(), partitions, weights)


def test_a_query_over_one_stream_is_answered_where_its_tuples_are_read() -> None:
    found = placed("SELECT x FROM A WHERE x > 5; SELECT A.x, T.n FROM A, T WHERE A.k = T.k;")
    assert found.stateless == ("q1", "q2")
    assert found.groups == ()


def test_joins_that_hash_a_stream_by_the_same_column_share_cells() -> None:
    found = placed(
        "SELECT A.x FROM A, B WHERE A.k = B.k MAXWINDOW 5 SEC;"
        "SELECT B.y FROM B, C WHERE B.k = C.k MAXWINDOW 5 SEC;"
        "SELECT A.x FROM A, B WHERE A.s = B.s MAXWINDOW 5 SEC;"
    )
    assert [group.queries for group in found.groups] == [("q1", "q2"), ("q3",)]
    assert found.groups[0].axes == (Axis(4, (("a", 1), ("b", 1), ("c", 1))),)
    assert found.groups[0].copies("b") == 1


def test_without_a_column_that_covers_all_streams_cells_form_a_box() -> None:
    (group,) = placed(
        "SELECT A.x FROM A, B, C WHERE A.s = B.s AND B.y = C.y MAXWINDOW 5 SEC"
    ).groups
    assert group.cells == 4
    assert [group.copies(stream) for stream in "abc"] == [2, 1, 2]


@pytest.mark.parametrize(
    ("weights", "copies"), [({"a": 1.0, "b": 1.0}, [2, 2]), ({"a": 100.0, "b": 1.0}, [1, 4])]
)
def test_a_small_stream_is_copied_and_a_large_one_is_not(
    weights: dict[str, float], copies: list[int]
) -> None:
    (group,) = placed("SELECT A.x FROM A, B WHERE A.x < B.y MAXWINDOW 5 SEC", **weights).groups
    assert [group.copies("a"), group.copies("b")] == copies


@pytest.mark.parametrize(
    "query",
    [
        "SELECT A.x FROM A [ROWS 5], B WHERE A.k = B.k MAXWINDOW 9 SEC",
        "SELECT p.x FROM A p, A q WHERE p.x < q.x MAXWINDOW 5 SEC",
        "SELECT p.x FROM A p, A q WHERE p.x = q.k MAXWINDOW 5 SEC",
        "SELECT MAX(s) FROM A BEGIN 0 END NOW",
        "SELECT COUNT(DISTINCT x) FROM A BEGIN 0 END NOW",
    ],
)
def test_what_needs_all_tuples_together_has_one_cell(query: str) -> None:
    (group,) = placed(query).groups
    assert group.cells == 1


def test_groups_do_not_depend_on_the_number_of_partitions() -> None:
    queries = (
        "SELECT A.x FROM A, B WHERE A.k = B.k MAXWINDOW 5 SEC;"
        "SELECT A.x FROM A, B WHERE A.x < B.y MAXWINDOW 5 SEC;"
        "SELECT A.x FROM A BEGIN 0 END NOW;"
    )
    by_number = [[group.queries for group in placed(queries, n).groups] for n in (1, 2, 5, 64)]
    assert all(each == by_number[0] for each in by_number)


def test_a_column_that_has_been_hashed_stays_hashed_as_it_was() -> None:
    program = cqc.compile(
        STREAMS
        + "SELECT A.x FROM A, B WHERE A.k = B.k MAXWINDOW 5 SEC;"
        + "SELECT A.x FROM A, C WHERE A.k = C.y MAXWINDOW 5 SEC;"
    )
    first, second = program.graph.queries.values()
    together, apart = Chooser(4), Chooser(4)
    for chooser in (together, apart):
        chooser.add(first)
        if chooser is apart:
            chooser.settle()
        chooser.add(second)
    assert [axis.as_double for group in together.groups for axis in group.axes] == [True]
    assert [axis.as_double for group in apart.groups for axis in group.axes] == [False, True]


def test_the_explanation_says_where_and_why_and_what_travels() -> None:
    program = cqc.compile(
        STREAMS
        + "CREATE QUERY alone AS SELECT x FROM A WHERE x > 5;"
        + "CREATE QUERY keyed AS SELECT A.x FROM A, B WHERE A.k = B.k MAXWINDOW 5 SEC;"
        + "CREATE QUERY theta AS SELECT A.x FROM A, B WHERE A.x < B.y MAXWINDOW 5 SEC;"
        + "CREATE QUERY counted AS SELECT A.x FROM A [ROWS 5], B [ROWS 2] WHERE A.k = B.k;"
    )
    assert emit(program, 4) == (
        "Distributed over 4 partitions\n"
        "  where tuples are read: alone\n"
        "    nothing crosses the network but results\n"
        "  in 4 cells: keyed\n"
        "    because the tuples of a result have one value in common\n"
        "    4 places by hash of A.k = B.k\n"
        "    A: tuples that pass the filters, to one cell each\n"
        "    B: tuples that pass the filters, to one cell each\n"
        "  in 4 cells: theta\n"
        "    because no equality covers all streams\n"
        "    2 places, A dealt out in turn\n"
        "    2 places, B dealt out in turn\n"
        "    A: tuples that pass the filters, to 2 cells each\n"
        "    B: tuples that pass the filters, to 2 cells each\n"
        "  in one cell: counted\n"
        "    because ROWS counts the last tuples of a whole stream\n"
        "    A: every tuple, to one place\n"
        "    B: every tuple, to one place\n"
        "  tables on every executor: T\n"
    )


def test_what_is_missing_is_dealt_out_by_the_value_that_all_have_in_common() -> None:
    found = placed(
        "SELECT A.x FROM A LEFT JOIN B ON A.k = B.k AND A.s = B.s WHERE B.k IS NULL MAXWINDOW 5 SEC;"
        "SELECT A.x FROM A WHERE NOT EXISTS (SELECT 1 FROM B, C WHERE A.k = B.k AND C.k = B.k MAXWINDOW 5 SEC);"
        "SELECT A.x FROM A LEFT JOIN T ON A.k = T.k;"
        "SELECT A.x FROM A LEFT JOIN B ON A.k = B.k, C WHERE C.y = A.x MAXWINDOW 5 SEC;"
    )
    cells = {
        name: (group.cells, any(axis.holds_null for axis in group.axes))
        for group in found.groups
        for name in group.queries
    }
    assert cells == {"q1": (4, True), "q2": (4, True), "q3": (4, False), "q4": (1, False)}


def test_what_waits_in_order_has_one_cell_that_remembers_it() -> None:
    found = placed(
        "CREATE VIEW v AS SELECT x FROM A UNION ALL SELECT k FROM B;"
        "CREATE QUERY read AS SELECT x FROM v;"
        "CREATE QUERY counted AS SELECT window_end, COUNT(*) AS n FROM TUMBLE(A, 5 SEC) GROUP BY window_end;"
        "CREATE QUERY new AS SELECT n.x FROM A n WHERE NOT EXISTS (SELECT 1 FROM A o WHERE o.k = n.k WINDOW o.ts < n.ts);"
        "CREATE ALERT high AS SELECT x FROM A WHERE x > 3 NO DATA AFTER 1 MINUTE;"
    )
    waiting = {name for group in found.groups if group.waits for name in group.queries}
    assert waiting == {"read", "new", "high"}
    assert all(group.cells == 1 for group in found.groups)
