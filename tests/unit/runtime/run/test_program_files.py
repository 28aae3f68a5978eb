"""Which files make a program, and how a change of them is noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.run.program_files import program_files, stamp_of

if TYPE_CHECKING:
    from pathlib import Path


def test_files_of_folders_come_in_name_order_and_others_as_they_are_named(tmp_path: Path) -> None:
    for name in ("b.cq", "a.cq", "notes.txt"):
        (tmp_path / name).write_text("")
    assert [file.name for file in program_files((str(tmp_path), "c.cq"))] == [
        "a.cq",
        "b.cq",
        "c.cq",
    ]


def test_every_change_of_a_folder_changes_its_stamp(tmp_path: Path) -> None:
    file = tmp_path / "a.cq"
    file.write_text("SELECT 1")
    stamps = [stamp_of((str(tmp_path),))]
    file.write_text("SELECT 12")
    stamps.append(stamp_of((str(tmp_path),)))
    (tmp_path / "b.cq").write_text("")
    stamps.append(stamp_of((str(tmp_path),)))
    file.unlink()
    stamps.append(stamp_of((str(tmp_path),)))
    assert len(set(stamps)) == 4


def test_single_files_and_what_is_not_there_have_no_stamp(tmp_path: Path) -> None:
    (tmp_path / "a.cq").write_text("")
    assert stamp_of((str(tmp_path / "a.cq"), "-")) == ()
    assert stamp_of((str(tmp_path / "nowhere"),)) == ()
