"""Each code has a program that shows it, the text a user sees for it, and a page whose examples hold."""

import re
from pathlib import Path

import pytest

from cqc.compiler import compile  # noqa: A004 - the public name
from cqc.compiler.bind.options import sinks
from cqc.compiler.diagnostics.diagnostic import (
    CompileError,
    Diagnostic,
    Severity,
    render_json,
    render_text,
)
from cqc.compiler.diagnostics.errors_catalogue import CODES, make, page
from cqc.compiler.diagnostics.source import SourceFile, Span
from cqc.compiler.functions import registered
from cqc.compiler.meaning import user_sources
from tests.conftest import Golden

FOLDER = Path(__file__).parent / "diagnostics"
PROGRAMS = sorted(FOLDER.glob("*.cq"))

# What the examples of the pages speak of.
DECLARATIONS = """
CREATE STREAM B (ts TIMESTAMP, pressure DOUBLE, temp DOUBLE, bed BIGINT, name STRING);
CREATE STREAM T (ts TIMESTAMP, fluct DOUBLE, bed BIGINT);
CREATE TABLE ward (bed BIGINT, nurse STRING);
"""


@pytest.fixture(autouse=True)
def only_what_is_built_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages list what there is; sources and sinks that other tests have registered are not part of a record."""
    monkeypatch.setattr(user_sources, "_registered", {})
    monkeypatch.setattr(sinks, "USER_TYPES", set())


def diagnose(text: str, name: str) -> tuple[Diagnostic, ...]:
    try:
        return compile(text, name).warnings
    except CompileError as error:
        return error.diagnostics


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_mistakes_are_shown_as_recorded(
    program: Path, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Messages name the functions that are registered, and other tests of this process register some.
    monkeypatch.setattr(registered, "_registered", {})
    found = diagnose(program.read_text(encoding="utf-8"), program.name)
    golden(program.with_suffix(".diagnostics"), render_text(found) + "\n")


@pytest.mark.parametrize("code", CODES)
def test_each_code_has_a_program_that_shows_it(code: str) -> None:
    shown = (FOLDER / f"{code}.diagnostics").read_text(encoding="utf-8")
    assert f"[{code}]" in shown


@pytest.mark.parametrize("code", CODES)
def test_the_examples_of_each_page_hold(code: str) -> None:
    text = page(code)
    assert text is not None
    assert text.startswith(f"# {code}: ")
    wrong, right = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
    assert code in {d.code for d in diagnose(DECLARATIONS + wrong, "wrong.cq")}
    assert diagnose(DECLARATIONS + right, "right.cq") == ()


def test_there_is_no_page_of_an_unknown_code() -> None:
    assert page("CQ999") is None
    assert page("cq030") == page("CQ030")


def test_there_is_no_page_without_a_code() -> None:
    folder = Path(__file__).parents[2] / "compiler" / "errors"
    assert {path.stem for path in folder.glob("*.md")} == set(CODES)


def test_a_diagnostic_is_json_with_positions_from_one() -> None:
    source = SourceFile("a.cq", "SELECT *\nFROM Bx")
    diagnostic = make("CQ030", Span(source, 14, 16), name="Bx", hint="Did you mean `B`?")
    assert diagnostic.severity is Severity.ERROR
    assert render_json(diagnostic) == (
        '{"file": "a.cq", "line": 2, "column": 6, "end_line": 2, "end_column": 8, "code": "CQ030", '
        '"severity": "error", "message": "there is no stream or table Bx", "hint": "Did you mean `B`?"}'
    )
