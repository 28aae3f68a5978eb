"""Exit codes, and that nothing but a clear sentence reaches a user."""

from pathlib import Path

import click
import pytest

import cqc.cli.main
from cqc.cli.main import COMMANDS, LazyGroup
from tests.unit.cli.conftest import Call


def test_help_lists_every_command(call: Call) -> None:
    finished = call("--help")
    assert finished.code == 0
    for command in COMMANDS:
        assert f"  {command} " in finished.out


@pytest.mark.parametrize("command", ["compile", "check", "fmt", "run", "explain", "bench"])
def test_every_command_has_help(command: str, call: Call) -> None:
    finished = call(command, "--help")
    assert finished.code == 0
    assert finished.out.startswith(f"Usage: cqc {command}")


def test_the_version_is_shown(call: Call) -> None:
    assert call("--version").out.startswith("cqc ")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("nosuch",),
        ("run",),
        ("run", "p.cq", "--nosuch"),
        ("compile", "p.cq", "--emit", "nosuch"),
        ("compile", "nowhere.cq"),
        ("bench", "nosuch"),
    ],
)
def test_wrong_usage_is_two(arguments: tuple[str, ...], call: Call, place: Path) -> None:
    finished = call(*arguments)
    assert finished.code == 2
    assert "Usage: cqc" in finished.err
    assert finished.out == ""


@pytest.mark.parametrize(
    ("word", "meant"),
    [("rum", "`run`"), ("chekc", "`check`"), ("alarms.cq", "`cqc run alarms.cq`")],
)
def test_a_misspelt_command_is_told_what_was_meant(word: str, meant: str, call: Call) -> None:
    finished = call(word)
    assert finished.code == 2
    assert f"No such command '{word}'. Did you mean {meant}?" in finished.err


class WordlessError(Exception):
    """As one of the JVM after the JVM has gone."""

    def __str__(self) -> str:
        raise ConnectionRefusedError


@pytest.mark.parametrize(
    ("failure", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (click.Abort(), 130, "interrupted"),
        (PermissionError(13, "Permission denied", "x.csv"), 3, "error: x.csv: Permission denied"),
        (OSError(28, "No space left on device"), 3, "error: No space left on device"),
        (MemoryError(), 3, "error: out of memory"),
        (ValueError("odd"), 3, "error: this is a bug in cqc (ValueError: odd)."),
        (WordlessError(), 3, "error: this is a bug in cqc (WordlessError)."),
    ],
)
def test_no_failure_gives_a_traceback(
    failure: BaseException,
    code: int,
    message: str,
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(LazyGroup, "get_command", raiser(failure))
    finished = call("check", "p.cq")
    assert finished.code == code
    assert finished.err.startswith(message)
    assert "Traceback" not in finished.err


def test_debug_shows_the_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(LazyGroup, "get_command", raiser(ValueError("odd")))
    assert cqc.cli.main.run_command(["check", "p.cq"], debug=True) == 3
    assert "Traceback" in capsys.readouterr().err


def raiser(failure: BaseException) -> object:
    def fail(*_: object) -> None:
        raise failure

    return fail
