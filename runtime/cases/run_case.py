"""Run one case: take its steps, and compare what comes out with what it expects."""

from __future__ import annotations

import json
import random
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cqc.compiler import CompileError, compile_sources
from cqc.compiler.diagnostics.source import SourceFile
from cqc.compiler.embed import decode_source, files_of
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.cases.case_file import CaseError, split_cells
from cqc.runtime.cases.cells import (
    at_path,
    read_json_value,
    read_time_us,
    read_value,
    write_time,
    write_value,
)
from cqc.runtime.cases.compare import pair_up
from cqc.runtime.errors import RunError
from cqc.runtime.sinks.protocol import shape_of_query

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cqc.compiler import Diagnostic, Program
    from cqc.compiler.meaning.bound import Query
    from cqc.runtime.cases.case_file import LanguageCase, Step
    from cqc.runtime.cases.executor import Executor, Inputs, Row

    MakeExecutor = Callable[[Program, int], Executor]

JOIN_WITHOUT_KEYS = "CQ092"


@dataclass(frozen=True)
class Failure:
    """One step that came out otherwise: lines as a `.cqt` file has them, with who is whom.

    `pairs` has positions in `expected` and `got`; None on one side: there is no such row there.
    """

    step: Step | None
    what: str
    expected: tuple[str, ...] = ()
    got: tuple[str, ...] = ()
    pairs: tuple[tuple[int | None, int | None], ...] = ()


@dataclass
class Outcome:
    """What became of a case."""

    case: LanguageCase
    failures: list[Failure] = field(default_factory=list)
    queries: dict[str, str] = field(default_factory=dict)  # all of its program, with their files
    fired: set[str] = field(default_factory=set)  # those that delivered something
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return not self.failures


def compile_case(case: LanguageCase) -> Program:
    """The program of a case: the files that it names, its declarations and its own text.

    Raises:
        CompileError: when it has errors.
        CaseError: when a file is not there.
    """
    sources = []
    for path in case.programs:
        try:
            files = files_of(path)
            sources += [
                (decode_source(str(file), file.read_bytes()), str(file.parent)) for file in files
            ]
        except OSError as error:
            raise CaseError(f"{case.path}: cannot read the program {path}: {error}") from error
    if case.text.strip() or not sources:
        sources.append((SourceFile(case.file, case.text), str(case.path.parent)))
    return compile_sources(sources)


def run_case(case: LanguageCase, make: MakeExecutor, *, all_warnings: bool = False) -> Outcome:
    """Take the steps of a case and compare what comes out; the split into micro-batches varies with the title.

    Args:
        case: what to run.
        make: makes the executor of a program, with a seed.
        all_warnings: whether every warning of the program must be expected.

    Raises:
        CaseError: when the case says something that cannot be.
    """
    outcome = Outcome(case)
    try:
        program = compile_case(case)
    except CompileError as error:
        _expect_errors(outcome, error)
        return outcome
    if case.of_kind("error"):
        step = case.of_kind("error")[0]
        outcome.failures.append(Failure(step, f"error {step.name} expected, but it compiles"))
        return outcome
    _expect_warnings(outcome, program, all_warnings=all_warnings)
    _Run(outcome, program, make).all_steps()
    return outcome


