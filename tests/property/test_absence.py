"""Outer joins and EXISTS: random queries, data, micro-batches, strategies and restarts, judged by the oracle and by DuckDB."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.compiler.emit.sql import query_sql
from cqc.runtime.errors import RunError
from tests.property.test_strategies import random_strategy
from tests.support.duckdb_judge import DuckDbJudge
from tests.support.generators.absence import AbsenceCase, absence_case
from tests.support.oracle.answers import difference
from tests.support.oracle.brute_force import Data, pull_answer, push_answer

if TYPE_CHECKING:
    from cqc.compiler.physical.strategy import Strategy

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def compiled(case: AbsenceCase) -> cqc.Program | None:
    """The program, or None where a random query has no bounds."""
    try:
        return cqc.compile(case.program)
    except cqc.CompileError as error:
        codes = {each.code for each in error.diagnostics}
        if not codes <= {"CQ012", "CQ056", "CQ082"}:
            raise
        return None


def data_of(case: AbsenceCase, first: int = 0, last: int | None = None) -> Data:
    streams: dict[str, list[tuple[tuple[int | None, ...], int]]] = {"a": [], "b": [], "c": []}
    for name, row in case.arrivals[first:last]:
        streams[name.lower()].append((row, len(streams[name.lower()])))
    return Data(streams, {"t": case.table})


def named(case: AbsenceCase, row: tuple[int | None, ...]) -> dict[str, object]:
    ts, k, x = row
    assert ts is not None
    if "ts TIMESTAMP" in case.declarations:
        return {"ts": EPOCH + timedelta(microseconds=ts), "k": k, "x": x}
    return {"ts": ts, "k": k, "x": x}


class Run:
    """One engine, and what it delivered."""

    def __init__(self, case: AbsenceCase, program: cqc.Program, strategy: Strategy | None) -> None:
        self.case = case
        self.program = program
        self.strategy = strategy
        self.engine = self.made()
        self.found: list[tuple[object, ...]] = []

    def made(self, only: tuple[str, ...] = ()) -> cqc.Engine:
        engine = cqc.Engine(self.program, strategy=self.strategy, only=only)
        engine.push("T", [dict(zip(("k", "x"), row, strict=True)) for row in self.case.table])
        return engine

    def push(self, arrivals: list[tuple[str, tuple[int | None, ...]]]) -> None:
        batch: dict[str, list[dict[str, object]]] = {}
        for name, row in arrivals:
            batch.setdefault(name, []).append(named(self.case, row))
        self.engine.push_batch(batch)
        self.take()

    def take(self) -> None:
        for result in self.engine.drain():
            self.found.append((micros(result.ts), *map(plain, result.row.values())))

    def restart(self) -> None:
        snapshot = self.engine.snapshot()
        self.engine = self.made()
        self.engine.restore(snapshot)


def micros(ts: object) -> int:
    if isinstance(ts, int | float):
        return round(ts * 1_000_000)
    assert isinstance(ts, datetime)
    return (ts.astimezone(UTC) - EPOCH) // timedelta(microseconds=1)


def plain(value: object) -> object:
    return micros(value) if isinstance(value, datetime) else value


def batches(
    random: Random, arrivals: list[tuple[str, tuple[int | None, ...]]]
) -> list[list[tuple[str, tuple[int | None, ...]]]]:
    """Micro-batches of random sizes, in which order does not matter."""
    found = []
    at = 0
    while at < len(arrivals):
        size = random.choice((1, 1, 2, 5, len(arrivals)))
        found.append(arrivals[at : at + size])
        at += size
    return found


def check_push(seed: int, *, restarts: bool = False, strategies: bool = False) -> None:
    case = absence_case(seed)
    program = compiled(case)
    if program is None:
        return
    random = Random(seed)
    run = Run(case, program, random_strategy(random) if strategies else None)
    for batch in batches(random, case.arrivals):
        run.push(batch)
        if restarts and random.random() < 0.5:
            run.restart()
    run.engine.finish()
    run.take()
    data = data_of(case)
    query = program.queries["q1"]
    expected = [(ts, *row) for ts, row in push_answer(query, data.streams, data.tables)]
    wrong = difference(expected, run.found)
    assert wrong is None, f"seed {seed} {run.strategy}\n{case.query}\n{wrong}\n{data}"


@pytest.mark.parametrize("block", range(8))
def test_a_push_query_gives_what_the_oracle_gives(block: int) -> None:
    for seed in range(block * 25, block * 25 + 25):
        check_push(seed)


@pytest.mark.parametrize("block", range(8))
def test_no_strategy_changes_an_answer(block: int) -> None:
    for seed in range(block * 25, block * 25 + 25):
        check_push(1_000 + seed, strategies=True)


@pytest.mark.parametrize("block", range(8))
def test_undecided_rows_survive_a_restart(block: int) -> None:
    for seed in range(block * 25, block * 25 + 25):
        check_push(2_000 + seed, restarts=True, strategies=seed % 2 == 0)


def check_pull(seed: int) -> None:
    case = absence_case(seed, pull=True)
    program = compiled(case)
    if program is None:
        return
    random = Random(seed)
    run = Run(case, program, random_strategy(random) if seed % 3 == 0 else None)
    query = program.queries["q1"]
    came = 0
    for batch in batches(random, case.arrivals):
        run.push(batch)
        came += len(batch)
        if random.random() < 0.3:
            run.restart()
        found = run.engine.invoke("q1").to_pylist()
        rows = [tuple(plain(value) for value in row.values()) for row in found]
        expected = pull_answer(query, data_of(case, 0, came))
        wrong = difference(expected, rows)
        assert wrong is None, f"seed {seed}\n{case.query}\n{wrong}\n{data_of(case, 0, came)}"


@pytest.mark.parametrize("block", range(8))
def test_a_pull_query_judges_absence_inside_its_window(block: int) -> None:
    for seed in range(block * 25, block * 25 + 25):
        check_pull(3_000 + seed)


@pytest.mark.parametrize("block", range(6))
def test_a_query_registered_later_sees_what_comes_from_then_on(block: int) -> None:
    for seed in range(4_000 + block * 25, 4_000 + block * 25 + 25):
        case = absence_case(seed)
        program = compiled(case)
        if program is None:
            continue
        random = Random(seed)
        empty = cqc.compile(case.declarations + "SELECT k FROM A;")
        run = Run(case, empty, None)
        moment = random.randint(0, len(case.arrivals))
        for batch in batches(random, case.arrivals[:moment]):
            run.push(batch)
        run.found = []
        run.engine.register(case.query.rstrip(";"), name="late")
        run.engine.unregister("q1")
        for batch in batches(random, case.arrivals[moment:]):
            run.push(batch)
        run.engine.finish()
        run.take()
        data = data_of(case, moment)
        expected = push_answer(program.queries["q1"], data.streams, data.tables)
        late = _late(case, moment)
        if late:
            continue
        wrong = difference([(ts, *row) for ts, row in expected], run.found)
        assert wrong is None, f"seed {seed} at {moment}\n{case.query}\n{wrong}\n{data}"


def _late(case: AbsenceCase, moment: int) -> bool:
    """Whether a tuple could be late, which depends on where micro-batches end."""
    del moment
    newest: dict[str, int] = {}
    delay = 2 if "WATERMARK" in case.declarations else 0
    unit = 1 if "BIGINT, k" in case.declarations else 1_000_000
    for name, row in case.arrivals:
        assert row[0] is not None
        if row[0] < newest.get(name, 0) - delay * unit:
            return True
        newest[name] = max(newest.get(name, 0), row[0])
    return False


@pytest.mark.parametrize("block", range(8))
@pytest.mark.parametrize("pull", [False, True])
def test_duckdb_says_the_same_of_the_emitted_sql(block: int, pull: bool) -> None:
    for seed in range(5_000 + block * 20, 5_000 + block * 20 + 20):
        case = absence_case(seed, pull=pull)
        program = compiled(case)
        if program is None:
            continue
        data = data_of(case)
        query = program.queries["q1"]
        judge = DuckDbJudge(dict(program.catalog.relations), data)
        found = [row for _, row in judge.answer(_untimed(query_sql(query)))]
        judge.close()
        if pull:
            expected = pull_answer(query, data)
        else:
            expected = [row for _, row in push_answer(query, data.streams, data.tables)]
        wrong = difference(expected, found)
        assert wrong is None, f"seed {seed}\n{case.query}\n{wrong}\n{data}\n{query_sql(query)}"


def _untimed(sql: str) -> str:
    """The statement with a first column that the judge takes for a time."""
    return f"SELECT NULL, answer.* FROM ({sql}) AS answer"


def test_many_rules_share_a_node_and_disturb_one_another_in_nothing() -> None:
    for seed in range(6_000, 6_040):
        random = Random(seed)
        case = absence_case(seed, most=40)
        rules = [
            f"CREATE QUERY r{at} AS SELECT a.ts AS ts, a.x AS x FROM A a WHERE a.x >= {at % 3} AND NOT EXISTS "
            f"(SELECT 1 FROM B b WHERE b.k = a.k AND b.x <> {at % 2} WINDOW b.ts >= a.ts AND b.ts <= a.ts + {at % 5} SEC);"
            for at in range(8)
        ]
        program = cqc.compile(case.declarations + "".join(rules))
        engine = cqc.Engine(program)
        found: dict[str, list[tuple[object, ...]]] = {f"r{at}": [] for at in range(8)}
        for batch in batches(random, case.arrivals):
            rows: dict[str, list[dict[str, object]]] = {}
            for name, row in batch:
                rows.setdefault(name, []).append(named(case, row))
            engine.push_batch(rows)
            for result in engine.drain():
                found[result.query].append((micros(result.ts), *map(plain, result.row.values())))
        engine.finish()
        for result in engine.drain():
            found[result.query].append((micros(result.ts), *map(plain, result.row.values())))
        data = data_of(case)
        for name, rows_found in found.items():
            expected = push_answer(program.queries[name], data.streams, data.tables)
            wrong = difference([(ts, *row) for ts, row in expected], rows_found)
            assert wrong is None, f"seed {seed} {name}\n{wrong}\n{data}"
        with pytest.raises(RunError):
            engine.invoke("r1")


SHARED = (
    (
        "SELECT A.k AS k, A.x AS x, A.ts AS came FROM A WHERE A.x {a} AND {negated}EXISTS"
        " (SELECT 1 FROM B WHERE B.k = A.k AND B.x {b} WINDOW B.ts >= A.ts - {before} SEC AND B.ts {below} A.ts + {after} SEC)"
    ),
    (
        "SELECT A.k AS k, A.x AS x, B.ts AS came FROM A LEFT JOIN B ON A.k = B.k AND B.x {b} WHERE A.x {a}"
        " WINDOW B.ts >= A.ts - {before} SEC AND B.ts {below} A.ts + {after} SEC"
    ),
    (
        "SELECT A.k AS k, A.x AS x, A.ts AS came FROM A WHERE A.x {a}"
        " AND NOT EXISTS (SELECT 1 FROM B WHERE B.k = A.k AND B.x {b} WINDOW B.ts >= A.ts AND B.ts {below} A.ts + {after} SEC)"
        " AND {negated}EXISTS (SELECT 1 FROM C WHERE C.k = A.k AND C.x < B_LESS WINDOW C.ts >= A.ts - {before} SEC AND C.ts <= A.ts + 1 SEC)"
    ),
)


def shared_rule(random: Random, shape: str, negated: str) -> str:
    """A query of a shape, with constants of its own."""
    return shape.format(
        a=f"{random.choice(('>=', '<', '<>'))} {random.randint(0, 2)}",
        b=f"{random.choice(('>=', '<', '<>'))} {random.randint(0, 2)}",
        before=random.randint(0, 2),
        below=random.choice(("<", "<=")),
        after=random.randint(0, 4),
        negated=negated,
    ).replace("B_LESS", str(random.randint(0, 3)))


def check_shared(seed: int) -> None:
    case = absence_case(seed)
    random = Random(seed)
    shape, negated = random.choice(SHARED), random.choice(("NOT ", "NOT ", ""))
    rules = [shared_rule(random, shape, negated) for _ in range(random.choice((3, 30, 90)))]
    text = "".join(f"CREATE QUERY r{at} AS {rule};\n" for at, rule in enumerate(rules))
    program = cqc.compile(case.declarations + text)
    keep_past = random.random() < 0.3
    engine = cqc.Engine(program, strategy=random_strategy(random), keep_past=keep_past)
    gone: set[str] = set()
    found: dict[str, list[tuple[object, ...]]] = {f"r{at}": [] for at in range(len(rules))}

    def take() -> None:
        for result in engine.drain():
            found[result.query].append((micros(result.ts), *map(plain, result.row.values())))

    for arrived in batches(random, case.arrivals):
        batch: dict[str, list[dict[str, object]]] = {}
        for name, row in arrived:
            batch.setdefault(name, []).append(named(case, row))
        engine.push_batch(batch)
        take()
        if not gone and random.random() < 0.3:
            snapshot = engine.snapshot()
            engine = cqc.Engine(program, strategy=random_strategy(random), keep_past=keep_past)
            engine.restore(snapshot)
        elif len(gone) < len(rules) and random.random() < 0.2:
            name = random.choice(sorted(set(found) - gone))
            gone.add(name)
            engine.unregister(name)
    engine.finish()
    take()
    data = data_of(case)
    answers: dict[str, list[tuple[object, ...]]] = {}
    for at, rule in enumerate(rules):
        name = f"r{at}"
        if name in gone:
            continue
        if rule not in answers:
            expected = push_answer(program.queries[name], data.streams, data.tables)
            answers[rule] = [(ts, *row) for ts, row in expected]
        wrong = difference(answers[rule], found[name])
        assert wrong is None, f"seed {seed} {name}\n{rule}\n{wrong}\n{data}"


@pytest.mark.parametrize("block", range(4))
def test_rules_that_share_a_node_do_not_disturb_each_other(block: int) -> None:
    for seed in range(5_000 + block * 10, 5_000 + block * 10 + 10):
        check_shared(seed)
