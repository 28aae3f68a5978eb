import pytest

from cqc.compiler.meaning.bound import Aggregate, AggregateFunction, ColumnRef, Instant, Pull
from cqc.compiler.meaning.types import ColumnType
from tests.support.bind_text import DECLARATIONS, PULL, bind_one, bind_text, codes

MINUTE = 60_000_000


def pull(clauses: str, select: str = "bed", stream: str = "B") -> Pull:
    bound = bind_one(f"SELECT {select} FROM {stream} {clauses}").pull
    assert bound is not None
    return bound


@pytest.mark.parametrize(
    ("clause", "begin", "end"),
    [
        ("BEGIN NOW - 10 END NOW", Instant(True, -10_000_000, False), Instant(True, 0, False)),
        ("BEGIN AFTER (NOW - 1 MINUTE) END BEFORE NOW", Instant(True, -MINUTE, True), Instant(True, 0, True)),
        ("BEGIN NOW - (2 * 30 SEC) + 0.5 END 5 + NOW", Instant(True, -59_500_000, False), Instant(True, 5_000_000, False)),
        ("BEGIN TIMESTAMP '1970-01-01' END NOW", Instant(False, 0, False), Instant(True, 0, False)),
        ("BEGIN '1970-01-01' + 1 MIN END NOW", Instant(False, MINUTE, False), Instant(True, 0, False)),
    ],
)  # fmt: skip
def test_instants_of_timestamp_event_time(clause: str, begin: Instant, end: Instant) -> None:
    bound = pull(clause)
    assert (bound.begin, bound.end) == (begin, end)


def test_instants_of_numeric_event_time_are_microseconds_too() -> None:
    bound = pull("BEGIN -1.5 END 10 + 1 MINUTE", "v", "N")
    assert bound.begin == Instant(False, -1_500_000, False)
    assert bound.end == Instant(False, 70_000_000, False)


@pytest.mark.parametrize(
    ("stream", "clause"),
    [
        ("B", "BEGIN 5 END NOW"),
        ("B", "BEGIN 5 SEC END NOW"),
        ("B", "BEGIN NOW * 2 END NOW"),
        ("B", "BEGIN NOW - NOW END NOW"),
        ("B", "BEGIN ts END NOW"),
        ("B", "BEGIN -NOW END NOW"),
        ("N", "BEGIN TIMESTAMP '2024-01-01' END NOW"),
        ("N", "BEGIN 5 / 0 END NOW"),
    ],
)
def test_other_instants_are_refused(stream: str, clause: str) -> None:
    assert codes(f"SELECT ts FROM {stream} {clause}") == ["CQ058"]


def test_a_bad_timestamp_in_begin_is_reported_as_such() -> None:
    assert codes("SELECT ts FROM B BEGIN TIMESTAMP 'x' END NOW") == ["CQ047"]


@pytest.mark.parametrize(
    "clauses",
    ["GROUP BY bed", "HAVING TRUE", "ORDER BY bed", "LIMIT 1", "EVERY 1 s", "GROUP BY bed LIMIT 1"],
)
def test_clauses_that_need_begin_end_say_so_once(clauses: str) -> None:
    assert codes(f"SELECT bed FROM B {clauses}") == ["CQ060"]


@pytest.mark.parametrize("select", ["SELECT DISTINCT bed", "SELECT MAX(bed) AS m"])
def test_distinct_and_aggregates_need_begin_end(select: str) -> None:
    assert codes(f"{select} FROM B") == ["CQ060"]


@pytest.mark.parametrize(
    ("text", "function", "result"),
    [
        ("COUNT(*)", AggregateFunction.COUNT_ALL, ColumnType.BIGINT),
        ("count(name)", AggregateFunction.COUNT, ColumnType.BIGINT),
        ("SUM(bed)", AggregateFunction.SUM, ColumnType.BIGINT),
        ("SUM(pressure)", AggregateFunction.SUM, ColumnType.DOUBLE),
        ("AVG(bed)", AggregateFunction.AVG, ColumnType.DOUBLE),
        ("MIN(name)", AggregateFunction.MIN, ColumnType.STRING),
        ("MAX(ts)", AggregateFunction.MAX, ColumnType.TIMESTAMP),
        ("MAX(DISTINCT ok)", AggregateFunction.MAX, ColumnType.BOOLEAN),
    ],
)
def test_aggregates_have_their_types(
    text: str, function: AggregateFunction, result: ColumnType
) -> None:
    query = bind_one(f"SELECT {text} AS x FROM B {PULL}")
    aggregate = query.outputs[0].expression
    assert isinstance(aggregate, Aggregate)
    assert (aggregate.function, aggregate.type) == (function, result)
    assert query.pull is not None
    assert query.pull.is_aggregate


