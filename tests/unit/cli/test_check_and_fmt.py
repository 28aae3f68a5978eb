"""`cqc check` and `cqc fmt` on files, folders and standard input."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import PROGRAM, Call

UGLY = "create stream s(ts bigint,x bigint);select x from s where x>1"


def test_a_right_program_says_nothing(call: Call, place: Path) -> None:
    finished = call("check", "p.cq")
    assert (finished.code, finished.out, finished.err) == (0, "", "")


def test_text_diagnostics_go_to_standard_error(call: Call) -> None:
    finished = call("check", "-", stdin="SELCT x FROM s")
    assert finished.code == 1
    assert finished.out == ""
    assert "error[CQ" in finished.err
    assert "--> <stdin>:1:1" in finished.err
    assert "Did you mean `SELECT`?" in finished.err


def test_json_diagnostics_are_one_object_a_line_on_standard_output(call: Call) -> None:
    finished = call("check", "-", "--format", "json", stdin="SELECT x FROM nope;\nSELCT 1 FROM s;")
    assert finished.code == 1
    assert finished.err == ""
    assert len(finished.lines) > 1
    for line in finished.lines:
        assert list(json.loads(line)) == [
            *("file", "line", "column", "end_line", "end_column"),
            *("code", "severity", "message", "hint"),
        ]


def test_errors_of_all_files_are_reported_in_one_run(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.cq").write_text("SELECT x FROM nope;")
    (tmp_path / "b.cq").write_text("SELECT y FROM neither;")
    finished = call("check", tmp_path)
    assert "a.cq:1:" in finished.err
    assert "b.cq:1:" in finished.err
    assert finished.err.endswith("2 errors\n")


def test_warnings_leave_the_exit_code_alone(call: Call) -> None:
    never = "CREATE STREAM s (ts BIGINT, x BIGINT); SELECT x FROM s WHERE x > 2 AND x < 1;"
    finished = call("check", "-", "--format", "json", stdin=never)
    assert finished.code == 0
    assert [json.loads(line)["severity"] for line in finished.lines] == ["warning"]


def test_fmt_formats_files_in_place_once(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "a.cq"
    file.write_text(UGLY)
    file.chmod(0o640)
    assert call("fmt", tmp_path).err == f"formatted {file}\n"
    formatted = file.read_text()
    assert "SELECT x\nFROM   s\nWHERE  x > 1;\n" in formatted
    assert file.stat().st_mode & 0o777 == 0o640
    assert call("fmt", tmp_path).err == ""
    assert file.read_text() == formatted
    assert [each.name for each in tmp_path.iterdir()] == ["a.cq"]


def test_fmt_follows_a_link(call: Call, tmp_path: Path) -> None:
    (tmp_path / "real.cq").write_text(UGLY)
    (tmp_path / "link.cq").symlink_to("real.cq")
    assert call("fmt", tmp_path / "link.cq").code == 0
    assert (tmp_path / "link.cq").is_symlink()
    assert (tmp_path / "real.cq").read_text() != UGLY


def test_fmt_check_changes_nothing_and_says_what_would_change(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "a.cq"
    file.write_text(UGLY)
    finished = call("fmt", "--check", file)
    assert (finished.code, finished.err) == (1, f"would change {file}\n")
    assert file.read_text() == UGLY


def test_fmt_check_of_a_formatted_file_is_zero(call: Call, place: Path) -> None:
    call("fmt", "p.cq")
    assert call("fmt", "--check", "p.cq").code == 0


def test_fmt_writes_standard_input_to_standard_output(call: Call) -> None:
    once = call("fmt", "-", stdin=UGLY)
    assert once.code == 0
    assert call("fmt", "-", stdin=once.out).out == once.out


def test_fmt_check_of_standard_input(call: Call) -> None:
    assert call("fmt", "--check", "-", stdin=UGLY).code == 1


def test_fmt_keeps_comments(call: Call) -> None:
    text = "-- before\n" + PROGRAM + "-- after\n"
    formatted = call("fmt", "-", stdin=text).out
    assert formatted.startswith("-- before\n")
    assert formatted.endswith("-- after\n")


def test_fmt_leaves_a_file_with_errors_and_formats_the_others(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.cq").write_text("SELCT")
    (tmp_path / "b.cq").write_text(UGLY)
    finished = call("fmt", tmp_path)
    assert finished.code == 1
    assert "a.cq:1:1" in finished.err
    assert (tmp_path / "a.cq").read_text() == "SELCT"
    assert (tmp_path / "b.cq").read_text() != UGLY


@pytest.mark.parametrize("command", [("check",), ("fmt",), ("fmt", "--check"), ("compile",)])
def test_an_empty_program_is_right(command: tuple[str, ...], call: Call) -> None:
    assert call(*command, "-", stdin="").code == 0
