"""A value that many tuples have is spread over the cells, and answers stay what they are."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

import cqc
from cqc.runtime.spark.distributed.messages.spec import Change
from cqc.runtime.spark.distributed.stages.skew import Load, dealable
from tests.integration.spark.distributed.cluster import ClusterExecutor
from tests.language.executors import EngineExecutor

if TYPE_CHECKING:
    from cqc.runtime.spark.distributed.messages.spec import Spread

STREAMS = """
CREATE STREAM A (ts BIGINT, k BIGINT, x BIGINT);
CREATE STREAM B (ts BIGINT, k BIGINT, y BIGINT);
CREATE STREAM C (ts BIGINT, k BIGINT, z BIGINT);
"""
PAIR = "CREATE QUERY pair AS SELECT x, y FROM A, B WHERE A.k = B.k MAXWINDOW 6 SEC;"
THREE = "CREATE QUERY three AS SELECT x, y, z FROM A, B, C WHERE A.k = B.k AND B.k = C.k MAXWINDOW 4 SEC;"
AT_C = "CREATE QUERY other AS SELECT y, z FROM B, C WHERE B.k = C.k MAXWINDOW 3 SEC;"


def skewed(rows: int, seed: int) -> list[tuple[str, tuple[int, int, int]]]:
    """Nine in ten of A have one value; the others have many."""
    rng = np.random.default_rng(seed)
    found = []
    for at in range(rows):
        stream = "AAAAAABC"[rng.integers(8)]
        heavy = rng.random() < (0.9 if stream == "A" else 0.2)
        found.append((stream, (at // 4, 7 if heavy else int(rng.integers(40)), at)))
    return found


def spread(executor: ClusterExecutor) -> list[Spread]:
    changes = map(Change.from_text, executor.started().coordinator.state.changes)
    return [change.spread for change in changes if change.spread is not None]


def same(
    program: cqc.Program, inputs: list[tuple[str, tuple[int, int, int]]], cells: int
) -> ClusterExecutor:
    found = []
    for executor in (
        EngineExecutor(program, sharing=True, seed=2),
        ClusterExecutor(program, cells, 2, keep_past=False),
    ):
        executor.push(inputs)
        results = executor.results()
        found.append({name: Counter(map(repr, rows)) for name, rows in results.items()})
    assert found[0] == found[1]
    assert all(found[0].values())
    assert isinstance(executor, ClusterExecutor)
    return executor


@pytest.mark.parametrize("cells", [2, 5])
@pytest.mark.parametrize("queries", [PAIR, PAIR + THREE])
def test_a_heavy_value_is_copied_and_then_dealt_out(queries: str, cells: int) -> None:
    executor = same(cqc.compile(STREAMS + queries), skewed(300, cells), cells)
    steps = [(each.stream, each.code, each.dealt) for each in spread(executor) if each.code == 7]
    assert steps == [("a", 7, False), ("a", 7, True)]
    held = [sum(map(len, store.kept.values())) for store in executor.started().stores.values()]
    assert min(held) * 4 > max(held)


def test_nothing_is_spread_where_a_query_lacks_the_heavy_stream() -> None:
    executor = same(cqc.compile(STREAMS + PAIR + AT_C), skewed(200, 1), 3)
    assert not [each for each in spread(executor) if each.stream == "a"]


def test_a_query_that_comes_later_has_cells_of_its_own() -> None:
    program = cqc.compile(STREAMS + PAIR)
    found = []
    for executor in (EngineExecutor(program, sharing=True, seed=2), ClusterExecutor(program, 3, 2)):
        executor.push(skewed(160, 3))
        executor.register(AT_C)
        executor.push([(name, (ts + 40, k, v)) for name, (ts, k, v) in skewed(160, 4)])
        results = executor.results()
        found.append({name: Counter(map(repr, rows)) for name, rows in results.items()})
    assert found[0] == found[1]
    assert found[0]["other"]
    assert any(each.dealt for each in spread(executor))


def test_only_streams_that_each_query_has_once_can_be_dealt_out() -> None:
    program = cqc.compile(
        STREAMS
        + PAIR
        + "SELECT p.x FROM A p, A q, B WHERE p.k = q.k AND q.k = B.k MAXWINDOW 2 SEC;"
    )
    assert dealable(program.graph.queries.values()) == {"b"}


def test_a_sample_finds_frequent_values() -> None:
    codes = np.arange(100_000)
    codes[::3] = 5
    load = Load()
    load.note(0, "a", codes, 4)
    assert list(load.values) == [(0, "a", 5)]
    assert 20_000 < load.values[0, "a", 5] < 50_000
