"""Programs over streaming DataFrames answer on the executors as the language says: queries come and go, and are asked."""

from __future__ import annotations

import zlib
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import cqc
from cqc.runtime.cases.spark_executor import SparkExecutor
from tests.language.executors import EngineExecutor, plain, time_us
from tests.language.test_language import GOOD, run_case
from tests.support.generators import random_case

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.runtime.cases.case_file import LanguageCase
    from cqc.runtime.spark.distributed.handle import DistributedHandle
    from cqc.runtime.spark.session.session import Session
    from tests.language.executors import Timed


class DistributedExecutor(SparkExecutor):
    """The same sources as on one machine, with the operators on executors."""

    def __init__(
        self, program: cqc.Program, session: Session, folder: Path, partitions: int
    ) -> None:
        super().__init__(program, session, folder)
        self.partitions = partitions
        self.distributed: DistributedHandle | None = None

    def started(self) -> DistributedHandle:  # type: ignore[override]  # it has the same methods
        if self.distributed is None:
            relations = self.program.catalog.relations.values()
            self.distributed = cqc.spark.start(
                self.program,
                self.session.spark,
                {relation.name: self.source(relation) for relation in relations},
                distribute=True,
                partitions=self.partitions,
            )
        return self.distributed

    def results(self) -> dict[str, list[Timed]]:
        handle = self.started()
        handle.finish(closing=False)
        handle.stop()
        found: dict[str, list[Timed]] = {name: [] for name in self.queries}
        for result in handle.results():
            time = result.ts if result.at is None else result.at
            found[result.query].append((time_us(time), tuple(map(plain, result.row.values()))))
        return found


def marked(case: LanguageCase) -> object:
    partitions = (1, 2, 5)[zlib.crc32(str(case).encode()) % 3]
    return pytest.param(case, partitions, id=f"{case}-{partitions}", marks=[pytest.mark.slow])


def test_queries_come_and_go_on_executors(session: Session, tmp_path: Path) -> None:
    program = cqc.compile(
        "CREATE STREAM s (ts BIGINT, k BIGINT); CREATE STREAM r (ts BIGINT, k BIGINT);"
        "CREATE QUERY kept AS SELECT s.k FROM s, r WHERE s.k = r.k MAXWINDOW 9 SEC;"
        "CREATE QUERY asked AS SELECT COUNT(*) AS n, SUM(k) AS total FROM s BEGIN 0 END NOW;"
    )
    executor = DistributedExecutor(program, session, tmp_path, 2)
    executor.push([("s", (1, 1)), ("s", (2, 2)), ("r", (2, 1))])
    assert executor.invoke("asked", None) == [(2, 3)]
    executor.register("CREATE QUERY later AS SELECT s.k FROM s, r WHERE s.k = r.k MAXWINDOW 9 SEC")
    executor.register("CREATE QUERY past AS SELECT s.k FROM s BEGIN 0 END NOW")
    executor.unregister("kept")
    executor.push([("r", (3, 2)), ("s", (3, 7)), ("r", (4, 7))])
    assert sorted(executor.invoke("past", None)) == [(1,), (2,), (7,)]
    assert executor.invoke("asked", 2_000_000) == [(2, 3)]
    assert executor.results() == {
        "kept": [(2_000_000, (1,))],
        "asked": [],
        "later": [(4_000_000, (7,))],
        "past": [],
    }


def test_a_stream_alone_keeps_its_columns_apart_from_ours(session: Session, tmp_path: Path) -> None:
    program = cqc.compile(
        "CREATE STREAM s (ts BIGINT, tag BIGINT, control STRING);"
        "CREATE QUERY q AS SELECT control FROM s WHERE tag > 1;"
    )
    executor = DistributedExecutor(program, session, tmp_path, 1)
    executor.push([("s", (1, 1, "a")), ("s", (2, 2, "b"))])
    assert executor.results() == {"q": [(2_000_000, ("b",))]}


def test_functions_run_on_executors_and_what_they_raise_comes_back(
    session: Session, tmp_path: Path
) -> None:
    def fails_for_two(values: Any) -> Any:
        if 2 in values:
            raise ValueError("two is too many")
        return values * 10

    cqc.function("fails_for_two", fails_for_two, returns="BIGINT")
    program = cqc.compile(
        "CREATE STREAM s (ts BIGINT, k BIGINT); CREATE STREAM r (ts BIGINT, k BIGINT);"
        "CREATE QUERY alone AS SELECT fails_for_two(k) AS y FROM s;"
        "CREATE QUERY joined AS SELECT fails_for_two(s.k) AS y FROM s, r WHERE s.k = r.k MAXWINDOW 9 SEC;"
    )
    executor = DistributedExecutor(program, session, tmp_path, 2)
    executor.push([("s", (1, 1)), ("s", (1, 2)), ("r", (1, 1)), ("r", (1, 2))])
    handle = executor.started()
    handle.process_all_available()
    cqc.function("added_later", lambda values: values + 0.5)
    executor.register("CREATE QUERY later AS SELECT added_later(k) AS y FROM s")
    executor.push([("s", (2, 7))])
    found = {name: sorted(rows, key=repr) for name, rows in executor.results().items()}
    assert [row for _, row in found["alone"]] == [(10,), (None,), (70,)]
    assert [row for _, row in found["joined"]] == [(10,), (None,)]
    assert [row for _, row in found["later"]] == [(7.5,)]
    (told,) = handle.warnings
    place = f"{__file__}:{fails_for_two.__code__.co_firstlineno + 2}"
    assert told == (
        "2 evaluations of the function fails_for_two failed and gave NULL:"
        f" ValueError: two is too many ({place})"
    )


def test_whoever_waits_for_an_answer_hears_that_the_run_was_stopped(
    session: Session, tmp_path: Path
) -> None:
    program = cqc.compile(
        "CREATE STREAM s (ts BIGINT, k BIGINT);"
        "CREATE QUERY asked AS SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW;"
    )
    executor = DistributedExecutor(program, session, tmp_path, 1)
    handle = executor.started()
    handle.stop()
    with pytest.raises(cqc.RunError, match="the run was stopped"):
        handle.invoke("asked")
    with pytest.raises(cqc.RunError, match="the run was stopped"):
        handle.register("SELECT k FROM s")


@pytest.mark.parametrize(("case", "partitions"), [marked(case) for case in GOOD])
def test_a_program_answers_on_executors_as_the_language_says(
    case: LanguageCase, partitions: int, session: Session, tmp_path: Path
) -> None:
    run_case(
        case, lambda program, seed: DistributedExecutor(program, session, tmp_path, partitions)
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_a_random_program_answers_on_executors_as_in_this_process(
    seed: int, session: Session, tmp_path: Path
) -> None:
    case = random_case(seed)
    program = cqc.compile(case.program)
    tables = [(name, row) for name, rows in case.tables.items() for row in rows]
    found = []
    for executor in (
        EngineExecutor(program, sharing=True, seed=seed),
        DistributedExecutor(program, session, tmp_path, (1, 2, 5)[seed % 3]),
    ):
        executor.push([*tables, *case.arrivals])
        results = executor.results()
        found.append({name: Counter(map(repr, rows)) for name, rows in results.items()})
    assert found[0] == found[1], f"seed {seed}\n{case.program}"
