"""Texts cut into arrays, as Spark cuts them."""

from __future__ import annotations

from typing import Any

import pytest

import cqc


def lists(call: str, texts: list[str | None]) -> list[Any]:
    engine = cqc.Engine(
        cqc.compile(f"CREATE STREAM s (ts BIGINT, t STRING, p STRING); SELECT {call} AS v FROM s;")
    )
    engine.push("s", [{"ts": 1, "t": text, "p": "[0-9]"} for text in texts])
    return [result.row["v"] for result in engine.drain()]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("split(t, '[0-9]')", ["a", "b", "", "c"]),
        ("split(t, p)", ["a", "b", "", "c"]),
        ("split(t, '[0-9]+')", ["a", "b", "c"]),
        ("split(t, '[0-9]*')", ["a", "", "b", "", "c", ""]),
        ("split(t, '')", ["a", "1", "b", "2", "2", "c"]),
        ("split(t, '', 2)", ["a", "1b22c"]),
        ("split(t, '2', 2)", ["a1b", "2c"]),
        ("split(t, '2', 1)", ["a1b22c"]),
        ("split(t, '[0-9]', 2)", ["a", "b22c"]),
        ("split(t, '\\.')", ["a1b22c"]),
        ("regexp_extract_all(t, '[a-z]', 0)", ["a", "b", "c"]),
        ("regexp_extract_all(t, '([a-z])([0-9])', 2)", ["1", "2"]),
        ("regexp_extract_all(t, '1|(2)')", ["", "2", "2"]),
        ("regexp_extract_all(t, 'z')", []),
    ],
)
def test_the_parts_are_those_of_spark(call: str, expected: list[str]) -> None:
    assert lists(call, ["a1b22c", None]) == [expected, None]


def test_texts_that_repeat_and_empty_ones() -> None:
    assert lists("split(t, ',')", ["", "a,", "a,", ",é"]) == [[""], ["a", ""], ["a", ""], ["", "é"]]


def test_a_group_that_is_not_there_fails_where_something_matches() -> None:
    assert lists("regexp_extract_all(t, 'a')", ["a", "b"]) == [None, []]
