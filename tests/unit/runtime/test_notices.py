"""Sentences for the user: whole lines on standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.notices import say

if TYPE_CHECKING:
    import pytest


def test_a_sentence_is_one_line_whatever_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    say("note: one\n\n")
    say("note: two")
    assert capsys.readouterr() == ("", "note: one\nnote: two\n")
