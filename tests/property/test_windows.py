"""Random programs of windows and OVER answer as the oracle does, however the input is cut, restarted, and whenever queries come."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.compiler.emit.sql import query_sql
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.engine.snapshot import EngineState, Snapshot
from tests.language.executors import plain, shown, time_us
from tests.support.duckdb_judge import DuckDbJudge
from tests.support.generators.windows import NAMES, random_window_case
from tests.support.oracle.answers import difference
from tests.support.oracle.brute_force import Data, pull_answer, push_answer

if TYPE_CHECKING:
    from cqc.compiler.meaning.bound import Query
    from tests.support.oracle.scalars import Row

ONCE_FAILED: list[int] = []
STRATEGIES = [Strategy(), Strategy(sharing=False), Strategy(packet=1)]


class Run:
    """An engine that is cut, saved and started anew at random moments."""

    def __init__(self, program: cqc.Program, rng: Random, text: str) -> None:
        self.program, self.rng, self.text = program, rng, text
        self.strategy = rng.choice(STRATEGIES)
        self.engine = self.new_engine()
        self.found: dict[str, list[tuple[int, Row]]] = {}

    def new_engine(self) -> cqc.Engine:
        engine = cqc.Engine(
            cqc.compile(self.text), strategy=self.strategy, keep_past=self.rng.random() < 0.5
        )
        engine.push("names", [{"k": k, "title": title} for k, title in NAMES])
        return engine

    def push(self, rows: list[tuple[object, ...]]) -> None:
        columns = self.program.catalog.relations["s"].columns
        named = [
            {
                column.name: shown(value, column.type)
                for column, value in zip(columns, row, strict=True)
            }  # type: ignore[arg-type]
            for row in rows
        ]
        self.engine.push("s", named)
        self.collect()

    def restart(self) -> None:
        snapshot = self.engine.snapshot()
        state = EngineState.from_json(json.loads(json.dumps(snapshot.state.to_json())))
        self.engine = self.new_engine()
        self.engine.restore(Snapshot(state, snapshot.tuples))

    def collect(self) -> None:
        for result in self.engine.drain():
            time = result.ts if result.at is None else result.at
            row = tuple(map(plain, result.row.values()))
            self.found.setdefault(result.query, []).append((time_us(time), row))


def check_windows(seed: int) -> None:
    case = random_window_case(seed)
    rng = Random(seed)
    program = cqc.compile(case.program)
    run = Run(program, rng, case.program)
    late = program.queries["w0"].span.text
    registered: int | None = None
    at = 0
    while at < len(case.rows):
        if registered is None and rng.random() < 0.2:
            run.engine.register(late, name="late")
            registered = at
        count = rng.choice([1, 2, 5, 20])
        run.push(case.rows[at : at + count])
        at += count
        if rng.random() < 0.3:
            run.restart()
    run.engine.finish()
    run.collect()
    tables = {"names": NAMES}
    for query in program.queries:
        starts = {query.name: 0}
        if query.name == "w0" and registered is not None:
            starts["late"] = registered
        for name, first in starts.items():
            rows = [(row, number) for number, row in enumerate(case.rows[first:])]
            answer = expected_answer(program, query, Data({"s": rows}, tables))  # type: ignore[arg-type]
            expected = [(at_us, *row) for at_us, row in answer]
            actual = [(at_us, *row) for at_us, row in run.found.get(name, [])]
            wrong = difference(expected, actual)
            assert wrong is None, f"seed {seed} {name}\n{case.program}\n{wrong}\n{case.rows}"


def expected_answer(program: cqc.Program, query: Query, data: Data) -> list[tuple[int, Row]]:
    """By the oracle; by DuckDB where the query reads a view, whose rows have no order of arrival."""
    of_windows = query.decided is None or query.decided.by_window
    if of_windows or all(item.relation.view is None for item in query.items):
        return push_answer(query, data.streams, data.tables)
    judge = DuckDbJudge(dict(program.catalog.relations), data)
    try:
        return judge.answer(query_sql(query, timed=True))  # type: ignore[return-value]
    finally:
        judge.close()


@pytest.mark.parametrize("block", range(10))
def test_windows_answer_as_the_oracle_does(block: int) -> None:
    for seed in range(block * 20, block * 20 + 20):
        check_windows(seed)


@pytest.mark.parametrize("seed", ONCE_FAILED)
def test_a_program_that_once_went_wrong(seed: int) -> None:
    check_windows(seed)


PULL_CALLS = [
    "LEAD(x) OVER (PARTITION BY k ORDER BY ts, x, y, j)",
    "SUM(x) OVER (PARTITION BY k)",
    "SUM(y) OVER (PARTITION BY j ORDER BY x)",
    "COUNT(*) OVER (ORDER BY x RANGE BETWEEN 1 PRECEDING AND 2 FOLLOWING)",
    "MIN(x) OVER (PARTITION BY j ORDER BY ts RANGE BETWEEN 2 SECONDS PRECEDING AND CURRENT ROW)",
    "RANK() OVER (PARTITION BY k ORDER BY y DESC)",
    "CUME_DIST() OVER (ORDER BY x)",
    "COUNT(DISTINCT j) OVER (PARTITION BY k)",
    "MAX(k) OVER (ORDER BY x DESC RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)",
]


def check_asked(seed: int) -> None:
    """OVER of a query with BEGIN-END, asked after all rows have come."""
    case = random_window_case(seed)
    rng = Random(seed)
    declared = case.program.split("CREATE QUERY")[0]
    calls = [f"{call} AS o{at}" for at, call in enumerate(rng.sample(PULL_CALLS, 2))]
    where = rng.choice(["", " WHERE x > 0"])
    text = f"SELECT k, x, {', '.join(calls)} FROM s{where} BEGIN {{}} END NOW"
    grouped = (
        "SELECT k, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS total FROM s BEGIN {} END NOW GROUP BY k"
        " QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC) <= 2"
    )
    is_number = "ts BIGINT" in declared
    begin = "0" if is_number else "TIMESTAMP '2024-01-01 00:00:00'"
    program = cqc.compile(f"{declared}{text.format(begin)};{grouped.format(begin)};")
    run = Run(program, rng, case.program.split("CREATE QUERY")[0])
    data = Data({"s": [(row, at) for at, row in enumerate(case.rows)]}, {"names": NAMES})  # type: ignore[misc]
    handles = [run.engine.register(query.span.text) for query in program.queries]
    for at in range(0, len(case.rows), 7):
        run.push(case.rows[at : at + 7])
    judge = DuckDbJudge(dict(program.catalog.relations), data)
    for query, handle in zip(program.queries, handles, strict=True):
        found = run.engine.invoke(handle).to_pylist()
        actual = [tuple(map(plain, row.values())) for row in found]
        expected = pull_answer(query, data)
        wrong = difference(expected, actual)
        assert wrong is None, f"seed {seed}\n{declared}{query.span.text}\n{wrong}\n{case.rows}"
        by_sql = [row for _, row in judge.answer(query_sql(query, timed=True))]
        wrong = difference(expected, by_sql)
        assert wrong is None, f"seed {seed} SQL\n{query.span.text}\n{wrong}\n{case.rows}"
    judge.close()


@pytest.mark.parametrize("block", range(4))
def test_over_of_queries_that_are_asked_is_that_of_sql(block: int) -> None:
    for seed in range(block * 15, block * 15 + 15):
        check_asked(seed)
