"""PROGRAM arguments: files, folders, standard input, and what cannot be read."""

import gc
import json
from pathlib import Path

import pytest

from cqc.cli.interrupts import no_garbage
from cqc.cli.programs import load_program
from tests.unit.cli.conftest import Call

STREAM = "CREATE STREAM s (ts BIGINT, x BIGINT);\n"


def query_names(call: Call, *arguments: str | Path, stdin: str = "") -> list[str]:
    finished = call("compile", *arguments, "--emit", "json", stdin=stdin)
    assert finished.code == 0, finished.err
    return [query["name"] for query in json.loads(finished.out)["queries"]]


def test_a_folder_is_one_program_of_its_files(call: Call, tmp_path: Path) -> None:
    (tmp_path / "b.cq").write_text("CREATE QUERY two AS SELECT x FROM s;")
    (tmp_path / "a.cq").write_text(STREAM + "CREATE QUERY one AS SELECT ts FROM s;")
    (tmp_path / "notes.txt").write_text("not a program")
    (tmp_path / "folder.cq").mkdir()
    assert query_names(call, tmp_path) == ["one", "two"]


def test_standard_input_and_files_form_one_program(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.cq").write_text(STREAM)
    assert query_names(call, tmp_path / "a.cq", "-", stdin="SELECT x FROM s") == ["q1"]


def test_a_file_named_twice_counts_once(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.cq").write_text(STREAM + "SELECT x FROM s;")
    assert query_names(call, tmp_path / "a.cq", tmp_path) == ["q1"]


def test_a_byte_order_mark_is_no_part_of_the_program(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.cq").write_bytes(b"\xef\xbb\xbf" + STREAM.encode())
    assert call("check", tmp_path / "a.cq").code == 0


@pytest.mark.parametrize("command", ["compile", "check", "fmt", "run", "explain"])
def test_a_program_that_cannot_be_read_is_wrong_usage(
    command: str, call: Call, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    for name, message in [
        ("nowhere.cq", "no such program file"),
        ("empty", "no .cq file in the folder"),
        ("x" * 5000, "File name too long"),
    ]:
        finished = call(command, tmp_path / name)
        assert finished.code == 2
        assert message in finished.err


@pytest.mark.parametrize("name", ["rows.csv", "rows.JSONL", "rows.parquet"])
def test_data_in_the_place_of_a_program_is_wrong_usage(
    name: str, call: Call, tmp_path: Path
) -> None:
    (tmp_path / name).write_text("ts,x\n1,2\n")
    finished = call("run", tmp_path / name)
    assert finished.code == 2
    assert "is data, not a program" in finished.err
    assert f"--bind NAME={tmp_path / name}" in finished.err


@pytest.mark.parametrize("command", ["compile", "check", "fmt", "run", "explain"])
def test_a_program_that_is_not_utf_8_has_an_error_at_the_byte(
    command: str, call: Call, tmp_path: Path
) -> None:
    (tmp_path / "latin.cq").write_bytes(b"-- caf\xe9")
    finished = call(command, tmp_path / "latin.cq")
    assert finished.code == 1
    assert "error[CQ016]" in finished.err
    assert "latin.cq:1:7" in finished.err


def test_a_file_that_is_not_utf_8_hides_no_error_of_the_others(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.cq").write_bytes(b"-- caf\xe9\nCREATE STREAM s (ts BIGINT, x BIGINT);")
    (tmp_path / "b.cq").write_text("SELECT x FROM s; SELECT x FROM nowhere;")
    finished = call("check", tmp_path)
    assert finished.err.count("error[") == 2
    assert "a.cq:1:7" in finished.err
    assert "no stream or table nowhere" in finished.err


def test_a_file_that_is_not_utf_8_leaves_the_others_to_be_formatted(
    call: Call, tmp_path: Path
) -> None:
    (tmp_path / "a.cq").write_bytes(b"-- caf\xe9")
    (tmp_path / "b.cq").write_text("select  x from s")
    assert call("fmt", tmp_path).code == 1
    assert (tmp_path / "a.cq").read_bytes() == b"-- caf\xe9"
    assert (tmp_path / "b.cq").read_text().startswith("SELECT x")


def test_standard_input_that_is_not_text_is_an_error_of_the_program(call: Call) -> None:
    assert call("check", "-", stdin=b"\xff\xfe").code == 1


def test_a_program_that_was_compiled_is_not_looked_at_for_garbage(tmp_path: Path) -> None:
    (tmp_path / "s.cq").write_text("CREATE STREAM s (ts BIGINT, x BIGINT);")
    frozen = gc.get_freeze_count()
    try:
        assert gc.isenabled()
        load_program((str(tmp_path / "s.cq"),))
        assert gc.isenabled()
        assert gc.get_freeze_count() > frozen
        with no_garbage():
            assert not gc.isenabled()
        assert gc.isenabled()
    finally:
        gc.unfreeze()
