"""The alerts of examples/cookbook: each runs over its data, prints what is recorded, and has a test that makes it fire."""

from pathlib import Path

import pytest

from cqc.cli.main import run_command
from tests.support.documents import call

COOKBOOK = Path(__file__).parents[2] / "examples" / "cookbook"
PROGRAMS = sorted(COOKBOOK.glob("*.cq"))


def test_there_are_fifteen() -> None:
    assert len(PROGRAMS) == 15
    names = {program.stem for program in PROGRAMS}
    assert {case.stem for case in COOKBOOK.glob("*.cqt")} == names
    assert {recorded.stem for recorded in (COOKBOOK / "expected").iterdir()} == names


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_it_prints_what_is_recorded(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(COOKBOOK)
    printed, said = call(["run", program.name, "--engine", "local"])
    recorded = COOKBOOK / "expected" / f"{program.stem}.jsonl"
    assert printed == recorded.read_text(encoding="utf-8")
    assert printed
    assert "NULL" not in said
    assert " 0 rejected" in said


def test_the_cases_pass_and_make_every_alert_fire(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["test", str(COOKBOOK), "--coverage"]) == 0
    assert "coverage: 15 of 15 queries fired" in capsys.readouterr().out


def test_the_page_shows_every_one() -> None:
    page = (COOKBOOK.parents[1] / "docs" / "cookbook.md").read_text(encoding="utf-8")
    for program in PROGRAMS:
        assert f"examples/cookbook/{program.name}" in page
        query = program.read_text(encoding="utf-8").partition("\n")[2].strip()
        assert query in page
