"""Damage to files, and its undoing."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from pathlib import Path


@dataclass(frozen=True)
class Damage:
    """One file that was changed, a copy of how it was, and in words what was done."""

    path: Path
    copy: Path
    words: str

    def undo(self) -> None:
        shutil.copy2(self.copy, self.path)


def keep_copy(path: Path, aside: Path) -> Path:
    aside.mkdir(exist_ok=True)
    copy = aside / f"{len(list(aside.iterdir())):03d}-{path.name}"
    shutil.copy2(path, copy)
    return copy


def flip_bit(folder: Path, aside: Path, rng: random.Random) -> Damage | None:
    """Flip one bit of one file, each kind of file as often as another; None when there is none."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    if not files:
        return None
    kinds = sorted({kind_of(path, folder) for path in files})
    kind = rng.choice(kinds)
    path = rng.choice([path for path in files if kind_of(path, folder) == kind])
    copy = keep_copy(path, aside)
    data = bytearray(path.read_bytes())
    at, bit = rng.randrange(len(data)), rng.randrange(8)
    data[at] ^= 1 << bit
    write_over(path, bytes(data))
    return Damage(
        path, copy, f"bit {bit} of byte {at} of {len(data)} in {path.relative_to(folder)}"
    )


def kind_of(path: Path, folder: Path) -> str:
    """Files that differ in their number only are of one kind."""
    name = str(path.relative_to(folder))
    return "".join(letter for letter in name if not letter.isdigit())


def write_over(path: Path, data: bytes) -> None:
    """Change what a file holds, and leave the rest of it as it was: nobody tells of a bit that flips."""
    there = path.stat()
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, ns=(there.st_atime_ns, there.st_mtime_ns))


def shorten(path: Path, aside: Path, rng: random.Random) -> Damage:
    """Cut a file somewhere, not at its end."""
    copy = keep_copy(path, aside)
    size = path.stat().st_size
    length = rng.randrange(max(size, 1))
    os.truncate(path, length)
    return Damage(path, copy, f"{path.name} cut from {size} bytes to {length}")


def remove(path: Path, aside: Path) -> Damage:
    copy = keep_copy(path, aside)
    path.unlink()
    return Damage(path, copy, f"{path.name} removed")


def rewrite(path: Path, aside: Path, rng: random.Random) -> Damage:
    """Other content of the same length, in a text file still lines of the same form."""
    copy = keep_copy(path, aside)
    data = bytearray(path.read_bytes())
    digits = [at for at, byte in enumerate(data) if 0x30 <= byte <= 0x39]
    for at in rng.sample(digits, min(len(digits), 3)):
        data[at] = 0x30 + (data[at] - 0x30 + rng.randint(1, 9)) % 10
    changed = path.with_name(f".{path.name}.changed")
    changed.write_bytes(data)
    changed.replace(path)
    return Damage(path, copy, f"{path.name} rewritten, as long as before")
