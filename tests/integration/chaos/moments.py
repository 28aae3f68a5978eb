"""`cqc` in a process that kills itself and all its children at a chosen moment of its dealings with the disk.

    python -m tests.integration.chaos.moments FOLDER MOMENT PASS ARGUMENT...

MOMENT is one of `MOMENTS`; PASS says at which passing of it the kill comes. Only files below FOLDER count. The moments are the
operating system's, so that they know nothing of what is written, and why: whatever is durable has to pass through them.
`torn` is what a power failure leaves: of what was written and not yet synced, only the first part.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

MOMENTS = (
    "before_sync",
    "after_sync",
    "torn",
    "before_rename",
    "after_rename",
    "before_unlink",
    "before_open",
)


class Moments:
    """Counts the passings of one moment."""

    def __init__(self, folder: str, moment: str, passes: int) -> None:
        self.folder, self.moment, self.left = folder, moment, passes
        self.synced: dict[tuple[int, int], int] = {}

    def pass_by(self, moment: str, path: Any) -> bool:
        """Whether the process has to die now."""
        if moment != self.moment or not str(path).startswith(self.folder):
            return False
        self.left -= 1
        return self.left == 0

    def patch(self) -> None:
        os.fsync = self.around_sync(os.fsync)
        for name in ("rename", "replace"):
            setattr(os, name, self.around(getattr(os, name), "before_rename", "after_rename"))
        for name in ("unlink", "remove"):
            setattr(os, name, self.around(getattr(os, name), "before_unlink", ""))
        sys.addaudithook(self.hear)

    def around(self, call: Any, before: str, after: str) -> Any:
        def watched(path: Any, *given: Any, **named: Any) -> Any:
            if self.pass_by(before, os.fspath(path)):
                kill()
            done = call(path, *given, **named)
            if self.pass_by(after, os.fspath(path)):
                kill()
            return done

        return watched

    def around_sync(self, sync: Any) -> Any:
        def watched(descriptor: int) -> None:
            path = Path(f"/proc/self/fd/{descriptor}").readlink()
            if self.pass_by("before_sync", path):
                kill()
            there = os.fstat(descriptor)
            key = (there.st_dev, there.st_ino)
            safe = self.synced.get(key, 0)
            if path.is_file() and there.st_size > safe and self.pass_by("torn", path):
                os.truncate(path, safe + (there.st_size - safe) // 2)
                kill()
            sync(descriptor)
            self.synced[key] = there.st_size
            if self.pass_by("after_sync", path):
                kill()

        return watched

    def hear(self, event: str, given: tuple[Any, ...]) -> None:
        """What was in a file when it was opened is on the disk already; then the moment of opening one for writing."""
        if (
            event != "open"
            or not isinstance(given[0], str)
            or not given[2] & (os.O_WRONLY | os.O_RDWR)
        ):
            return
        try:
            there = os.stat(given[0])  # noqa: PTH116 - a Path would open the hook again
        except OSError:
            pass
        else:
            size = 0 if given[2] & os.O_TRUNC else there.st_size
            self.synced.setdefault((there.st_dev, there.st_ino), size)
        if self.pass_by("before_open", given[0]):
            kill()


def kill() -> None:
    os.killpg(os.getpgrp(), signal.SIGKILL)


def main() -> None:
    folder, moment, passes = sys.argv[1:4]
    assert moment in MOMENTS, moment
    from cqc.cli.main import main as cqc

    Moments(folder, moment, int(passes)).patch()
    sys.argv = ["cqc", *sys.argv[4:]]
    cqc()


if __name__ == "__main__":
    main()
