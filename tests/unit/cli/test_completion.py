"""Shells complete the commands and options of cqc."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_asks_cqc(call: Call, shell: str) -> None:
    script = call("completion", shell).out
    assert f"_CQC_COMPLETE={shell}_complete" in script


def test_an_unknown_shell_is_told_which_there_are(call: Call) -> None:
    assert "bash" in call("completion", "tcsh").err


@pytest.mark.parametrize(
    ("words", "at", "expected"),
    [("cqc ru", 1, "run"), ("cqc run --eng", 2, "--engine"), ("cqc run --engine lo", 3, "local")],
)
def test_words_are_completed(words: str, at: int, expected: str) -> None:
    asked = {
        **os.environ,
        "_CQC_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(at),
    }
    answer = subprocess.run(
        [sys.executable, "-m", "cqc.cli.main"],
        env=asked,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert expected in [line.partition(",")[2] for line in answer.stdout.splitlines()]
