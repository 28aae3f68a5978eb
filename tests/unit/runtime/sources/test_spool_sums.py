"""Lines that wait in files to be read are what came, or the run does not start."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from cqc.runtime.errors import RunError
from cqc.runtime.sources.spool_sums import SpoolSums

if TYPE_CHECKING:
    from pathlib import Path

PIECES = (b"1,1\n2,2\n", b"3,3\n", b"4,4\n5,5\n")


@pytest.fixture
def spooled(tmp_path: Path) -> Path:
    folder = tmp_path / "s"
    folder.mkdir()
    sums, file, end = SpoolSums(folder), folder / "0.csv", 0
    for piece in PIECES:
        with file.open("ab") as opened:
            opened.write(piece)
        end += len(piece)
        sums.add(file, end, piece)
    return file


def test_a_flipped_bit_in_what_waits_is_refused(spooled: Path) -> None:
    kept = spooled.read_bytes()
    assert SpoolSums(spooled.parent).check(spooled, 0) == len(kept)
    for place in range(len(kept)):
        data = bytearray(kept)
        data[place] ^= 1 << place % 8
        spooled.write_bytes(data)
        with pytest.raises(RunError, match=r"0.csv is damaged .*: restore it .* or remove it"):
            SpoolSums(spooled.parent).check(spooled, 0)


def test_a_flipped_bit_in_the_checksums_is_refused(spooled: Path) -> None:
    sums = spooled.parent.with_name("s%sums") / spooled.name
    kept = sums.read_bytes()
    for place in range(len(kept)):
        data = bytearray(kept)
        data[place] ^= 1 << place % 8
        sums.write_bytes(data)
        with pytest.raises(RunError, match=r"0.csv (is damaged|was cut)"):
            SpoolSums(spooled.parent).check(spooled, 0)


def test_what_counts_already_may_be_anything(spooled: Path) -> None:
    data = spooled.read_bytes()
    spooled.write_bytes(b"x" * len(PIECES[0]) + data[len(PIECES[0]) :])
    SpoolSums(spooled.parent).check(spooled, len(PIECES[0]))


def test_what_was_cut_is_refused_and_what_a_crash_left_is_taken(spooled: Path) -> None:
    data = spooled.read_bytes()
    spooled.write_bytes(data[:-1])
    with pytest.raises(RunError, match="was cut to 19 of 20 bytes"):
        SpoolSums(spooled.parent).check(spooled, 0)
    spooled.write_bytes(data + b"6,6\n")
    sums = SpoolSums(spooled.parent)
    sums.complete(spooled, sums.check(spooled, 0))
    assert SpoolSums(spooled.parent).check(spooled, 0) == len(data) + 4


def test_checksums_are_private(spooled: Path) -> None:
    folder = spooled.parent.with_name("s%sums")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / spooled.name).stat().st_mode) == 0o600
