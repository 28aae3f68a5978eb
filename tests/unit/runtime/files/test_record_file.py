"""Files of records: a torn tail is cut off, damage is told, and nothing that was acknowledged is passed over."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from cqc.runtime.files.record_file import RecordFile, read_records
from cqc.runtime.files.sealed import DamagedError

if TYPE_CHECKING:
    from pathlib import Path

RECORDS = [({"number": number}, b"body" * number) for number in range(4)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "rows-1.log"
    file = RecordFile(path)
    for head, body in RECORDS:
        file.append(head, body)
    file.sync()
    assert file.size == path.stat().st_size
    file.close()
    return path


def read(path: Path, synced: int | None = 0) -> list[tuple[dict[str, int], bytes]]:
    return [(record.head, record.body) for record in read_records(path, synced)]


def test_what_was_added_is_read(path: Path) -> None:
    assert read(path) == read(path, None) == RECORDS
    assert path.stat().st_mode & 0o077 == 0


def test_a_cut_anywhere_leaves_the_whole_records_before_it(path: Path) -> None:
    whole = path.read_bytes()
    stops = [0, *(record.stop for record in read_records(path))]
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        expected = RECORDS[: max(at for at, stop in enumerate(stops) if stop <= cut)]
        assert read(path) == expected
        if cut not in stops:
            with pytest.raises(DamagedError):
                read(path, None)


def test_a_cut_before_what_was_on_the_disk_is_damage(path: Path) -> None:
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DamagedError, match=f"although {size:,} were written"):
        read(path, size)


def test_every_flipped_bit_is_damage(path: Path) -> None:
    """But for the frame of the last record nothing of it can pass for a torn tail."""
    whole = path.read_bytes()
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 0x10
        path.write_bytes(damaged)
        with pytest.raises(DamagedError, match="is damaged at byte"):
            read(path)


def test_zeros_at_the_end_are_what_a_loss_of_power_leaves(path: Path) -> None:
    with path.open("ab") as file:
        file.write(bytes(5_000))
    assert read(path) == RECORDS


def test_records_in_another_place_are_damage(path: Path) -> None:
    whole = path.read_bytes()
    first = next(iter(read_records(path))).stop
    path.write_bytes(whole[first:])
    with pytest.raises(DamagedError):
        read(path)


def test_adding_goes_on_after_the_whole_records(path: Path) -> None:
    stop = list(read_records(path))[1].stop
    file = RecordFile(path, keep=stop)
    file.append({"number": 9})
    file.close()
    assert read(path) == [*RECORDS[:2], ({"number": 9}, b"")]


def test_after_a_record_that_had_no_room_nothing_is_added(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = RecordFile(path, keep=path.stat().st_size)
    file.close()

    class Full:
        def write(self, data: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(file, "_file", Full())
    for act in (lambda: file.append({}), lambda: file.append({}), file.sync):
        with pytest.raises(OSError, match="No space left"):
            act()
