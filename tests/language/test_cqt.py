"""The `.cqt` reader itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.language.cqt import read_cases, split_cells
from tests.language.executors import OracleExecutor
from tests.language.test_language import run_case

if TYPE_CHECKING:
    from pathlib import Path

    import cqc
    from tests.language.executors import Executor

TEXT = """\
# a comment
declare
CREATE STREAM s (ts BIGINT, x BIGINT);

=== one
SELECT x FROM s;
--- input s (x, ts)
5 | 1
--- results q1
1 | {expected}

=== two
SELECT y FROM s;
--- error CQ031 2:8
"""


def write(folder: Path, expected: str = "5") -> Path:
    path = folder / "example.cqt"
    path.write_text(TEXT.format(expected=expected), encoding="utf-8")
    return path


def test_cases_share_the_declarations_of_their_file(tmp_path: Path) -> None:
    first, second = read_cases(write(tmp_path))
    assert (first.title, first.line) == ("one", 5)
    assert first.text == "CREATE STREAM s (ts BIGINT, x BIGINT);\nSELECT x FROM s;\n"
    assert second.of_kind("error")[0].place == "2:8"


def test_a_wrong_expectation_fails(tmp_path: Path) -> None:
    def make(program: cqc.Program, seed: int) -> Executor:
        return OracleExecutor(program)

    run_case(read_cases(write(tmp_path))[0], make)
    with pytest.raises(AssertionError, match="missing"):
        run_case(read_cases(write(tmp_path, expected="6"))[0], make)


def test_a_step_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.cqt"
    path.write_text("=== one\nSELECT 1;\n--- expects q1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="expects q1"):
        read_cases(path)


def test_a_bar_inside_quotes_is_text() -> None:
    assert list(split_cells("1 | 'a|b' | c")) == ["1", "'a|b'", "c"]
