"""How a diagnostic is shown: on a terminal, and whatever the source holds."""

from __future__ import annotations

import json

from cqc.compiler.diagnostics.diagnostic import render_json, render_text
from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.diagnostics.source import SourceFile, Span


def shown(text: str, start: int, end: int, name: str = "x") -> list[str]:
    span = Span(SourceFile("a.cq", text), start, end)
    return render_text([make("CQ030", span, name=name)]).splitlines()


def test_control_characters_are_escaped_and_carets_stay_below_what_they_mark() -> None:
    lines = shown("SELECT \x1b[31mred\0 FROM x", 22, 23)
    assert lines[1] == "  --> a.cq:1:23"
    assert lines[3] == r" 1 | SELECT \x1b[31mred\x00 FROM x"
    assert lines[4].index("^") == lines[3].index(" x") + 1


def test_an_escaped_character_is_underlined_whole() -> None:
    lines = shown("a\x1bb", 1, 2)
    assert lines[3:5] == [r" 1 | a\x1bb", "   |  ^^^^"]


def test_a_tab_is_one_column() -> None:
    assert shown("\tx", 1, 2)[3:5] == [" 1 |  x", "   |  ^"]


def test_a_message_holds_no_control_characters() -> None:
    assert shown("x", 0, 1, name="a\x1b[2Jb")[0].endswith(r"table a\x1b[2Jb")


def test_text_that_turns_around_is_escaped() -> None:
    assert shown("a\N{RIGHT-TO-LEFT OVERRIDE}b", 0, 1)[3] == r" 1 | a\u202eb"


def test_of_a_long_line_the_part_around_the_caret_is_shown() -> None:
    lines = shown("a" * 5_000 + "xyz" + "b" * 5_000, 5_000, 5_003)
    assert len(lines[3]) < 160
    assert lines[3].startswith(" 1 | ...aaa")
    assert lines[3].endswith("bbb...")
    assert lines[4].index("^") == lines[3].index("xyz")
    assert lines[4].count("^") == 3


def test_both_ends_of_a_long_line_are_shown_without_dots_beyond_them() -> None:
    text = "a" * 1_000
    assert shown(text, 0, 1)[3].startswith(" 1 | aaa")
    assert shown(text, 999, 1_000)[3].endswith("aaa")
    at_end = shown(text, 1_000, 1_000)
    assert at_end[4].index("^") == len(at_end[3])


def test_a_long_span_is_underlined_as_far_as_it_is_shown() -> None:
    lines = shown("a" * 1_000, 10, 900)
    assert len(lines[4]) < len(lines[3])


def test_json_has_the_position_in_the_source() -> None:
    span = Span(SourceFile("a.cq", "\0" * 1_000 + "x"), 1_000, 1_001)
    found = json.loads(render_json(make("CQ030", span, name="x\0")))
    assert (found["column"], found["end_column"]) == (1_001, 1_002)
    assert found["message"] == "there is no stream or table x\0"
