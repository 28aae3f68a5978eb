"""Making the archive is tried once, and a machine where that fails runs without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.errors import RunError
from cqc.runtime.spark.session import archive

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_an_archive_that_is_there_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "a.jsa"
    there.touch()
    monkeypatch.setattr(archive, "archive_path", lambda: there)
    monkeypatch.setattr(archive, "Session", None)  # nothing is started
    archive.main()


def test_a_failure_is_said_in_one_line_and_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(**options: object) -> None:
        raise RunError("Spark does not start: there is no Java")

    monkeypatch.setattr(archive, "archive_path", lambda: tmp_path / "folder" / "a.jsa")
    monkeypatch.setattr(archive, "Session", failing)
    archive.main()
    said = capsys.readouterr().err
    assert said == "no archive of Spark's classes: Spark does not start: there is no Java\n"
