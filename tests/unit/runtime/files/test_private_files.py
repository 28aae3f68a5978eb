"""What is private is private, and a link that somebody put in its place is not followed."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from cqc.runtime.files.private_files import open_private, private_folder
from cqc.runtime.files.sealed import write_sealed

if TYPE_CHECKING:
    from pathlib import Path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_folders_that_are_made_are_private_and_others_keep_their_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    private_folder(tmp_path, own=False)
    private_folder(tmp_path / "a" / "b")
    assert mode(tmp_path) == 0o755
    assert mode(tmp_path / "a") == mode(tmp_path / "a" / "b") == 0o700


def test_a_folder_of_ours_that_was_open_is_closed(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir(mode=0o777)
    (tmp_path / "ours").chmod(0o777)
    private_folder(tmp_path / "ours")
    assert mode(tmp_path / "ours") == 0o700


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "link").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        open_private(tmp_path / "link", "wb")
    (tmp_path / ".x.part").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        write_sealed(tmp_path / "x", b"content")
    assert victim.read_text() == "mine"


def test_a_file_that_was_open_to_others_is_closed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "file").chmod(0o666)
    before = os.umask(0)
    try:
        open_private(tmp_path / "file", "ab").close()
        open_private(tmp_path / "new", "wb").close()
    finally:
        os.umask(before)
    assert mode(tmp_path / "file") == mode(tmp_path / "new") == 0o600
