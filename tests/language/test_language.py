"""Every case of every `.cqt` file, on every executor."""

from __future__ import annotations

import random
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.sinks.protocol import shape_of_query
from tests.language.cqt import LanguageCase, Step, read_cases
from tests.language.executors import EXECUTORS, Executor, Inputs
from tests.language.values import read_time_us, read_value
from tests.support.oracle.answers import difference

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cqc.compiler.meaning.bound import Query
    from cqc.compiler.meaning.types import ColumnType
    from tests.support.oracle.scalars import Row

FILES = sorted(Path(__file__).parent.glob("*.cqt"))
CASES = [case for path in FILES for case in read_cases(path)]
GOOD = [case for case in CASES if not case.of_kind("error")]
BAD = [case for case in CASES if case.of_kind("error")]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("case", GOOD, ids=str)
def test_a_program_answers_as_the_language_says(case: LanguageCase, executor: str) -> None:
    run_case(case, EXECUTORS[executor])


@pytest.mark.parametrize("case", BAD, ids=str)
def test_a_program_with_a_mistake_is_refused(case: LanguageCase) -> None:
    with pytest.raises(cqc.CompileError) as caught:
        cqc.compile(case.text)
    found = [described(diagnostic) for diagnostic in caught.value.diagnostics]
    expected = [(step.name, step.place) for step in case.of_kind("error")]
    for (code, place), step in zip(expected, case.of_kind("error"), strict=True):
        places = [there for named, there in found if named == code]
        assert places, f"{case}: {code} expected, found {found}"
        assert place is None or place in places, f"{case}: {code} at {place}, found {found}"
        assert all(line in str(caught.value) for line in step.lines), str(caught.value)
    assert {code for code, _ in found} == {code for code, _ in expected}, f"{case}: {found}"


def described(diagnostic: cqc.Diagnostic) -> tuple[str, str]:
    line, column = diagnostic.span.source.line_and_column(diagnostic.span.start)
    return diagnostic.code, f"{line}:{column}"


def run_case(case: LanguageCase, make: Callable[[cqc.Program, int], Executor]) -> None:
    """Take the steps of a case and compare what comes out; the split into micro-batches varies with the title."""
    seed = zlib.crc32(case.title.encode())
    program = cqc.compile(case.text)
    executor = make(program, seed)
    queries = {query.name: query for query in program.queries}
    expected = [step.name for step in case.of_kind("warning")]
    # Most cases about windows pair everything with everything on purpose; only those about the warning name it.
    ignored = set() if "CQ092" in expected else {"CQ092"}
    codes = [diagnostic.code for diagnostic in program.warnings if diagnostic.code not in ignored]
    assert codes == expected, f"{case}: {codes}"
    waiting: list[Step] = []
    for step in case.steps:
        if step.kind == "input":
            waiting.append(step)
            continue
        take(case, step, program, executor, queries, waiting, seed)
    executor.push(mixed(program, waiting, seed))
    found = executor.results()
    for step in case.of_kind("results"):
        expect_results(case, step, queries[step.name], found[step.name])


def take(
    case: LanguageCase,
    step: Step,
    program: cqc.Program,
    executor: Executor,
    queries: dict[str, Query],
    waiting: list[Step],
    seed: int,
) -> None:
    if step.kind in ("register", "unregister", "invoke", "fails register"):
        executor.push(mixed(program, waiting, seed))
        waiting.clear()
    match step.kind:
        case "register":
            query = executor.register(step.text)
            queries[query.name] = query
        case "unregister":
            executor.unregister(step.name)
        case "fails register":
            with pytest.raises(cqc.CompileError, match=step.name):
                executor.register(step.text)
        case "invoke":
            expect_invocation(case, step, queries[step.name], executor)
        case "columns":
            names = [output.name for output in queries[step.name].outputs]
            assert names == [cell for row in step.rows for cell in row], f"{case}: {names}"


def mixed(program: cqc.Program, steps: Sequence[Step], seed: int) -> Inputs:
    """The rows of some input steps: tables first, then the streams interleaved at random, each in its order."""
    tables: list[tuple[str, Row]] = []
    streams: dict[str, list[Row]] = {}
    for step in steps:
        rows = [read_row(program, step, cells) for cells in step.rows]
        if program.catalog.relations[fold(step.name)].is_stream:
            streams.setdefault(fold(step.name), []).extend(rows)
        else:
            tables += [(step.name, row) for row in rows]
    rng = random.Random(seed)
    names = [name for name, rows in streams.items() for _ in rows]
    if seed % 3:
        rng.shuffle(names)
    return [*tables, *((name, streams[name].pop(0)) for name in names)]


def read_row(program: cqc.Program, step: Step, cells: Sequence[str]) -> Row:
    relation = program.catalog.relations[fold(step.name)]
    named = step.columns or tuple(column.name for column in relation.columns)
    assert len(named) == len(cells), f"{step.name}: {cells}"
    given = {fold(name): cell for name, cell in zip(named, cells, strict=True)}
    return tuple(
        read_value(given.get(fold(column.name), "NULL"), column.type) for column in relation.columns
    )


def time_type(query: Query) -> ColumnType:
    return shape_of_query(query).time_type


def read_outputs(query: Query, cells: Sequence[str]) -> Row:
    types = [output.expression.type for output in query.outputs]
    told: Row = ()
    if query.alert is not None:
        state, since, count, *cells = cells
        told = state, read_time_us(since, time_type(query)), int(count)
    assert len(cells) == len(types), f"{query.name} has {len(types)} outputs: {cells}"
    return (*told, *(read_value(cell, type_) for cell, type_ in zip(cells, types, strict=True)))


def expect_results(
    case: LanguageCase, step: Step, query: Query, found: Sequence[tuple[int, Row]]
) -> None:
    expected = [
        (read_time_us(time, time_type(query)), *read_outputs(query, cells))
        for time, *cells in step.rows
    ]
    actual = [(time, *row) for time, row in found]
    wrong = difference(expected, actual, ordered=step.ordered)
    assert wrong is None, f"{case}\n{query.name}: {wrong}"


def expect_invocation(case: LanguageCase, step: Step, query: Query, executor: Executor) -> None:
    at_us = None if step.at is None else read_time_us(step.at, time_type(query))
    expected = [read_outputs(query, cells) for cells in step.rows]
    found = executor.invoke(step.name, at_us)
    wrong = difference(expected, found, ordered=step.ordered)
    assert wrong is None, f"{case}\n{query.name} at {step.at}: {wrong}"
