"""Pull queries asked at random moments about random instants answer as the oracle does over what had arrived."""

from __future__ import annotations

from random import Random

import pytest

import cqc
from tests.language.executors import EngineExecutor
from tests.support.generators import random_case
from tests.support.generators.data import EPOCH_US
from tests.support.oracle.answers import difference
from tests.support.oracle.brute_force import every_answers, pull_answer
from tests.support.oracle.judge import data_of

ONCE_FAILED = [0]


def check_pull(seed: int) -> None:
    """Push a random case piece by piece and ask its queries in between; EVERY is compared at the end."""
    case = random_case(seed, kinds=("pull", "pull", "periodic"))
    rng = Random(seed)
    program = cqc.compile(case.program)
    executor = EngineExecutor(program, sharing=rng.random() < 0.7, seed=seed)
    executor.push([(name, row) for name, rows in case.tables.items() for row in rows])
    arrived = 0
    while True:
        for query in program.queries:
            if rng.random() < 0.5:
                at_us = random_instant(rng, program)
                expected = pull_answer(query, data_of(case, 0, arrived), at_us)
                found = executor.invoke(query.name, at_us)
                assert query.pull is not None
                wrong = difference(expected, found, ordered=bool(query.pull.order_by))
                assert wrong is None, (
                    f"seed {seed}\n{case.declarations}\n{query.span.text}\n"
                    f"after {arrived} at {at_us}: {wrong}\n{data_of(case, 0, arrived)}"
                )
        if arrived >= len(case.arrivals):
            break
        count = rng.randint(1, 12)
        executor.push(case.arrivals[arrived : arrived + count])
        arrived = min(arrived + count, len(case.arrivals))
    found_at = executor.results()
    for query in program.queries:
        if query.pull is not None and query.pull.every_us is not None:
            expected_at = [(at, *row) for at, row in every_answers(query, data_of(case))]
            actual_at = [(at, *row) for at, row in found_at[query.name]]
            wrong = difference(expected_at, actual_at)
            assert wrong is None, (
                f"seed {seed}\n{case.declarations}\n{query.span.text}\n{wrong}\n{data_of(case)}"
            )


def random_instant(rng: Random, program: cqc.Program) -> int | None:
    """None, for the latest event time; or a second around the data, or half of one."""
    if rng.random() < 0.4:
        return None
    numeric = any(relation.time_type.is_numeric for relation in program.streams)
    return (0 if numeric else EPOCH_US) + rng.randint(-4, 30) * 500_000


@pytest.mark.parametrize("block", range(10))
def test_pull_queries_answer_at_any_moment_about_any_instant(block: int) -> None:
    for seed in range(block * 10, block * 10 + 10):
        check_pull(seed)


@pytest.mark.parametrize("seed", ONCE_FAILED)
def test_a_pull_query_that_once_went_wrong(seed: int) -> None:
    check_pull(seed)
