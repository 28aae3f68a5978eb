"""Frames of pandas are pushed like everything else that speaks Arrow; what it calls missing is NULL."""

from datetime import UTC, datetime

import pandas as pd
import pytest

import cqc

PROGRAM = """
CREATE STREAM S (ts TIMESTAMP, k BIGINT, x DOUBLE, name STRING, ok BOOLEAN);
SELECT * FROM S;
"""
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def rows_of(frame: pd.DataFrame) -> list[dict[str, object]]:
    with cqc.Engine(cqc.compile(PROGRAM)) as engine:
        engine.push("S", frame)
        return [result.row for result in engine.drain()]


@pytest.mark.parametrize(
    "instants",
    [
        pd.to_datetime(["2024-01-01 12:00:00"]),
        pd.to_datetime(["2024-01-01 12:00:00"]).as_unit("ns"),
        pd.to_datetime(["2024-01-01 13:00:00+01:00"]),
        ["2024-01-01T12:00:00Z"],
        [1704110400],
    ],
    ids=["naive", "nanoseconds", "zoned", "text", "epoch"],
)
def test_event_time_comes_in_every_form(instants: object) -> None:
    frame = pd.DataFrame({"ts": instants, "k": [1], "x": [0.5], "name": ["a"], "ok": [True]})
    assert rows_of(frame) == [{"ts": NOON, "k": 1, "x": 0.5, "name": "a", "ok": True}]


def test_what_is_missing_is_null_in_every_type() -> None:
    frame = pd.DataFrame(
        {
            "ts": pd.to_datetime(["2024-01-01 12:00:00"]),
            "k": pd.array([None], dtype="Int64"),
            "x": [float("nan")],
            "name": pd.Series([None], dtype="string"),
            "ok": pd.array([None], dtype="boolean"),
        }
    )
    assert rows_of(frame) == [{"ts": NOON, "k": None, "x": None, "name": None, "ok": None}]


def test_categories_whole_doubles_and_an_odd_index_do_not_matter() -> None:
    frame = pd.DataFrame(
        {
            "ts": pd.to_datetime(["2024-01-01 12:00:00", "2024-01-01 12:00:00"]),
            "k": [1.0, float("nan")],
            "x": [1, 2],
            "name": pd.Categorical(["a", "b"]),
            "ok": [True, None],
            "more": ["not", "declared"],
        },
    ).set_index(pd.Index([7, 3], name="row"))
    assert rows_of(frame) == [
        {"ts": NOON, "k": 1, "x": 1.0, "name": "a", "ok": True},
        {"ts": NOON, "k": None, "x": 2.0, "name": "b", "ok": None},
    ]
