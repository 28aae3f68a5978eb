"""The cases of the `.cqt` files give on Spark what they give everywhere; a sample by default, all with the slow tests."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import pytest

from cqc.runtime.cases.spark_executor import SparkExecutor
from tests.language.test_language import GOOD, run_case

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.runtime.cases.case_file import LanguageCase
    from cqc.runtime.spark.session.session import Session


def marked(case: LanguageCase) -> object:
    quick = zlib.crc32(str(case).encode()) % 12 == 0
    return pytest.param(case, id=str(case), marks=[] if quick else [pytest.mark.slow])


@pytest.mark.parametrize("case", [marked(case) for case in GOOD])
def test_a_program_answers_on_spark_as_the_language_says(
    case: LanguageCase, session: Session, tmp_path: Path
) -> None:
    run_case(case, lambda program, seed: SparkExecutor(program, session, tmp_path))
