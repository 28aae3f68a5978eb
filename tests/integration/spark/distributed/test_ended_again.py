"""A run that came to the end of its input and then finds more answers in cells as an engine does that a checkpoint brought back.

What an end decides (EVERY instants up to the last event time, ROWS windows) stays decided; everything else goes on as if there had been
no end. Both get the same micro-batches, since which tuple is late is decided between two of them.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

import cqc
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.deliver.results import results_of
from cqc.runtime.engine.snapshot import EngineState, Snapshot
from tests.integration.spark.distributed.cluster import Cluster, ClusterExecutor
from tests.support.generators import random_case

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cqc.runtime.deliver.results import ResultBlock

Rows = list[tuple[str, dict[str, object]]]
Found = tuple[dict[str, Counter[str]], dict[str, int]]


def told(blocks: Iterable[list[ResultBlock]]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for result in (each for batch in blocks for each in results_of(batch)):
        at = result.ts if result.at is None else result.at
        found.setdefault(result.query, Counter())[f"{at}: {list(result.row.values())}"] += 1
    return found


def on_one_engine(program: cqc.Program, tables: dict[str, Any], parts: list[list[Rows]]) -> Found:
    saved: Snapshot | None = None
    blocks: list[list[ResultBlock]] = []
    for part in parts:
        engine = cqc.Engine(program, keep_past=False)
        for name, rows in tables.items():
            engine.push(name, rows)
        if saved is not None:
            state = EngineState.from_json(json.loads(json.dumps(saved.state.to_json())))
            engine.restore(replace(saved, state=state))
        for batch in part:
            by_stream: dict[str, list[dict[str, object]]] = {}
            for name, row in batch:
                by_stream.setdefault(fold(name), []).append(row)
            engine.push_batch(by_stream)
        engine.finish()
        engine.closing_invocations()
        blocks += engine.drain_blocks()
        saved = engine.snapshot()
    late = {name: count.late for name, count in engine.stream_counts().items()}
    return told(blocks), late


def in_cells(
    program: cqc.Program, tables: dict[str, Any], parts: list[list[Rows]], seed: int
) -> Found:
    cluster = Cluster(program, 1 + seed % 3, seed, tables=tables, keep_past=False)
    for part in parts:
        for batch in part:
            cluster.run(batch)
        cluster.run([], ended=True, closing=True)
    late = {name: count.late for name, count in cluster.coordinator.stream_counts().items()}
    return told(cluster.blocks), late


def check(seed: int) -> None:
    case, rng = random_case(seed), random.Random(seed)
    program = cqc.compile(case.program)
    named = ClusterExecutor(program, 1, seed).named
    tables = {fold(name): [named(name, row) for row in rows] for name, rows in case.tables.items()}
    arrivals = [(name, named(name, row)) for name, row in case.arrivals]
    cuts = sorted(rng.randrange(len(arrivals) + 1) for _ in range(2))
    parts: list[list[Rows]] = []
    for start, stop in pairwise([0, *cuts, len(arrivals)]):
        edges = sorted({start, stop, *(rng.randint(start, stop) for _ in range(8))})
        parts.append([arrivals[at:until] for at, until in pairwise(edges)])
    one, cells = on_one_engine(program, tables, parts), in_cells(program, tables, parts, seed)
    assert one == cells, f"seed {seed}\n{case.program}"


@pytest.mark.parametrize("seed", [0, 5, 49, 85])  # 49: event times of two types in one query
def test_input_that_is_found_after_the_end_is_answered_as_by_one_engine(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(150))
def test_more_input_that_is_found_after_the_end_is(seed: int) -> None:
    check(seed)
