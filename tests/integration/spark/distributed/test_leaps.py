"""A leap over too many EVERY instants ends a distributed run where it ends one on one engine, with the same sentence."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.spark.distributed.coordinator import Coordinator
from cqc.runtime.spark.distributed.coordinator_state import CoordinatorState
from tests.integration.spark.distributed.cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterable

Rows = list[tuple[str, dict[str, object]]]
MOST = 10
PROGRAM = """
CREATE STREAM A (ts BIGINT, k BIGINT, WATERMARK FOR ts AS ts - 4);
CREATE STREAM B (ts BIGINT, k BIGINT);
CREATE QUERY one AS SELECT COUNT(*) AS n FROM A WHERE k = 0 BEGIN AFTER NOW - 9 END NOW EVERY 3 SEC;
CREATE QUERY two AS SELECT COUNT(*) AS n FROM A, B WHERE A.k = B.k BEGIN AFTER NOW - 9 END NOW EVERY 7 SEC;
"""


def rows(stream: str, *times: int) -> Rows:
    return [(stream, {"ts": ts, "k": ts % 5}) for ts in times]


def on_one_engine(program: str, batches: Iterable[Rows]) -> tuple[int, str]:
    """After how many micro-batches a run ends, and why."""
    engine = cqc.Engine(cqc.compile(program), keep_past=False)
    engine.bound_instants(MOST)
    done = 0
    try:
        for batch in batches:
            by_stream: dict[str, list[dict[str, object]]] = {}
            for name, row in batch:
                by_stream.setdefault(name, []).append(row)
            engine.push_batch(by_stream)
            done += 1
        engine.finish()
    except cqc.RunError as error:
        return done, str(error)
    return done + 1, ""


def in_cells(
    program: str, batches: Iterable[Rows], partitions: int, seed: int = 1
) -> tuple[int, str]:
    compiled = cqc.compile(program)
    cluster = Cluster(compiled, partitions, seed, keep_past=False, max_instants=MOST)
    done = 0
    try:
        for batch in batches:
            cluster.run(batch)
            done += 1
            if done % 2:
                again(cluster)
        cluster.run([], ended=True)
    except cqc.RunError as error:
        return done, str(error)
    return done + 1, ""


def again(cluster: Cluster) -> None:
    """The driver starts anew from its checkpoint."""
    before = cluster.coordinator
    state = CoordinatorState.from_json(json.loads(json.dumps(before.state.to_json())))
    cluster.coordinator = Coordinator(
        cluster.program,
        before._chooser._partitions,
        strategy=before._strategy,
        keep_past=False,
        max_instants=MOST,
    )
    cluster.coordinator._key = before._key
    cluster.coordinator.resume(state)


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize(
    ("batches", "done", "named"),
    [
        ([rows("A", 1, 2), rows("A", 3, 90), rows("A", 91)], 1, '"ts": 90'),
        ([rows("A", 90, 3, 1), rows("A", 2)], 0, '"ts": 90'),  # in one micro-batch, in any order
        ([rows("A", 1), rows("A", 30), rows("A", 60), rows("A", 90, 61)], 5, ""),
        ([rows("A", *range(1, 200))], 2, ""),  # many instants at once, with rows among them
        ([rows("B", 1, 900), rows("A", 1), rows("A", 2)], 3, '"ts": 900'),  # A is the one behind
        ([rows("A", 1), rows("B", 2), rows("A", 30), rows("B", 500)], 4, '"ts": 500'),  # at the end
    ],
)
def test_a_leap_ends_the_run_as_on_one_engine(
    batches: list[Rows], done: int, named: str, partitions: int
) -> None:
    found = in_cells(PROGRAM, batches, partitions)
    assert found == on_one_engine(PROGRAM, batches)
    assert found[0] == done
    assert named in found[1]


def check(seed: int) -> None:
    rng = random.Random(seed)
    now, batches = 1, []
    for _ in range(rng.randint(1, 8)):
        batch: Rows = []
        for _ in range(rng.randint(1, 5)):
            now += rng.choice([0, 1, 5, 20, 25, 35]) if rng.random() < 0.9 else rng.randint(60, 90)
            batch += rows(rng.choice("AB"), max(now - rng.randint(0, 4), 0))
        batches.append(batch)
    one = on_one_engine(PROGRAM, batches)
    cells = in_cells(PROGRAM, batches, 1 + seed % 3, seed)
    # Of two rows at one instant either may be named.
    assert one[0] == cells[0], (batches, one, cells)
    assert one[1].partition("because of")[0] == cells[1].partition("because of")[0], batches


@pytest.mark.parametrize("seed", range(12))
def test_random_leaps_end_the_run_as_on_one_engine(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 200))
def test_more_random_leaps_do(seed: int) -> None:
    check(seed)
