"""`cqc test`: cases that pass and fail, as a user sees them."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.cli.conftest import Call

PROGRAM = """\
CREATE STREAM s (ts TIMESTAMP, host STRING, n BIGINT);
CREATE QUERY big AS SELECT host, n FROM s WHERE n > 5;
CREATE QUERY never AS SELECT host FROM s WHERE n > 1000;
CREATE QUERY total AS SELECT SUM(n) AS sum FROM s BEGIN NOW - 1 HOUR END NOW;
"""
CASES = """\
program rules.cq

=== big rows come out
--- input s
2024-05-01T00:00:00Z | a | 6
{"ts": "2024-05-01T00:00:01Z", "host": "b | c", "n": 7, "more": [1]}
12:00:00 | d | 1
--- results big
# a comment that stays
2024-05-01T00:00:00Z | a | 6
2024-05-01T00:00:01Z | 'b | c' | 7

=== the sum of an hour
--- input s (n, ts)
3 | 10:00:00
4 | 10:30:00
--- invoke total at 10:30:00
7
--- results big (host)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.cq").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "rules.cqt").write_text(CASES, encoding="utf-8")
    return tmp_path


def break_it(folder: Path) -> Path:
    path = folder / "rules.cqt"
    path.write_text(CASES.replace("Z | a | 6\n2024", "Z | a | 8\n2024"), encoding="utf-8")
    return path


def test_cases_that_pass_give_exit_code_0(call: Call, folder: Path) -> None:
    finished = call("test", folder)
    assert finished.code == 0
    assert finished.lines[-1].startswith("2 passed, 0 failed")


def test_a_failed_case_shows_expected_and_got_side_by_side(call: Call, folder: Path) -> None:
    finished = call("test", break_it(folder), "--quiet")
    assert finished.code == 1
    assert "results of big (line 8): 2 expected, 2 got (1 missing, 1 not expected)" in finished.out
    (same,) = [line for line in finished.lines if line.count("'b | c' | 7") == 2]
    assert same.startswith("      ")
    assert any(line.startswith("    - ") and line.endswith("a | 8") for line in finished.lines)
    assert any(line.startswith("    + ") and line.endswith("a | 6") for line in finished.lines)


def test_k_chooses_cases_by_file_or_title(call: Call, folder: Path) -> None:
    finished = call("test", break_it(folder), "-k", "SUM of")
    assert (finished.code, finished.lines[-1][:8]) == (0, "1 passed")
    assert call("test", folder, "-k", "nothing like it").code == 2


def test_junit_has_a_failure_with_its_text(call: Call, folder: Path) -> None:
    assert call("test", break_it(folder), "--junit", folder / "out.xml").code == 1
    root = ET.parse(folder / "out.xml").getroot()
    assert (root.attrib["tests"], root.attrib["failures"]) == ("2", "1")
    first, second = root.iter("testcase")
    assert first.attrib["name"] == "big rows come out"
    (failure,) = first
    assert "not expected" in str(failure.text)
    assert not list(second)


def test_update_writes_what_came_out_and_keeps_comments(call: Call, folder: Path) -> None:
    path = break_it(folder)
    assert call("test", path, "--update").code == 0
    assert call("test", path).code == 0
    text = path.read_text(encoding="utf-8")
    assert "2024-05-01T00:00:00Z | a | 6" in text
    assert "# a comment that stays" in text
    assert "=== the sum of an hour" in text


def test_coverage_lists_queries_that_no_case_made_fire(call: Call, folder: Path) -> None:
    finished = call("test", folder, "--coverage")
    assert "coverage: 2 of 3 queries fired" in finished.out
    assert [line.split()[2] for line in finished.lines if "never fired" in line] == ["never"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("SELECT 1;\n", "no case"),
        ("=== x\n--- nothing here\n", "rules.cqt:2: cannot read"),
        ("=== x\n--- input\n1\n", "must say of what"),
    ],
)
def test_a_file_that_cannot_be_read_is_wrong_usage(
    call: Call, folder: Path, text: str, sentence: str
) -> None:
    (folder / "rules.cqt").write_text(text, encoding="utf-8")
    finished = call("test", folder)
    assert finished.code == 2
    assert sentence in finished.err


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        ("--- input nowhere\n1\n", "there is no stream or table nowhere"),
        ("--- input s\n1 | 2\n", "3 values expected (ts, host, n)"),
        ("--- input s\n12:00:00 | a | many\n", "cannot read the row `12:00:00 | a | many`"),
        ("--- input s (ts, colour)\n12:00:00 | a\n", "s has no column colour"),
        ("--- results nobody\n", "there is no query nobody (there are: big, never, total)"),
        ("--- results big (colour)\n", "big has the outputs host, n, not colour"),
        ("--- results big\n12:00:00 | a\n", "2 values expected, not 1"),
        ("--- error CQ031\n", "error CQ031 expected, but it compiles"),
    ],
)
def test_a_case_that_says_what_cannot_be_fails_in_a_sentence(
    call: Call, folder: Path, step: str, sentence: str
) -> None:
    (folder / "rules.cqt").write_text(f"program rules.cq\n=== x\n{step}", encoding="utf-8")
    finished = call("test", folder)
    assert finished.code == 1
    assert sentence in finished.out


def test_a_program_with_errors_fails_its_cases(call: Call, folder: Path) -> None:
    (folder / "rules.cq").write_text(PROGRAM + "SELECT colour FROM s;", encoding="utf-8")
    finished = call("test", folder)
    assert finished.code == 1
    assert "CQ031" in finished.out


def test_wrong_usage(call: Call, tmp_path: Path) -> None:
    assert call("test").code == 2
    assert call("test", tmp_path).code == 2
    assert call("test", tmp_path / "none.cqt").code == 2


@pytest.mark.spark
def test_on_spark(call: Call, folder: Path) -> None:
    finished = call("test", folder, "--engine", "spark")
    assert (finished.code, finished.lines[-1][:18]) == (0, "2 passed, 0 failed")
