"""How much must be there at least: what was noted is known after a restart, and what is damaged says nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cqc.runtime.serve.records.high_water import HighWater, Marks

if TYPE_CHECKING:
    from pathlib import Path

MARKS = Marks(1, 2, 3, 2**40, 5, 6, 7)


def before(folder: Path) -> Marks:
    water = HighWater(folder)
    water.close()
    return water.before


def noted(folder: Path) -> Path:
    water = HighWater(folder)
    water.note(Marks(9, 9, 9, 9, 9, 9, 9))
    water.note(MARKS)
    water.sync()
    water.close()
    return folder / "synced"


def test_the_last_marks_are_known_after_a_restart(tmp_path: Path) -> None:
    assert before(tmp_path) == Marks()
    file = noted(tmp_path)
    assert before(tmp_path) == MARKS
    assert file.stat().st_mode & 0o077 == 0


def test_a_file_that_is_damaged_says_nothing(tmp_path: Path) -> None:
    file = noted(tmp_path)
    whole = file.read_bytes()
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert before(tmp_path) == Marks()
    for damaged in (whole[:-1], whole + b"x", b""):
        file.write_bytes(damaged)
        assert before(tmp_path) == Marks()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"precious")
    (tmp_path / "synced").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="symbolic links"):
        HighWater(tmp_path)
    assert (tmp_path / "mine").read_bytes() == b"precious"