class _Run:
    """A case on its way through its steps."""

    def __init__(self, outcome: Outcome, program: Program, make: MakeExecutor) -> None:
        self.case, self.outcome, self.program = outcome.case, outcome, program
        self.seed = zlib.crc32(self.case.title.encode())
        self.executor = make(program, self.seed)
        self.queries = {fold(query.name): query for query in program.queries}
        outcome.queries = {query.name: query.span.source.name for query in program.queries}
        self.waiting: list[Step] = []

    def all_steps(self) -> None:
        for step in self.case.steps:
            if step.kind == "input":
                self.waiting.append(step)
            else:
                self.take(step)
        self.arrive()
        found = self.executor.results()
        for name, rows in found.items():
            if rows:
                self.outcome.fired.add(self.query(name, None).name)
        for step in self.case.of_kind("results"):
            query = self.query(step.name, step)
            self.expect_results(step, query, found[query.name])

    def take(self, step: Step) -> None:
        if step.kind in ("register", "unregister", "invoke", "fails register"):
            self.arrive()
        match step.kind:
            case "register":
                try:
                    query = self.executor.register(step.text)
                except CompileError as error:
                    raise CaseError(f"{self.place(step)}: {error}") from error
                self.queries[fold(query.name)] = query
            case "unregister":
                self.executor.unregister(self.query(step.name, step).name)
            case "fails register":
                self.expect_refusal(step)
            case "invoke":
                self.expect_answer(step)
            case "columns":
                names = [output.name for output in self.query(step.name, step).outputs]
                wanted = [cell for row in step.rows for cell in row]
                if names != wanted:
                    what = f"columns of {step.name}"
                    pairs = pair_up([(each,) for each in wanted], [(each,) for each in names])
                    same = ((0, 0),) if pairs is None else tuple(pairs)
                    self.fail(Failure(step, what, tuple(wanted), tuple(names), same))
            case _:
                pass  # compared at the end, or before the first

    def arrive(self) -> None:
        self.executor.push(self.mixed())
        self.waiting.clear()

    def mixed(self) -> Inputs:
        """The rows that wait: tables first, then the streams interleaved at random, each in its order."""
        tables: list[tuple[str, Row]] = []
        streams: dict[str, list[Row]] = {}
        for step in self.waiting:
            relation = self.program.catalog.relations.get(fold(step.name))
            if relation is None:
                raise CaseError(f"{self.place(step)}: there is no stream or table {step.name}")
            rows = [self.read_row(step, line) for line in step.lines]
            if relation.is_stream:
                streams.setdefault(fold(step.name), []).extend(rows)
            else:
                tables += [(step.name, row) for row in rows]
        names = [name for name, rows in streams.items() for _ in rows]
        if self.seed % 3:
            random.Random(self.seed).shuffle(names)
        return [*tables, *((name, streams[name].pop(0)) for name in names)]

    def read_row(self, step: Step, line: str) -> Row:
        relation = self.program.catalog.relations[fold(step.name)]
        try:
            if line.lstrip().startswith("{"):
                row = json.loads(line)
                return tuple(
                    read_json_value(at_path(row, column.keys), column.type)
                    for column in relation.declared
                )
            cells = tuple(split_cells(line))
            named = step.columns or tuple(column.name for column in relation.declared)
            if len(named) != len(cells):
                raise ValueError(f"{len(named)} values expected ({', '.join(named)})")
            given = {fold(name): cell for name, cell in zip(named, cells, strict=True)}
            unknown = given.keys() - {fold(column.name) for column in relation.declared}
            if unknown:
                raise ValueError(f"{relation.name} has no column {', '.join(sorted(unknown))}")
            return tuple(
                read_value(given.get(fold(column.name), "NULL"), column.type)
                for column in relation.declared
            )
        except (ValueError, KeyError) as error:
            raise CaseError(f"{self.place(step)}: cannot read the row `{line}`: {error}") from error

    def query(self, name: str, step: Step | None) -> Query:
        found = self.queries.get(fold(name))
        if found is None:
            known = ", ".join(query.name for query in self.queries.values())
            raise CaseError(f"{self.place(step)}: there is no query {name} (there are: {known})")
        return found

    def expect_refusal(self, step: Step) -> None:
        try:
            self.executor.register(step.text)
        except CompileError as error:
            if step.name not in str(error):
                self.fail(
                    Failure(step, f"{step.name} expected", (step.name,), (str(error),), ((0, 0),))
                )
        else:
            self.fail(Failure(step, f"{step.name} expected, but it was registered"))

    def expect_results(self, step: Step, query: Query, found: Sequence[tuple[int, Row]]) -> None:
        type_ = shape_of_query(query).time_type
        chosen = self.chosen(step, query)
        expected = []
        for time, *cells in step.rows:
            try:
                expected.append((read_time_us(time, type_), *self.outputs(step, query, cells)))
            except ValueError as error:
                raise CaseError(f"{self.place(step)}: `{time}` is no time: {error}") from error
        got = [(time, *(row[at] for at in chosen)) for time, row in found]

        def written(row: tuple[object, ...]) -> str:
            (time, *values) = row
            cells = self.written(query, chosen, values)
            return " | ".join((write_time(int(str(time)), type_), *cells))

        self.compare(step, f"results of {query.name}", expected, got, written)

    def expect_answer(self, step: Step) -> None:
        query = self.query(step.name, step)
        type_ = shape_of_query(query).time_type
        at_us = None if step.at is None else read_time_us(step.at, type_)
        chosen = self.chosen(step, query)
        expected = [self.outputs(step, query, cells) for cells in step.rows]
        try:
            answer = self.executor.invoke(query.name, at_us)
        except RunError as error:
            raise CaseError(f"{self.place(step)}: {error}") from error
        if answer:
            self.outcome.fired.add(query.name)
        got = [tuple(row[at] for at in chosen) for row in answer]

        def written(row: tuple[object, ...]) -> str:
            return " | ".join(self.written(query, chosen, row))

        when = "" if step.at is None else f" at {step.at}"
        self.compare(step, f"answer of {query.name}{when}", expected, got, written)

    def chosen(self, step: Step, query: Query) -> list[int]:
        """The positions of the outputs that a step is about."""
        names = [fold(name) for name, _ in _columns(query)]
        if step.columns is None:
            return list(range(len(names)))
        try:
            return [names.index(fold(each)) for each in step.columns]
        except ValueError as error:
            listing = ", ".join(name for name, _ in _columns(query))
            raise CaseError(
                f"{self.place(step)}: {query.name} has the outputs {listing}, not {', '.join(step.columns)}"
            ) from error

    def outputs(self, step: Step, query: Query, cells: Sequence[str]) -> tuple[object, ...]:
        types = self.types(query, self.chosen(step, query))
        if len(cells) != len(types):
            raise CaseError(
                f"{self.place(step)}: {len(types)} values expected, not {len(cells)}: {' | '.join(cells)}"
            )
        try:
            return tuple(read_value(cell, type_) for cell, type_ in zip(cells, types, strict=True))
        except (ValueError, KeyError) as error:
            raise CaseError(
                f"{self.place(step)}: cannot read `{' | '.join(cells)}`: {error}"
            ) from error

    def types(self, query: Query, chosen: Sequence[int]) -> list[ColumnType]:
        columns = _columns(query)
        return [columns[at][1] for at in chosen]

    def written(self, query: Query, chosen: Sequence[int], values: Sequence[object]) -> list[str]:
        types = self.types(query, chosen)
        return [write_value(value, type_) for value, type_ in zip(values, types, strict=True)]

    def compare(
        self,
        step: Step,
        what: str,
        expected: Sequence[tuple[object, ...]],
        got: Sequence[tuple[object, ...]],
        written: Callable[[tuple[object, ...]], str],
    ) -> None:
        pairs = pair_up(expected, got, ordered=step.ordered)
        if pairs is not None:
            lines = tuple(map(written, expected)), tuple(map(written, got))
            self.fail(Failure(step, what, *lines, tuple(pairs)))

    def fail(self, failure: Failure) -> None:
        self.outcome.failures.append(failure)

    def place(self, step: Step | None) -> str:
        return f"{self.case.path}:{self.case.line if step is None else step.line}"


