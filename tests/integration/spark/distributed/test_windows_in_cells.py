"""Windows and OVER in cells: rows of a key wait together, whatever the number of cells and whoever forgets what it held."""

from __future__ import annotations

from collections import Counter

import pytest

import cqc
from cqc.compiler.graph.partitioning import place
from cqc.runtime.deliver.results import results_of
from tests.integration.spark.distributed.cluster import Cluster, ClusterExecutor
from tests.language.executors import EngineExecutor
from tests.support.generators.windows import NAMES, random_window_case

STREAM = "CREATE STREAM s (ts BIGINT, k STRING, j BIGINT, x BIGINT);\n"
OVER_STREAMS = ("groups", "session", "over", "complete", "rows", "threshold")


def check(seed: int, partitions: int) -> None:
    case = random_window_case(seed, OVER_STREAMS)
    program = cqc.compile(case.program)
    tables = [("names", row) for row in NAMES]
    found = []
    for executor in (
        EngineExecutor(program, sharing=True, seed=seed),
        ClusterExecutor(program, partitions, seed, keep_past=seed % 2 == 0),
    ):
        executor.push([*tables, *(("s", row) for row in case.rows)])  # type: ignore[list-item]
        results = executor.results()
        found.append({name: Counter(map(repr, rows)) for name, rows in results.items()})
    assert found[0] == found[1], f"seed {seed}\n{case.program}\n{case.rows}"


@pytest.mark.parametrize(("seed", "partitions"), [(at, [1, 2, 5][at % 3]) for at in range(24)])
def test_a_random_program_answers_in_cells_as_in_one_engine(seed: int, partitions: int) -> None:
    check(seed, partitions)


@pytest.mark.slow
@pytest.mark.parametrize("partitions", [1, 2, 5])
@pytest.mark.parametrize("seed", range(100, 200))
def test_more_random_programs_do(seed: int, partitions: int) -> None:
    check(seed, partitions)


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT LAG(x) OVER (PARTITION BY k) AS a FROM s", (1,)),
        ("SELECT LAG(x) OVER (PARTITION BY k, j) AS a FROM s", (1,)),
        ("SELECT LAG(x) OVER (PARTITION BY k, j) AS a, LAG(x) OVER (PARTITION BY j) AS b FROM s", (2,)),
        ("SELECT LAG(x) OVER (PARTITION BY k) AS a, LAG(x) OVER (PARTITION BY j) AS b FROM s", None),
        ("SELECT LAG(x) OVER () AS a FROM s", None),
        ("SELECT LAG(x) OVER (PARTITION BY x % 2) AS a FROM s", None),
        ("SELECT j, COUNT(*) AS n FROM TUMBLE(s, 5 SEC) GROUP BY window_end, j", (2,)),
        ("SELECT j, COUNT(*) AS n FROM TUMBLE(s, 5 SEC) GROUP BY window_end, j LIMIT 1", None),
        ("SELECT COUNT(*) AS n FROM TUMBLE(s, 5 SEC) GROUP BY window_end", None),
        ("SELECT k, COUNT(*) AS n FROM SESSION(s PARTITION BY k, 5 SEC) GROUP BY window_end, k", (1,)),
    ],
)  # fmt: skip
def test_rows_wait_by_a_column_of_all_keys(query: str, columns: tuple[int, ...] | None) -> None:
    graph = cqc.compile(STREAM + f"CREATE QUERY q AS {query};").graph
    (group,) = place(graph.queries.values(), 4).groups
    assert group.cells == (1 if columns is None else 4)
    if columns is not None:
        assert tuple(column for _, column in group.axes[0].columns) == columns


def test_a_heavy_key_stays_in_its_cell() -> None:
    """Joins deal the tuples of a frequent value out; what a key keeps is in one place."""
    text = "CREATE QUERY q AS SELECT ROW_NUMBER() OVER (PARTITION BY k) AS n FROM s;"
    cluster = Cluster(cqc.compile(STREAM + text), 3, 1, keep_past=False)
    for batch in range(20):
        cluster.run([("s", {"ts": batch, "k": "a", "j": 1, "x": at}) for at in range(5)])
    cluster.run([], ended=True)
    found = [each.row["n"] for blocks in cluster.blocks for each in results_of(blocks)]
    assert sorted(found) == list(range(1, 101))
