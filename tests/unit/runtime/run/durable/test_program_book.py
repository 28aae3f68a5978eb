"""The text of a program beside its checkpoint comes back as it was kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cqc.compiler.diagnostics.source import SourceFile
from cqc.runtime.files.sealed import DamagedError
from cqc.runtime.run.durable.program_book import keep_program, kept_program

if TYPE_CHECKING:
    from pathlib import Path


def test_nothing_was_kept_at_first(tmp_path: Path) -> None:
    assert kept_program(tmp_path) is None


def test_files_come_back_with_their_folders_and_every_character(tmp_path: Path) -> None:
    sources = [(SourceFile("q/a.cq", "SELECT 'é\n'"), "q"), (SourceFile("b.cq", ""), ".")]
    keep_program(tmp_path, sources)
    found = kept_program(tmp_path)
    assert found is not None
    assert [(source.name, source.text, place) for source, place in found] == [
        ("q/a.cq", "SELECT 'é\n'", "q"),
        ("b.cq", "", "."),
    ]


def test_a_file_that_was_changed_by_hand_is_noticed(tmp_path: Path) -> None:
    keep_program(tmp_path, [(SourceFile("a.cq", "SELECT 1"), ".")])
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes().replace(b"SELECT 1", b"SELECT 2"))
    with pytest.raises(DamagedError):
        kept_program(tmp_path)
