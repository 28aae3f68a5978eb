"""The embedding surface: programs from text and files, queries by name, one more query at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.compiler import CompileError

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.compiler.program import Program

STREAM = "CREATE STREAM s (ts TIMESTAMP, x BIGINT);"


@pytest.fixture
def program() -> Program:
    return cqc.compile(
        STREAM + "CREATE QUERY Big AS SELECT x FROM s WHERE x > 5; SELECT x AS y FROM s;"
    )


def test_queries_are_found_by_position_and_by_name_in_any_case(program: Program) -> None:
    assert [query.name for query in program.queries] == ["Big", "q1"]
    assert program.queries["BIG"] is program.queries[0]
    assert "q1" in program.queries
    assert "q2" not in program.queries
    assert dict(program.queries) == {"Big": program.queries[0], "q1": program.queries[1]}
    assert len(program.queries) == 2
    with pytest.raises(KeyError):
        program.queries["nobody"]


def test_streams_and_tables_are_what_was_declared() -> None:
    program = cqc.compile(STREAM + "CREATE TABLE t (x BIGINT); SET RETENTION = 1 HOUR;")
    assert program.streams.names == ["s"]
    assert program.tables["T"].name == "t"
    assert program.settings.retention_us == 3_600_000_000
    assert not program.queries


def test_a_query_that_was_not_kept_is_bound_again(program: Program) -> None:
    kept = program.bound("Big")
    program._bound.clear()
    again = program.bound("Big")
    assert again is not kept
    assert again == kept


def test_one_more_query_is_bound_against_what_is_declared(program: Program) -> None:
    assert program.bind_one("SELECT x FROM s").name == "q2"
    assert program.bind_one("CREATE QUERY mine AS SELECT x FROM s;").name == "mine"
    assert program.bind_one("SELECT x FROM s", name="other").name == "other"
    assert program.bind_one("SELECT x FROM s", taken={"q1", "q2", "q3"}).name == "q4"
    assert len(program.queries) == 2


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT nothing FROM s", "CQ031"),
        ("SELECT x FROM s; SELECT x FROM s", "CQ001"),
        ("CREATE STREAM r (ts TIMESTAMP)", "CQ001"),
        ("", "CQ001"),
        ("SELECT FROM", None),
        ("CREATE QUERY big AS SELECT x FROM s", "CQ029"),
        ("SELECT a.x FROM s AS a, s AS b", "CQ012"),
    ],
)
def test_one_more_query_with_a_mistake_is_refused(
    program: Program, text: str, code: str | None
) -> None:
    with pytest.raises(CompileError) as raised:
        program.bind_one(text)
    assert code is None or code in [each.code for each in raised.value.diagnostics]


def test_all_mistakes_of_all_files_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.cq").write_text(STREAM + "SELECT y FROM s;")
    (tmp_path / "b.cq").write_text("SELECT x FROM r; SELECT a.x FROM s AS a, s AS b;")
    with pytest.raises(CompileError) as raised:
        cqc.compile_files([tmp_path])
    codes = [each.code for each in raised.value.diagnostics]
    assert codes == ["CQ031", "CQ030", "CQ012"]


def test_the_files_of_a_folder_are_one_program(tmp_path: Path) -> None:
    (tmp_path / "b.cq").write_text(STREAM)
    (tmp_path / "a.cq").write_text("SELECT x FROM s;", encoding="utf-8-sig")
    (tmp_path / "notes.txt").write_text("not a program")
    assert cqc.compile_files([tmp_path]).queries.names == ["q1"]


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        cqc.compile_files([tmp_path / "nowhere.cq"])
    with pytest.raises(FileNotFoundError):
        cqc.compile_files([tmp_path])


def test_a_rule_of_thousands_of_literals_is_one_condition_on_one_column() -> None:
    literals = " OR ".join(f"name = 'rule {at}'" for at in range(3_000))
    program = cqc.compile(
        f"CREATE STREAM e (ts TIMESTAMP, name STRING); SELECT name FROM e WHERE {literals};"
    )
    (body,) = program.graph.bodies.values()
    assert len(body.filters[0].intervals) == 3_000


def test_a_file_that_is_not_utf_8_is_an_error_at_that_byte(tmp_path: Path) -> None:
    file = tmp_path / "latin.cq"
    file.write_bytes("-- é\nSELECT x\nFROM ".encode() + b"\xe9t\xe9")
    with pytest.raises(cqc.CompileError) as caught:
        cqc.compile_files([file])
    (found,) = caught.value.diagnostics
    assert found.span.source.line_and_column(found.span.start) == (3, 6)
    assert "0xE9" in found.message
    assert found.hint == "Save the file as UTF-8."
