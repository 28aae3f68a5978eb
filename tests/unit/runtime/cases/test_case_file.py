"""The `.cqt` reader itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cqc.runtime.cases.case_file import CaseError, read_cases, split_cells
from tests.language.executors import EXECUTORS
from tests.language.test_language import run_case

if TYPE_CHECKING:
    from pathlib import Path

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


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_wrong_expectation_fails(tmp_path: Path, executor: str) -> None:
    run_case(read_cases(write(tmp_path))[0], EXECUTORS[executor])
    with pytest.raises(AssertionError, match="1 missing, 1 not expected"):
        run_case(read_cases(write(tmp_path, expected="6"))[0], EXECUTORS[executor])


def test_a_step_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.cqt"
    path.write_text("=== one\nSELECT 1;\n--- expects q1\n", encoding="utf-8")
    with pytest.raises(CaseError, match=r"bad\.cqt:3: cannot read `--- expects q1`"):
        read_cases(path)


def test_a_bar_inside_quotes_is_text() -> None:
    assert list(split_cells("1 | 'a|b' | c")) == ["1", "'a|b'", "c"]
    assert list(split_cells("'it''s|' | it's | b")) == ["'it''s|'", "it's", "b"]
