"""What helps while one types."""

from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from cqc.cli.shell.local_session import LocalSession
from cqc.cli.shell.typing_help import Mistakes, NameCompleter, StatementLexer, toolbar
from cqc.compiler.diagnostics.source import SourceFile

PROGRAM = """
CREATE STREAM sensors (ts TIMESTAMP, room STRING, temperature DOUBLE);
CREATE TABLE rooms (room STRING, floor BIGINT);
CREATE QUERY hot AS SELECT room FROM sensors WHERE temperature > 26;
"""


@pytest.fixture(scope="module")
def session() -> LocalSession:
    return LocalSession([(SourceFile("p.cq", PROGRAM), ".")], {})


def completed(session: LocalSession, text: str) -> list[str]:
    found = NameCompleter(session).get_completions(Document(text), CompleteEvent())
    return [each.text for each in found]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("SELECT temp", ["temperature"]),
        ("SELECT * FROM sen", ["sensors"]),
        ("SELECT * FROM sensors s, ro", ["rooms"]),
        ("SELECT s.r", []),
        ("\\ti", ["\\timing"]),
        ("\\d h", ["hot"]),
        ("wher", ["where"]),
        ("WHER", ["WHERE"]),
    ],
)
def test_names_that_can_follow(session: LocalSession, typed: str, expected: list[str]) -> None:
    assert completed(session, typed) == expected


def test_columns_of_an_alias(session: LocalSession) -> None:
    document = Document("SELECT a. FROM rooms AS a", cursor_position=9)
    found = NameCompleter(session).get_completions(document, CompleteEvent())
    assert [each.text for each in found] == ["room", "floor"]


@pytest.mark.parametrize(
    "text",
    ["SELECT", "SELECT room", "SELECT room FROM sensors WHE", "SELECT ro", "\\d", "", "SELECT 'a"],
)
def test_what_is_only_not_there_yet_is_no_mistake(session: LocalSession, text: str) -> None:
    assert Mistakes(session).of(text) == []


def test_a_mistake_is_shown_with_its_hint_and_underlined(session: LocalSession) -> None:
    text = "SELECT rom FROM sensors "
    mistakes = Mistakes(session)
    found = mistakes.of(text)
    assert [each.code for each in found] == ["CQ031"]
    assert "Did you mean `room`?" in "".join(part[1] for part in toolbar(found, False))
    line = StatementLexer(mistakes).lex_document(Document(text))(0)
    assert "".join(part[1] for part in line if part[0] == "class:mistake") == "rom"
    assert "".join(part[1] for part in line if part[0] == "class:keyword") == "SELECTFROM"


def test_a_whole_statement_shows_every_mistake(session: LocalSession) -> None:
    assert [each.code for each in Mistakes(session).of("SELECT room;")] == ["CQ013"]
