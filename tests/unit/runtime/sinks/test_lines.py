"""Result lines: the blocks of a micro-batch in result-time order, whatever they share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python
from cqc.runtime.deliver.results import ResultBlock, in_time_order
from cqc.runtime.sinks.lines import result_lines
from tests.support.relations import PULLED, PUSHED, block

if TYPE_CHECKING:
    import pytest


def lines_of(*blocks: ResultBlock) -> list[str]:
    text = b"".join(bytes(piece) for piece in result_lines(in_time_order(blocks))).decode()
    assert text.endswith("\n") or not text
    return text.splitlines()


def test_push_and_pull_lines_in_time_order() -> None:
    assert lines_of(PUSHED, PULLED) == [
        '{"query": "q1", "ts": "1970-01-01T00:00:01Z", "row": {"x": null, "s": ""}}',
        '{"query": "q2", "at": 1.5, "row": {"n": 0.5}}',
        '{"query": "q1", "ts": "1970-01-01T00:00:02Z", "row": {"x": 1, "s": "a"}}',
    ]


def test_queries_that_share_columns_each_show_their_rows() -> None:
    columns = (from_python(T.BIGINT, list(range(5))),)
    times = np.arange(5) * 1_000_000
    blocks = [
        ResultBlock(f"q{n}", ("x",), columns, np.arange(n, 5), times[n:], T.BIGINT, False)
        for n in range(5)
    ]
    shown = [
        (one["ts"], one["query"], one["row"]["x"]) for one in map(json.loads, lines_of(*blocks))
    ]
    assert shown == [(x, f"q{n}", x) for x in range(5) for n in range(x + 1)]


def test_many_lines_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cqc.runtime.sinks.lines.LINES_AT_ONCE", 2)
    many = block("q", {"x": (T.BIGINT, [0, 1, 2, 3, 4])}, [0, 1, 2, 3, 4])
    assert len(list(result_lines([many]))) == 3
    assert [json.loads(line)["row"]["x"] for line in lines_of(many)] == [0, 1, 2, 3, 4]


def test_a_query_without_columns_has_empty_rows() -> None:
    bare = ResultBlock("q", (), (), None, np.array([0, 0]), T.BIGINT, False)
    assert lines_of(bare) == ['{"query": "q", "ts": 0, "row": {}}'] * 2
