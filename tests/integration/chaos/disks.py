"""A small disk that can be filled and emptied again: a tmpfs where one may be mounted, else a limit on the size of files."""

from __future__ import annotations

import resource
import shutil
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SIZE_MB = 48
ROOM_FOR_WORDS = 8192
_BLOCK = 1 << 16
_SMALL_BLOCK = 512


class SmallDisk:
    """A folder that has little room.

    Where nothing can be mounted it is a plain folder, and `limits` sets how large a file may become: then the largest file of a run is
    the first that cannot grow.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(folder)]
        self.is_mounted = shutil.which("mount") is not None and (
            subprocess.run(command, capture_output=True, check=False).returncode == 0
        )
        self._is_full = False

    def fill(self) -> None:
        """Leave no room, or next to none."""
        self._is_full = True
        if not self.is_mounted:
            return
        with self._ballast.open("ab", buffering=0) as file:
            for block in (_BLOCK, _SMALL_BLOCK):
                with suppress(OSError):
                    while True:
                        file.write(bytes(block))

    def empty(self) -> None:
        """Make room again."""
        self._is_full = False
        self._ballast.unlink(missing_ok=True)

    @property
    def needs_restart(self) -> bool:
        """Whether fullness is only felt by processes that start after it."""
        return not self.is_mounted

    def limit(self, log: Path) -> Callable[[], None] | None:
        """What a process does before it begins; it must still be able to say in its log what went wrong."""
        if self.is_mounted or not self._is_full:
            return None
        most = log.stat().st_size + ROOM_FOR_WORDS

        def set_limit() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        return set_limit

    def close(self) -> None:
        self.empty()
        if self.is_mounted:
            subprocess.run(["umount", "-l", str(self.folder)], capture_output=True, check=False)

    @property
    def _ballast(self) -> Path:
        return self.folder / "ballast"
