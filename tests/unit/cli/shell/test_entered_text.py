"""Where a statement ends."""

import pytest

from cqc.cli.shell.entered_text import is_command, is_whole, split_statements, typed_mistakes
from cqc.compiler import CompileError, compile_sources
from cqc.compiler.diagnostics.source import SourceFile


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "\\d",
        "  \\timing on",
        "SELECT 1;",
        "SELECT 1; -- done",
        "A; B;",
        "-- only a comment\n",
    ],
)
def test_what_needs_nothing_more_is_whole(text: str) -> None:
    assert is_whole(text)


@pytest.mark.parametrize(
    "text",
    ["SELECT 1", "SELECT ';'", "SELECT 'it;", "A; B", "SELECT 1 -- ;", "/* ; ", 'SELECT "a;'],
)
def test_what_is_still_open_is_not_whole(text: str) -> None:
    assert not is_whole(text)


def test_statements_are_split_at_semicolons_outside_texts_and_comments() -> None:
    text = "SELECT 'a;b' FROM s; -- x;y\nSELECT 2 /* ; */ FROM s;;"
    assert split_statements(text) == ["SELECT 'a;b' FROM s", "SELECT 2 /* ; */ FROM s"]


def test_a_command_begins_with_a_backslash() -> None:
    assert is_command(" \\d")
    assert not is_command("SELECT '\\d'")


def test_statements_of_a_running_engine_are_no_mistake_while_they_are_typed() -> None:
    source = SourceFile("<typed>", "SHOW ALERTS; SELECT 1 FROM nothing;")
    with pytest.raises(CompileError) as raised:
        compile_sources([(source, ".")])
    found = raised.value.diagnostics
    assert "CQ107" in {each.code for each in found}
    assert "CQ107" not in {each.code for each in typed_mistakes(found, source)}
    assert typed_mistakes(found, source) != []
    assert typed_mistakes(found, SourceFile("other", "")) == []
