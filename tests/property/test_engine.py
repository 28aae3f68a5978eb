"""The engine answers as the oracle does: random programs, data, micro-batches and interleavings, shared and not."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.adapt import settings
from tests.language.executors import EngineExecutor
from tests.support.generators import Case, random_case
from tests.support.oracle.answers import difference
from tests.support.oracle.judge import data_of, oracle_answer

if TYPE_CHECKING:
    from cqc.compiler.meaning import bound

ONCE_FAILED = [0]
FAMILIES_ONCE_FAILED = [16, 40, 900522, 900716, 900728, 900854, 900885, 901010, 901070]


def check(seed: int, *, sharing: bool | None = None) -> None:
    """Run one random program on the engine; raises with everything needed to see why when an answer differs."""
    shared = Random(seed).random() < 0.5 if sharing is None else sharing
    check_case(random_case(seed), sharing=shared)


def check_family(seed: int, *, sharing: bool = True) -> None:
    """The same for families of similar queries, over more tuples."""
    kind = Random(seed).choice(["filters", "joins"])
    size = 40 if kind == "filters" else 12
    check_case(random_case(seed, kinds=(kind,), size=size), sharing=sharing)


def check_case(case: Case, *, sharing: bool) -> None:
    program = cqc.compile(case.program)
    executor = EngineExecutor(program, sharing=sharing, seed=case.seed)
    executor.push([(name, row) for name, rows in case.tables.items() for row in rows])
    executor.push(case.arrivals)
    data = data_of(case)
    found = executor.results()
    for query in program.queries:
        expected = [(at, *row) for at, row in oracle_answer(query, data)]
        if is_asked(query):
            actual = [(None, *row) for row in executor.invoke(query.name, None)]
        else:
            actual = [(at, *row) for at, row in found[query.name]]
        ordered = is_asked(query) and query.pull is not None and bool(query.pull.order_by)
        wrong = difference(expected, actual, ordered=ordered)
        assert wrong is None, (
            f"seed {case.seed}, sharing {sharing}\n{case.declarations}\n{query.span.text}\n{wrong}\n{data}"
        )


def is_asked(query: bound.Query) -> bool:
    """Whether the query answers only when somebody asks."""
    return query.pull is not None and query.pull.every_us is None


@pytest.mark.parametrize("block", range(20))
def test_the_engine_answers_random_programs_as_the_oracle_does(block: int) -> None:
    for seed in range(block * 10, block * 10 + 10):
        check(seed)


@pytest.mark.parametrize("block", range(10))
def test_the_engine_answers_families_of_queries_as_the_oracle_does(block: int) -> None:
    for seed in range(block * 8, block * 8 + 8):
        check_family(seed)


@pytest.mark.parametrize("seed", ONCE_FAILED)
def test_the_engine_answers_where_it_once_did_not(seed: int) -> None:
    check(seed, sharing=True)
    check(seed, sharing=False)


@pytest.mark.parametrize("seed", range(5))
def test_results_of_one_micro_batch_come_in_result_time_order(seed: int) -> None:
    case = random_case(seed, kinds=("filter", "join"))
    executor = EngineExecutor(cqc.compile(case.program), sharing=True, seed=seed)
    executor.push([(name, row) for name, rows in case.tables.items() for row in rows])
    for arrival in range(0, len(case.arrivals), 5):
        batch = case.arrivals[arrival : arrival + 5]
        rows: dict[str, list[dict[str, object]]] = {}
        for name, row in batch:
            rows.setdefault(name, []).append(executor.named(name, row))
        executor.engine.push_batch(rows)
        times = [result.ts for result in executor.engine.drain()]
        assert times == sorted(times)


@pytest.mark.parametrize("sharing", [True, False])
@pytest.mark.parametrize("seed", FAMILIES_ONCE_FAILED)
def test_the_engine_answers_families_where_it_once_did_not(seed: int, sharing: bool) -> None:
    check_case(random_case(seed, kinds=("filters",), size=40), sharing=sharing)


@pytest.mark.parametrize("seconds_a_row", [0.0, 1.0], ids=["packet side", "access side"])
@pytest.mark.parametrize("block", range(4))
def test_either_side_of_the_grouped_filter_answers_as_the_oracle_does(
    block: int, seconds_a_row: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What the packet index is expected to cost decides which side answers.
    monkeypatch.setattr(settings, "SIDE_ROW_S", seconds_a_row)
    for seed in range(block * 8, block * 8 + 8):
        check_case(random_case(seed, kinds=("filters",), size=40), sharing=True)
