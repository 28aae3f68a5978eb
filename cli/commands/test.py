"""`cqc test`: run the cases of `.cqt` files."""

from __future__ import annotations

import shutil
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cqc.cli.programs import load_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.runtime.cases.case_file import LanguageCase
    from cqc.runtime.cases.run_case import MakeExecutor, Outcome

SOME_FAILED = 1


@click.command("test")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@load_option
@click.option("--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True)
@click.option("-k", "pattern", metavar="TEXT", help="Run cases whose file or title holds TEXT.")
@click.option("--junit", type=click.Path(), metavar="FILE", help="Write the outcomes as JUnit XML.")
@click.option(
    "--update", is_flag=True, help="Write what came out into the files, then read the diff."
)
@click.option("--coverage", is_flag=True, help="List the queries that no case made fire.")
@click.option("--quiet", is_flag=True, help="Show failed cases only.")
def test_command(
    paths: tuple[str, ...],
    engine: str,
    pattern: str | None,
    junit: str | None,
    update: bool,
    coverage: bool,
    quiet: bool,
) -> int:
    """Run the cases of `.cqt` files, or of all in a folder.

    A case is a program, rows that arrive, and the rows that each query must give. Nothing is delivered to sinks. The exit code
    is 0 when all passed, 1 when some failed, 2 when there is nothing to run or a file cannot be read.
    """
    cases = [case for case in _read(paths) if _is_wanted(case, pattern)]
    if not cases:
        raise click.UsageError(f"no case matches -k {pattern}")
    outcomes = _run_all(cases, engine, quiet=quiet, is_update=update)
    if update:
        _update(outcomes)
    _show_failures(outcomes, is_update=update)
    if junit is not None:
        from cqc.runtime.cases.junit import junit_xml

        try:
            Path(junit).write_bytes(junit_xml(outcomes))
        except OSError as error:
            raise click.UsageError(f"cannot write {junit}: {error.strerror}") from error
    if coverage:
        _show_coverage(outcomes)
    failed = sum(not outcome.passed for outcome in outcomes)
    seconds = sum(outcome.seconds for outcome in outcomes)
    click.echo(f"{len(outcomes) - failed} passed, {failed} failed in {seconds:.2f} s")
    return SOME_FAILED if failed else 0


def _read(paths: tuple[str, ...]) -> list[LanguageCase]:
    """The cases of all files that the arguments name, each file once.

    Raises:
        click.UsageError: when a file is not there or cannot be read.
    """
    from cqc.runtime.cases.case_file import CaseError, read_cases

    files: dict[Path, None] = {}
    for name in paths:
        path = Path(name)
        if path.is_dir():
            found = sorted(path.rglob("*.cqt"))
            if not found:
                raise click.UsageError(f"no .cqt file in the folder {path}")
            files.update(dict.fromkeys(found))
        elif not path.exists():
            raise click.UsageError(f"no such file: {path}")
        else:
            files[path] = None
    try:
        return [case for path in files for case in read_cases(path)]
    except CaseError as error:
        raise click.UsageError(str(error)) from error
    except OSError as error:
        raise click.UsageError(f"cannot read {error.filename}: {error.strerror}") from error


def _is_wanted(case: LanguageCase, pattern: str | None) -> bool:
    return pattern is None or pattern.lower() in f"{case.path} {case.title}".lower()


def _run_all(
    cases: Sequence[LanguageCase], engine: str, *, quiet: bool, is_update: bool
) -> list[Outcome]:
    from cqc.runtime.cases.case_file import CaseError
    from cqc.runtime.cases.run_case import Failure, Outcome, run_case

    outcomes: list[Outcome] = []
    with ExitStack() as stack:
        make = _on_spark(stack) if engine == "spark" else _in_process()
        for case in cases:
            start = time.perf_counter()
            try:
                outcome = run_case(case, make)
            except CaseError as error:
                outcome = Outcome(case, [Failure(None, str(error))])
            outcome.seconds = time.perf_counter() - start
            outcomes.append(outcome)
            if not quiet:
                wrong = "differs" if is_update else "FAILED"  # what is updated has not failed
                click.echo(f"{'ok' if outcome.passed else wrong:<{len(wrong)}} {case}")
    return outcomes


def _in_process() -> MakeExecutor:
    from cqc.runtime.cases.executor import EngineExecutor

    return lambda program, seed: EngineExecutor(program, seed=seed)


def _on_spark(stack: ExitStack) -> MakeExecutor:
    from cqc.runtime.cases.spark_executor import SparkExecutor
    from cqc.runtime.spark.session.session import Session

    session = stack.enter_context(Session())
    return lambda program, seed: SparkExecutor(program, session, session.new_folder())


def _show_failures(outcomes: Sequence[Outcome], *, is_update: bool) -> None:
    from cqc.runtime.cases.side_by_side import describe

    width = shutil.get_terminal_size().columns
    for outcome in outcomes:
        if not outcome.passed:
            click.echo(f"\n{describe(outcome, width)}")
    if any(not outcome.passed for outcome in outcomes):
        click.echo("" if is_update else "\n  - missing   + not expected   ! another row\n")


def _update(outcomes: Sequence[Outcome]) -> None:
    """Write what came out, and forget the failures that this mends."""
    from cqc.runtime.cases.update import COMPARED, update_file

    for path in dict.fromkeys(outcome.case.path for outcome in outcomes):
        some = [outcome for outcome in outcomes if outcome.case.path == path]
        changed = update_file(path, some)
        if changed:
            click.echo(f"updated {changed} step{'' if changed == 1 else 's'} of {path}")
    for outcome in outcomes:
        outcome.failures = [
            failure
            for failure in outcome.failures
            if failure.step is None or failure.step.kind not in COMPARED
        ]


def _show_coverage(outcomes: Sequence[Outcome]) -> None:
    """Which queries fired in some case, and which in none."""
    known: dict[tuple[str, str], bool] = {}
    for outcome in outcomes:
        for name, file in outcome.queries.items():
            own = file if outcome.case.programs and file != outcome.case.file else str(outcome.case)
            known[own, name] = known.get((own, name), False) or name in outcome.fired
    silent = [(file, name) for (file, name), fired in known.items() if not fired]
    click.echo(f"coverage: {len(known) - len(silent)} of {len(known)} queries fired")
    for file, name in silent:
        click.echo(f"  never fired: {name} ({file})")
