"""`cqc top` and `cqc shell --url` against a real service, at a pseudo terminal and in pipes."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import pytest

from cqc.cli.main import run_command
from tests.integration.serve.running import Running, running
from tests.support.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running() as found:
        found.push("s", {"ts": 1, "k": 1, "x": 20.0, "name": "é"}, {"ts": 2, "k": 2, "x": None})
        yield found


def shell(
    service: Running, text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[int, list[str], str]:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    capsys.readouterr()
    code = run_command(["shell", "--url", service.address])
    shown = capsys.readouterr()
    return code, shown.out.splitlines(), shown.err


def test_a_question_is_answered_and_leaves_nothing_behind(
    service: Running, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = "SELECT COUNT(*) AS n\nFROM s\nBEGIN 0 END NOW;\n"
    code, lines, _ = shell(service, asked, capsys, monkeypatch)
    assert (code, lines) == (0, ["n", "-", "2", "(1 row) at 2"])
    assert service.names() == ["big", "total"]


def test_queries_are_registered_run_described_and_dropped(
    service: Running, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = "CREATE QUERY mine AS SELECT MAX(x) AS m FROM s BEGIN 0 END NOW;\n\\run mine\n\\d\n\\drop mine\n"
    code, lines, _ = shell(service, typed, capsys, monkeypatch)
    assert code == 0
    assert lines[0] == "registered mine; \\run mine shows its results"
    assert "20.0" in lines
    assert any(line.startswith("total") for line in lines)
    assert lines[-1] == "unregistered mine"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("SELECT x FROM s;", "delivers results for as long as it runs"),
        ("SELECT z FROM s;", "s has no column z"),
        ("CREATE STREAM t (ts BIGINT);", "a running service takes queries"),
        ("\\run nobody", "there is no query nobody"),
        ("\\bind s=x", "read by the service"),
    ],
)
def test_what_cannot_be_done_is_said(
    service: Running,
    typed: str,
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code, _, err = shell(service, typed, capsys, monkeypatch)
    assert code == 1
    assert said in err
    assert service.names() == ["big", "total"]


def test_results_are_followed_at_a_terminal_until_ctrl_c(service: Running, tmp_path: Path) -> None:
    with Terminal(
        ["shell", "--url", service.address], tmp_path, {"XDG_STATE_HOME": str(tmp_path)}
    ) as terminal:
        terminal.wait_for("\\q to leave")
        terminal.send("\\run big\r")
        terminal.wait_for("k=1  x=20.0")
        terminal.send("\x03")
        terminal.wait_for("stopped after 1 result")
        terminal.send("\\q\r")
        assert terminal.ended() == 0


def test_top_prints_once_without_a_terminal(
    service: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["top", "-s", service.address, "--sort", "results"]) == 0
    out = capsys.readouterr().out
    assert "2 rows" in out
    assert "2 queries" in out
    assert out.index("big  ") < out.index("total  ")


def test_top_says_when_there_is_no_service_and_what_can_be_sorted(
    service: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["top", "-s", "http://127.0.0.1:1", "--once"]) == 3
    assert run_command(["top", "-s", service.address, "--sort", "beauty"]) == 2
    assert "results/s" in capsys.readouterr().err


def test_top_is_live_at_a_terminal_and_hears_keys(service: Running, tmp_path: Path) -> None:
    with Terminal(["top", "-s", service.address, "--interval", "0.2"], tmp_path, {}) as terminal:
        terminal.wait_for("2 queries by cost")
        terminal.send("n")
        terminal.wait_for("by query")
        terminal.send("/tot")
        terminal.wait_for("1 of 1")
        terminal.send("\r")
        terminal.send("p")
        terminal.wait_for("PAUSED")
        terminal.send("p")
        service.push("s", {"ts": 3, "k": 1, "x": 1.0, "name": "a"})
        terminal.wait_for("3")
        terminal.send("q")
        assert terminal.ended() == 0


def test_top_without_prompt_toolkit_says_what_is_missing(service: Running, tmp_path: Path) -> None:
    (tmp_path / "prompt_toolkit.py").write_text("raise ModuleNotFoundError(name='prompt_toolkit')")
    with Terminal(
        ["top", "-s", service.address], tmp_path, {"PYTHONPATH": str(tmp_path)}
    ) as terminal:
        terminal.wait_for("pip install 'cqc[terminal]'")
        assert terminal.ended() == 2
