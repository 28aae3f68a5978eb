"""Files that can tell when they are damaged: every flipped bit, every cut, and another file's content under their name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cqc.runtime.files.sealed import (
    DamagedError,
    EarlierVersionError,
    read_sealed_json,
    seal,
    unseal,
    write_sealed_json,
)

if TYPE_CHECKING:
    from pathlib import Path

CONTENT = {"batch": 7, "name": "ü"}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "commit"
    write_sealed_json(path, CONTENT)
    assert read_sealed_json(path) == CONTENT
    assert path.stat().st_mode & 0o077 == 0
    assert [each.name for each in tmp_path.iterdir()] == ["commit"]


def test_every_flipped_bit_is_found(tmp_path: Path) -> None:
    path = tmp_path / "commit"
    whole = seal(b"some content", "commit")
    assert unseal(whole, path) == b"some content"
    for at in range(len(whole)):
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[at] ^= 1 << bit
            with pytest.raises(DamagedError):
                unseal(bytes(damaged), path)


def test_every_cut_is_found_and_so_is_what_was_added(tmp_path: Path) -> None:
    path = tmp_path / "commit"
    whole = seal(b"some content", "commit")
    for damaged in (*(whole[:length] for length in range(len(whole))), whole + b"x"):
        with pytest.raises(DamagedError):
            unseal(damaged, path)


def test_a_file_under_the_name_of_another_is_damage(tmp_path: Path) -> None:
    write_sealed_json(tmp_path / "1", CONTENT)
    (tmp_path / "1").rename(tmp_path / "2")
    with pytest.raises(DamagedError, match="restore it from a copy"):
        read_sealed_json(tmp_path / "2")


def test_a_file_without_a_checksum_is_of_an_earlier_version(tmp_path: Path) -> None:
    path = tmp_path / "commit"
    path.write_text('{"batch": 7}')
    with pytest.raises(EarlierVersionError, match="let that version finish"):
        read_sealed_json(path)
