"""Every case of every `.cqt` file, on every executor, by the code that `cqc test` runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cqc.runtime.cases import run_case as product
from cqc.runtime.cases.case_file import LanguageCase, read_cases
from cqc.runtime.cases.side_by_side import describe
from tests.language.executors import EXECUTORS

if TYPE_CHECKING:
    from cqc.runtime.cases.run_case import MakeExecutor

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
    run_case(case, EXECUTORS["oracle"])


def run_case(case: LanguageCase, make: MakeExecutor) -> None:
    """Run a case; every warning of its program must be expected."""
    outcome = product.run_case(case, make, all_warnings=True)
    assert outcome.passed, describe(outcome, width=160)
