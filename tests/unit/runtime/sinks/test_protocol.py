"""What a sink knows beforehand about the results of a query: names, types, and what their time is."""

from __future__ import annotations

import pytest

import cqc
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.sinks.protocol import Shape, shape_of_query

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, x BIGINT);"


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("SELECT k, x + 0.5 AS more FROM s", Shape(("k", "more"), (T.STRING, T.DOUBLE), T.TIMESTAMP, False)),
        ("SELECT COUNT(*) AS n FROM s BEGIN NOW - 1 HOUR END NOW", Shape(("n",), (T.BIGINT,), T.TIMESTAMP, True)),
        (
            "SELECT COUNT(*) AS n FROM TUMBLE(s, 1 MINUTE) GROUP BY window_start",
            Shape(("n",), (T.BIGINT,), T.TIMESTAMP, True),
        ),
    ],
)  # fmt: skip
def test_the_shape_of_results_is_known_before_there_are_any(text: str, shape: Shape) -> None:
    assert shape_of_query(cqc.compile(STREAM + text).queries["q1"]) == shape


def test_numeric_event_time_stays_a_number() -> None:
    program = cqc.compile("CREATE STREAM n (ts BIGINT, x BIGINT); SELECT x FROM n")
    assert shape_of_query(program.queries["q1"]).time_type is T.BIGINT


def test_an_alert_tells_of_itself_in_one_more_column() -> None:
    program = cqc.compile(
        STREAM + "CREATE ALERT high SEVERITY 'page' AS SELECT k, x FROM s WHERE x > 9 PER k"
    )
    shape = shape_of_query(program.queries["high"])
    assert shape.names == ("k", "x", "alert")
    assert shape.types[-1] is T.STRING
