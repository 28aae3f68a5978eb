"""Programs spread over cells give the answers of the language, whatever the number of cells; the stages run in this process."""

from __future__ import annotations

import zlib
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import cqc
from tests.generators import random_case
from tests.language.executors import EngineExecutor
from tests.language.test_language import GOOD, run_case
from tests.spark.distributed.cluster import ClusterExecutor

if TYPE_CHECKING:
    from tests.language.cqt import LanguageCase


def marked(case: LanguageCase, partitions: int) -> object:
    quick = zlib.crc32(f"{case} {partitions}".encode()) % 12 == 0
    marks = [] if quick else [pytest.mark.slow]
    return pytest.param(case, partitions, id=f"{case}-{partitions}", marks=marks)


@pytest.mark.parametrize(
    ("case", "partitions"), [marked(case, number) for case in GOOD for number in (1, 2, 5)]
)
def test_a_program_answers_in_cells_as_the_language_says(
    case: LanguageCase, partitions: int
) -> None:
    run_case(case, lambda program, seed: ClusterExecutor(program, partitions, seed))


@pytest.mark.parametrize(("seed", "partitions"), [(4, 5), (7, 2), (10, 5), (11, 1)])
def test_a_random_program_answers_in_cells_as_in_one_engine(seed: int, partitions: int) -> None:
    check(seed, partitions)


@pytest.mark.slow
@pytest.mark.parametrize("partitions", [1, 2, 5])
@pytest.mark.parametrize("seed", range(100))
def test_more_random_programs_do(seed: int, partitions: int) -> None:
    check(seed, partitions)


def check(seed: int, partitions: int) -> None:
    case = random_case(seed)
    program = cqc.compile(case.program)
    tables = [(name, row) for name, rows in case.tables.items() for row in rows]
    found = []
    for executor in (
        EngineExecutor(program, sharing=True, seed=seed),
        ClusterExecutor(program, partitions, seed, keep_past=seed % 2 == 0),
    ):
        executor.push([*tables, *case.arrivals])
        results = executor.results()
        found.append({name: Counter(map(repr, rows)) for name, rows in results.items()})
    assert found[0] == found[1], f"seed {seed}\n{case.program}"
    counted = executor.started().coordinator.result_counts()
    assert counted == {name: rows.total() for name, rows in found[1].items()}
