"""Programs spread over cells give the answers of the language, whatever the number of cells; the stages run in this process."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import cqc
from cqc.runtime.deliver.results import results_of
from cqc.runtime.spark.distributed.coordinator_state import CoordinatorState
from tests.integration.spark.distributed.cluster import Cluster, ClusterExecutor
from tests.language.executors import EngineExecutor
from tests.language.test_language import GOOD, run_case
from tests.property import test_absence
from tests.support.generators import random_case
from tests.support.generators.absence import absence_case
from tests.support.oracle.answers import difference
from tests.support.oracle.brute_force import push_answer

if TYPE_CHECKING:
    from cqc.runtime.cases.case_file import LanguageCase


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


@pytest.mark.parametrize("partitions", [2, 5])
@pytest.mark.parametrize("block", range(4))
def test_what_is_missing_is_decided_in_exactly_one_cell(block: int, partitions: int) -> None:
    spread = 0
    for seed in range(block * 8, block * 8 + 8):
        spread += missing_in_cells(seed, partitions)
    assert spread  # over several cells


def missing_in_cells(seed: int, partitions: int) -> bool:
    """Check a random query with absence; whether it had several cells."""
    case = absence_case(seed)
    program = test_absence.compiled(case)
    if program is None:
        return False
    table = [dict(zip(("k", "x"), row, strict=True)) for row in case.table]
    cluster = Cluster(program, partitions, seed, tables={"t": table}, keep_past=False)
    for batch in test_absence.batches(Random(seed), case.arrivals):
        cluster.run([(name, test_absence.named(case, row)) for name, row in batch])
    cluster.run([], ended=True)
    found = [
        (test_absence.micros(each.ts), *map(test_absence.plain, each.row.values()))
        for blocks in cluster.blocks
        for each in results_of(blocks)
    ]
    data = test_absence.data_of(case)
    answer = push_answer(program.queries["q1"], data.streams, data.tables)
    wrong = difference([(ts, *row) for ts, row in answer], found)
    assert wrong is None, f"seed {seed}\n{case.query}\n{wrong}"
    return any(group.cells > 1 for group in cluster.coordinator.groups)


MISSING = """
CREATE STREAM A (ts BIGINT, k BIGINT, WATERMARK FOR ts AS ts - 2);
CREATE STREAM B (ts BIGINT, k BIGINT, WATERMARK FOR ts AS ts - 2);
CREATE VIEW lonely AS SELECT A.k, A.ts AS since FROM A LEFT JOIN B ON A.k = B.k AND B.ts BETWEEN A.ts + 1 AND A.ts + 2 WHERE B.k IS NULL;
CREATE QUERY missing AS SELECT A.ts AS a, B.ts AS b FROM A LEFT JOIN B ON A.k = B.k AND B.ts BETWEEN A.ts + 1 AND A.ts + 2;
CREATE QUERY read AS SELECT since FROM lonely;
CREATE QUERY new AS SELECT n.ts FROM A n WHERE NOT EXISTS (SELECT 1 FROM A o WHERE o.k = n.k WINDOW o.ts < n.ts);
"""


@pytest.mark.parametrize("forgets", [False, True])
def test_what_was_missing_at_the_end_gets_no_partner_when_input_goes_on(*, forgets: bool) -> None:
    found, late = ended_twice(MISSING, forgets=forgets)
    assert late == 2  # the tuples at 3: up to 4 all is decided
    assert found["missing"] == ["3: [1, None]", "6: [4, None]", "7: [6, 7]", "9: [7, None]"]
    assert found["read"] == ["3: [1]", "6: [4]", "9: [7]"]
    assert found["new"] == ["1: [1]"]


GOES_ON = """
CREATE STREAM A (ts BIGINT, k BIGINT, WATERMARK FOR ts AS ts - 2);
CREATE STREAM B (ts BIGINT, k BIGINT, WATERMARK FOR ts AS ts - 2);
CREATE QUERY periodic AS SELECT COUNT(*) AS n FROM A BEGIN AFTER NOW - 2 END NOW EVERY 2 SEC;
CREATE QUERY joined AS SELECT A.ts AS a, B.ts AS b FROM A, B WHERE A.k = B.k MAXWINDOW 2 SEC;
"""
ROWS = (
    "CREATE QUERY last AS SELECT A.ts AS a, B.ts AS b FROM A [ROWS 1], B [ROWS 1] WHERE A.k = B.k;"
)


def ended_twice(program: str, *, forgets: bool) -> tuple[dict[str, list[str]], int]:
    """What queries find when more input is found after its end; how many tuples of it were late."""
    cluster = Cluster(cqc.compile(program), 2, 1, keep_past=False, forgets=forgets)
    for times in ((1, 4), (3, 6, 7)):
        cluster.run([(stream, {"ts": ts, "k": 1}) for stream in "AB" for ts in times])
        cluster.run([], ended=True)
    found: dict[str, list[str]] = {}
    for result in (each for blocks in cluster.blocks for each in results_of(blocks)):
        at = result.ts if result.at is None else result.at
        found.setdefault(result.query, []).append(f"{at}: {list(result.row.values())}")
    late = sum(count.late for count in cluster.coordinator.stream_counts().values())
    return {name: sorted(rows) for name, rows in found.items()}, late


@pytest.mark.parametrize("forgets", [False, True])
def test_input_that_goes_on_after_its_end_ends_again(*, forgets: bool) -> None:
    found, late = ended_twice(GOES_ON, forgets=forgets)
    assert found["periodic"] == ["2: [1]", "4: [1]", "6: [1]"]  # 2 and 4 were delivered before
    pairs = [(1, 1), (1, 3), (3, 1), (3, 3), (3, 4), (4, 3), (4, 4), (4, 6), (6, 4)]
    pairs += [(6, 6), (6, 7), (7, 6), (7, 7)]
    assert found["joined"] == sorted(f"{max(pair)}: {list(pair)}" for pair in pairs)
    assert late == 0


@pytest.mark.parametrize("forgets", [False, True])
def test_rows_windows_that_the_end_has_settled_stay_settled(*, forgets: bool) -> None:
    found, late = ended_twice(GOES_ON + ROWS, forgets=forgets)
    pairs = [(1, 1), (4, 1), (4, 4), (6, 4), (6, 6), (7, 6), (7, 7)]
    assert found["last"] == sorted(f"{max(pair)}: {list(pair)}" for pair in pairs)
    assert late == 2


def test_failures_of_functions_in_cells_come_back() -> None:
    """In outputs where rows are read, in a join, and in an aggregate whose parts are put together."""

    def tenth(values: Any) -> Any:
        return [10 // int(value) for value in values]

    cqc.function("cells_tenth", tenth, returns="BIGINT")
    program = cqc.compile(
        "CREATE STREAM A (ts BIGINT, k BIGINT); CREATE STREAM B (ts BIGINT, k BIGINT);"
        "CREATE QUERY alone AS SELECT cells_tenth(k) AS y FROM A;"
        "CREATE QUERY joined AS SELECT cells_tenth(A.k) AS y FROM A, B WHERE A.k = B.k MAXWINDOW 9 SEC;"
    )
    cluster = Cluster(program, 2, 1, keep_past=False)
    for _ in range(2):
        cluster.run([(stream, {"ts": 1, "k": k}) for stream in "AB" for k in (0, 5)])
    coordinator = cluster.coordinator
    place = f"{__file__}:{tenth.__code__.co_firstlineno + 1}"
    error = "ZeroDivisionError: integer division or modulo by zero"
    assert coordinator.failures == 6  # two alone, four pairs
    assert coordinator.warnings == (
        f"6 evaluations of the function cells_tenth failed and gave NULL: {error} ({place})",
    )
    state = CoordinatorState.from_json(json.loads(json.dumps(coordinator.state.to_json())))
    assert state.faults == coordinator.state.faults
