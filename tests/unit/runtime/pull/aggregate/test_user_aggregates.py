"""Aggregates that users register: their order, their NULLs, and what they raise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import cqc
from cqc.compiler.functions import registered
from cqc.runtime.pull.aggregate import user_aggregates

if TYPE_CHECKING:
    from collections.abc import Iterator

STREAM = "CREATE STREAM s (ts BIGINT, k STRING, x BIGINT, w DOUBLE);"
ROWS = [(1, "a", 2, 1.0), (3, "b", 3, 1.0), (2, "a", 5, 3.0), (4, "a", None, 1.0)]


@pytest.fixture(autouse=True)
def own_registry() -> Iterator[None]:
    before = registered._registered
    yield
    registered._registered = before


def product(name: str = "product") -> None:
    cqc.aggregate(name, lambda: 1, lambda s, x: s * x, lambda a, b: a * b, lambda s: s, "BIGINT")


def answers(select: str, rows: list[tuple[Any, ...]] = ROWS) -> list[tuple[Any, ...]]:
    engine = cqc.Engine(cqc.compile(f"{STREAM} CREATE QUERY q AS SELECT {select};", name="q.cq"))
    engine.push("s", [dict(zip(("ts", "k", "x", "w"), row, strict=True)) for row in sorted(rows)])
    return [tuple(row.values()) for row in engine.invoke("q").to_pylist()]


def test_a_group_has_its_value_and_null_does_not_count() -> None:
    product()
    assert answers("k, product(x) AS p FROM s BEGIN 0 END NOW GROUP BY k ORDER BY k") == [
        ("a", 10),
        ("b", 3),
    ]


def test_distinct_filter_having_and_no_rows() -> None:
    product()
    rows = [*ROWS, (5, "b", 3, 1.0)]
    call = "product(DISTINCT x) AS d, PRODUCT(x) FILTER (WHERE w < 2) AS f"
    assert answers(f"{call} FROM s BEGIN 0 END NOW HAVING product(x) = 90", rows) == [(30, 18)]
    assert answers("product(x) AS p FROM s WHERE x > 99 BEGIN 0 END NOW") == [(1,)]


def test_several_arguments_and_null_as_the_answer() -> None:
    cqc.aggregate(
        "weighted",
        lambda: (0.0, 0.0),
        lambda state, x, w: (state[0] + x * w, state[1] + w),
        lambda one, other: (one[0] + other[0], one[1] + other[1]),
        lambda state: state[0] / state[1] if state[1] else None,
    )
    assert answers(
        "weighted(x, w) AS v, weighted(x, w) FILTER (WHERE x > 9) AS n FROM s BEGIN 0 END NOW"
    ) == [(4.0, None)]


def test_rows_come_in_event_time_order_and_parts_are_merged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cqc.aggregate(
        "texts", lambda: "", lambda s, x: f"{s}{x}", lambda a, b: f"{a}|{b}", lambda s: s, "STRING"
    )
    assert answers("texts(x) AS v FROM s BEGIN 0 END NOW") == [("253",)]
    monkeypatch.setattr(user_aggregates, "_AT_ONCE", 2)
    assert answers("texts(x) AS v FROM s BEGIN 0 END NOW") == [("25|3",)]


def test_what_it_raises_is_null_for_its_group_and_counted() -> None:
    cqc.aggregate(
        "fragile", lambda: 0, lambda s, x: s + 1, lambda a, b: a + b, lambda s: 1 / (s - 2)
    )
    engine = cqc.Engine(
        cqc.compile(
            f"{STREAM} CREATE QUERY q AS SELECT k, fragile(x) AS v FROM s BEGIN 0 END NOW GROUP BY k ORDER BY k;"
        )
    )
    engine.push("s", [{"ts": ts, "k": k, "x": x, "w": w} for ts, k, x, w in sorted(ROWS)])
    assert engine.invoke("q").to_pylist() == [{"k": "a", "v": None}, {"k": "b", "v": -1.0}]
    assert engine.metrics().failed_evaluations == 1


def test_an_answer_of_another_type_is_null() -> None:
    cqc.aggregate(
        "wrong", lambda: 0, lambda s, x: s + x, lambda a, b: a + b, lambda s: "many", "BIGINT"
    )
    assert answers("wrong(x) AS v FROM s BEGIN 0 END NOW") == [(None,)]


def test_windows_and_over_know_it() -> None:
    product()
    engine = cqc.Engine(
        cqc.compile(
            f"{STREAM} CREATE QUERY w AS SELECT window_end, product(x) AS p FROM TUMBLE(s, 2 SEC) GROUP BY window_end;"
            " CREATE QUERY o AS SELECT product(x) OVER (ORDER BY ts ROWS 1 PRECEDING) AS p FROM s;"
        )
    )
    engine.push("s", [{"ts": ts, "k": "a", "x": ts, "w": 1.0} for ts in range(1, 6)])
    found = [(result.query, result.row["p"]) for result in engine.drain()]
    assert [value for query, value in found if query == "w"] == [1, 6]
    assert [value for query, value in found if query == "o"] == [1, 2, 6, 12, 20]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((1, int, int, int, int), TypeError),
        (("p", 1, int, int, int), TypeError),
        (("sum", int, lambda s, x: s, int, int), ValueError),
        (("p q", int, lambda s, x: s, int, int), ValueError),
        (("p", int, lambda s: s, int, int), ValueError),
        (("p", int, lambda s, x: s, int, int, "BLOB"), ValueError),
    ],
)
def test_a_wrong_registration_says_so(arguments: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        cqc.aggregate(*arguments)


def test_a_wrong_call_is_a_compile_error() -> None:
    product()
    for call in ("product(x, w)", "product(*)", "product(x) IGNORE NULLS", "product(product(x))"):
        with pytest.raises(cqc.CompileError):
            cqc.compile(f"{STREAM} SELECT {call} AS v FROM s BEGIN 0 END NOW;")
    with pytest.raises(cqc.CompileError):
        cqc.compile(f"{STREAM} SELECT x FROM s WHERE product(x) > 1;")
