"""Random programs give on Spark what they give in this process."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.cases.spark_executor import SparkExecutor
from tests.language.executors import EngineExecutor
from tests.support.generators import random_case

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.runtime.spark.session.session import Session


def check(seed: int, session: Session, folder: Path) -> None:
    case = random_case(seed)
    program = cqc.compile(case.program)
    tables = [(name, row) for name, rows in case.tables.items() for row in rows]
    found = []
    for executor in (
        EngineExecutor(program, sharing=True, seed=seed),
        SparkExecutor(program, session, folder),
    ):
        executor.push([*tables, *case.arrivals])
        results = executor.results()
        found.append({name: Counter(map(repr, rows)) for name, rows in results.items()})
    assert found[0] == found[1], f"seed {seed}\n{case.program}"


@pytest.mark.parametrize("seed", range(3))
def test_a_random_program_answers_on_spark_as_in_this_process(
    seed: int, session: Session, tmp_path: Path
) -> None:
    check(seed, session, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 40))
def test_more_random_programs_do(seed: int, session: Session, tmp_path: Path) -> None:
    check(seed, session, tmp_path)