def _columns(query: Query) -> list[tuple[str, ColumnType]]:
    """The values of a result by name and type: the outputs, after what an alert tells."""
    outputs = [(output.name, output.expression.type) for output in query.outputs]
    if query.alert is None:
        return outputs
    since = shape_of_query(query).time_type
    told = [("state", ColumnType.STRING), ("since", since), ("count", ColumnType.BIGINT)]
    return told + outputs


def _expect_errors(outcome: Outcome, error: CompileError) -> None:
    """Compare the mistakes that were found with those that the case expects."""
    expected = outcome.case.of_kind("error")
    found = [_described(diagnostic) for diagnostic in error.diagnostics]
    if not expected:
        outcome.failures.append(Failure(None, f"the program has errors\n{error}"))
        return
    for step in expected:
        places = [there for named, there in found if named == step.name]
        if not places or (step.place is not None and step.place not in places):
            what = f"error {step.name} {step.place or ''}".strip()
            outcome.failures.append(Failure(step, f"{what} expected, found\n{error}"))
        missing = [line for line in step.lines if line not in str(error)]
        if missing:
            outcome.failures.append(Failure(step, f"`{missing[0]}` expected in\n{error}"))
    more = sorted({code for code, _ in found} - {step.name for step in expected})
    if more:
        outcome.failures.append(Failure(None, f"{', '.join(more)} not expected\n{error}"))


def _expect_warnings(outcome: Outcome, program: Program, *, all_warnings: bool) -> None:
    expected = [step.name for step in outcome.case.of_kind("warning")]
    if not expected and not all_warnings:
        return
    # Most cases about windows pair everything with everything on purpose; only those about the warning name it.
    ignored = set() if JOIN_WITHOUT_KEYS in expected else {JOIN_WITHOUT_KEYS}
    codes = [each.code for each in program.warnings if each.code not in ignored]
    if codes != expected:
        what = (
            f"warnings {', '.join(expected) or 'none'} expected, found {', '.join(codes) or 'none'}"
        )
        outcome.failures.append(Failure(None, what))


def _described(diagnostic: Diagnostic) -> tuple[str, str]:
    line, column = diagnostic.span.source.line_and_column(diagnostic.span.start)
    return diagnostic.code, f"{line}:{column}"
