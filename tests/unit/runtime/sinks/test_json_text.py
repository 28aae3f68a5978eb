"""Columns as JSON text: valid for any value, and read back as the same."""

from __future__ import annotations

import json
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.deliver.results import NO_TIME, ResultBlock, in_time_order
from cqc.runtime.sinks.lines import result_lines
from tests.support.relations import block


def lines_of(*blocks: ResultBlock) -> list[str]:
    text = b"".join(bytes(piece) for piece in result_lines(in_time_order(blocks))).decode()
    assert text.endswith("\n") or not text
    return text.splitlines()


def test_every_type_as_json() -> None:
    doubles = [1.0, math.nan, math.inf, -math.inf, 1e300, 0.1, 1e22, -0.0, 123456789.0, 1e-7, None]
    lines = lines_of(block("q", {"d": (T.DOUBLE, doubles)}, [0] * len(doubles)))
    shown = [json.loads(line)["row"]["d"] for line in lines]
    assert shown == [1.0, "NaN", "Infinity", "-Infinity", *doubles[4:]]
    assert all(isinstance(value, float) for value in shown[4:-1])
    others = {
        "b": (T.BOOLEAN, [True]),
        "t": (T.TIMESTAMP, [1_000_001]),
        "i": (T.INTERVAL, [2_500_000]),
        "big": (T.BIGINT, [2**63 - 1]),
    }
    assert json.loads(lines_of(block("q", others, [0]))[0])["row"] == {
        "b": True,
        "t": "1970-01-01T00:00:01.000001Z",
        "i": 2.5,
        "big": 2**63 - 1,
    }


@settings(max_examples=50)
@given(
    st.lists(st.none() | st.text(max_size=6), min_size=1, max_size=4),
    st.text(min_size=1, max_size=4),
)
def test_any_text_is_valid_json(values: list[str | None], name: str) -> None:
    lines = lines_of(block(name, {name: (T.STRING, values)}, [0] * len(values)))
    parsed = [json.loads(line) for line in lines]
    assert [(one["query"], one["row"]) for one in parsed] == [(name, {name: v}) for v in values]


@settings(max_examples=50)
@given(st.lists(st.floats(), min_size=1, max_size=5))
def test_doubles_read_back_as_the_same_number(values: list[float]) -> None:
    lines = lines_of(block("q", {"d": (T.DOUBLE, values)}, [0] * len(values)))
    read = [float(json.loads(line)["row"]["d"]) for line in lines]
    assert np.array_equal(read, values, equal_nan=True)


def test_an_instant_that_is_not_known_is_null() -> None:
    early = block("q", {"n": (T.BIGINT, [0])}, [NO_TIME], is_at=True)
    assert lines_of(early) == ['{"query": "q", "at": null, "row": {"n": 0}}']


def test_bigint_event_time_is_whole_where_it_is() -> None:
    halves = block(
        "q", {"n": (T.BIGINT, [1, 2])}, [1_000_000, 1_500_000], time_type=T.BIGINT, is_at=True
    )
    assert [json.loads(line)["at"] for line in lines_of(halves)] == [1, 1.5]
