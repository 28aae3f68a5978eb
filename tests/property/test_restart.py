"""Restart does not matter: an engine that goes on from a checkpoint gives what an undisturbed one gives."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.run.durable.checkpoint import Checkpoint, Commit
from cqc.runtime.run.durable.checkpoint_compatibility import schema_of
from tests.language.executors import EngineExecutor
from tests.support.generators import micro_batches, random_case

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.generators import Case
    from tests.support.generators.splits import MicroBatch


class Life:
    """One engine from its start to its end."""

    def __init__(self, case: Case) -> None:
        self.program = cqc.compile(case.program)
        self.executor = EngineExecutor(self.program, sharing=True, seed=0)
        self.engine = self.executor.engine
        for name, rows in case.tables.items():
            self.engine.push(name, [self.executor.named(name, row) for row in rows])

    def push(self, batch: MicroBatch) -> None:
        self.engine.push_batch(
            {name: [self.executor.named(name, row) for row in rows] for name, rows in batch.items()}
        )

    def results(self) -> Counter[str]:
        return Counter(map(repr, self.engine.drain()))


def restarted(life: Life, case: Case, folder: Path, number: int) -> Life:
    checkpoint = Checkpoint(str(folder))
    snapshot = life.engine.snapshot(since=checkpoint.written)
    schema = schema_of(life.program.catalog)
    commit = Commit(number, snapshot.state, schema, {}, {}, {}, ended=False)
    checkpoint.commit(commit, snapshot.tuples)
    checkpoint.close()
    again = Checkpoint(str(folder))
    last = again.last()
    assert last is not None
    other = Life(case)
    other.engine.restore(again.snapshot(last, other.program.catalog.relations))
    again.close()
    return other


def check(seed: int, folder: Path) -> None:
    check_case(random_case(seed), folder)


def check_case(case: Case, folder: Path) -> None:
    """Restart at random moments; raises with the program's text when the results differ."""
    seed = case.seed
    rng = Random(seed)
    batches = micro_batches(rng, case.arrivals)
    whole, life = Life(case), Life(case)
    found: Counter[str] = Counter()
    restarts = 0
    for batch in batches:
        whole.push(batch)
        life.push(batch)
        found += life.results()
        if rng.random() < 0.4:
            life = restarted(life, case, folder, restarts)
            restarts += 1
    whole.engine.finish()
    life.engine.finish()
    whole.engine.closing_invocations()
    life.engine.closing_invocations()
    assert found + life.results() == whole.results(), f"seed {seed}\n{case.program}"
    assert life.engine.result_counts() == whole.engine.result_counts(), f"seed {seed}"
    assert life.engine.stream_counts() == whole.engine.stream_counts(), f"seed {seed}"


@pytest.mark.parametrize("block", range(6))
def test_a_restart_between_micro_batches_changes_nothing(block: int, tmp_path: Path) -> None:
    for seed in range(block * 10, block * 10 + 10):
        check(seed, tmp_path / str(seed))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_many_restarts_change_nothing(block: int, tmp_path: Path) -> None:
    for seed in range(1000 + block * 50, 1000 + block * 50 + 50):
        check(seed, tmp_path / str(seed))