@pytest.mark.parametrize(
    ("select", "clauses", "expected"),
    [
        ("bed, pressure", "GROUP BY bed", ["CQ064"]),
        ("bed + 1 AS x, bed * 2 AS y", "GROUP BY bed + 1", ["CQ064"]),
        ("bed, COUNT(*) AS n", "", ["CQ064"]),
        ("*", "GROUP BY bed", ["CQ064"]),
        ("bed", "GROUP BY bed HAVING pressure > 1", ["CQ064"]),
        ("bed", "GROUP BY bed ORDER BY pressure", ["CQ064"]),
        ("bed", "HAVING COUNT(*) > 1", ["CQ064"]),
        ("MAX(MIN(bed)) AS x", "", ["CQ062"]),
        ("SUM(name) AS x", "", ["CQ044"]),
        ("SUM(*) AS x", "", ["CQ065"]),
        ("SUM() AS x", "", ["CQ036"]),
        ("SUM(bed, bed) AS x", "", ["CQ036"]),
        ("bed", "GROUP BY SUM(bed)", ["CQ063"]),
        ("bed", "GROUP BY 2", ["CQ068"]),
        ("bed", "ORDER BY 0", ["CQ068"]),
        ("DISTINCT bed", "ORDER BY pressure", ["CQ067"]),
        ("DISTINCT bed", "GROUP BY bed ORDER BY MAX(pressure)", ["CQ067"]),
        ("bed", "LIMIT 1.5", ["CQ054"]),
        ("bed", "EVERY 0 s", ["CQ053"]),
        ("bed", "GROUP BY bed HAVING bed", ["CQ042"]),
    ],
)
def test_wrong_groups_and_orders_are_reported_once(
    select: str, clauses: str, expected: list[str]
) -> None:
    assert codes(f"SELECT {select} FROM B {PULL} {clauses}") == expected


@pytest.mark.parametrize(
    ("select", "clauses"),
    [
        ("bed", "GROUP BY B.bed, 1"),
        ("bed + 1 AS x, COUNT(*) AS n, 5 AS five", "GROUP BY bed + 1"),
        ("bed + 1 AS x", "GROUP BY x HAVING x > 1 ORDER BY x"),
        ("(bed + 1) * 2 AS x", "GROUP BY bed + 1"),
        ("bed, SUM(pressure) AS pressure", "GROUP BY bed HAVING pressure > 1 ORDER BY pressure DESC"),
        ("COUNT(*) AS n", "HAVING COUNT(*) > 1"),
        ("bed", "GROUP BY bed ORDER BY MAX(pressure)"),
        ("DISTINCT bed, name", "ORDER BY bed + 1, name"),
        ("name", "ORDER BY pressure"),
        ("name", "LIMIT 0"),
    ],
)  # fmt: skip
def test_right_groups_and_orders_are_accepted(select: str, clauses: str) -> None:
    bind_one(f"SELECT {select} FROM B {PULL} {clauses}")


def test_order_by_prefers_the_output_of_a_name() -> None:
    (order,) = pull(f"{PULL} ORDER BY name", "bed AS name").order_by
    assert isinstance(order.expression, ColumnRef)
    assert order.expression.type is ColumnType.BIGINT


@pytest.mark.parametrize(
    ("text", "nulls_first"),
    [("bed", True), ("bed DESC", False), ("bed NULLS LAST", False), ("bed DESC NULLS FIRST", True)],
)
def test_nulls_come_first_ascending_and_last_descending(text: str, nulls_first: bool) -> None:
    (order,) = pull(f"{PULL} ORDER BY {text}").order_by
    assert order.nulls_first is nulls_first


def test_a_number_stands_for_an_output() -> None:
    bound = pull(f"{PULL} GROUP BY 1 ORDER BY 2", "bed, COUNT(*) AS n")
    assert isinstance(bound.group_by[0], ColumnRef)
    assert isinstance(bound.order_by[0].expression, Aggregate)


@pytest.mark.parametrize(
    "clause",
    ["BEGIN NOW END NOW - 5", "BEGIN '2024-01-02' END '2024-01-01'", "BEGIN AFTER NOW END NOW"],
)
def test_a_window_that_ends_before_it_begins_is_a_warning(clause: str) -> None:
    result = bind_text(DECLARATIONS, f"SELECT ts FROM B {clause}")
    assert [d.code for d in result.diagnostics] == ["CQ090"]
    assert len(result.queries) == 1
