"""Queries over random views answer as the oracle does: however input is cut, whoever comes when, after restarts, by any strategy."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.compiler.emit.sql import query_sql
from tests.property import test_engine, test_restart, test_strategies
from tests.property.test_live_queries import History
from tests.support.duckdb_judge import DuckDbJudge
from tests.support.generators import random_case
from tests.support.oracle.answers import difference
from tests.support.oracle.judge import data_of, oracle_answer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.generators import Case

ONCE_FAILED = [0, 49, 128, 142, 214]


def cases(first: int, count: int) -> Iterator[Case]:
    """Random programs over views; a few do not compile, as a view without event time has no ts."""
    for seed in range(first, first + count):
        case = random_case(seed, kinds=("views",))
        try:
            cqc.compile(case.program)
        except cqc.CompileError:
            continue
        yield case


def check_sql(case: Case) -> None:
    """Compare the emitted SQL on DuckDB with the oracle."""
    program = cqc.compile(case.program)
    data = data_of(case)
    judge = DuckDbJudge(dict(program.catalog.relations), data)
    for query in program.queries:
        expected, found = oracle_answer(query, data), judge.answer(query_sql(query, timed=True))
        if query.pull is not None and query.pull.every_us is None:
            found = [(None, row) for _, row in found]
        wrong = difference(
            [(at, *row) for at, row in expected],
            [(at, *row) for at, row in found],
            ordered=query.pull is not None and bool(query.pull.order_by),
        )
        assert wrong is None, f"seed {case.seed}\n{case.program}\n{query.name}: {wrong}\n{data}"
    judge.close()


def check_strategy(case: Case) -> None:
    test_strategies.check_case(case, test_strategies.random_strategy(Random(case.seed)))


def check_history(case: Case) -> None:
    history = History(case, case.seed)
    history.play()
    history.judge()


@pytest.mark.parametrize("block", range(10))
def test_the_engine_answers_queries_over_views(block: int) -> None:
    for case in cases(block * 10, 10):
        test_engine.check_case(case, sharing=case.seed % 2 == 0)


@pytest.mark.parametrize("seed", ONCE_FAILED)
def test_the_engine_answers_where_it_once_did_not(seed: int) -> None:
    for case in cases(seed, 1):
        test_engine.check_case(case, sharing=True)
        test_engine.check_case(case, sharing=False)


@pytest.mark.parametrize("block", range(6))
def test_readers_come_and_go(block: int) -> None:
    for case in cases(1000 + block * 10, 10):
        check_history(case)


@pytest.mark.parametrize("block", range(6))
def test_a_restart_changes_nothing(block: int, tmp_path: Path) -> None:
    for case in cases(2000 + block * 8, 8):
        test_restart.check_case(case, tmp_path / str(case.seed))


@pytest.mark.parametrize("block", range(6))
def test_every_strategy_gives_the_same(block: int) -> None:
    for case in cases(3000 + block * 8, 8):
        check_strategy(case)


@pytest.mark.parametrize("block", range(6))
def test_oracle_and_duckdb_agree_on_views(block: int) -> None:
    for case in cases(4000 + block * 10, 10):
        check_sql(case)
