"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cqc.runtime.files.private_files import open_private

if TYPE_CHECKING:
    from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that appears when it is complete, also after the power fails."""
    aside = path.with_name(f".{path.name}")  # hidden files are nobody's input
    with open_private(aside, "wb") as file:
        rest = memoryview(content)
        while rest:
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    aside.replace(path)
