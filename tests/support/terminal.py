"""A command at a terminal that is none: a pseudo terminal, keys sent to it, and what it has drawn so far."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from typing import TYPE_CHECKING

import pyte

from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Self


_SIZE = (120, 40)
_WHERE = b"\x1b[6n"  # the command asks where the cursor is, and a terminal answers


class Terminal:
    """`cqc ARGUMENTS` with a terminal of 120 by 40 characters.

    Args:
        arguments: of the command.
        folder: the current one.
        environment: more variables.
    """

    def __init__(self, arguments: list[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._screen = pyte.Screen(*_SIZE)
        self._stream = pyte.ByteStream(self._screen)
        self.code: int | None = None
        self.process, self._master = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            more = {"TERM": "xterm-256color", **environment}
            command = [sys.executable, "-m", "cqc.cli.main", *arguments]
            os.execve(sys.executable, command, {**os.environ, **more})
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", *reversed(_SIZE), 0, 0))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.code is None:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        os.close(self._master)

    def send(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    @property
    def screen(self) -> str:
        """What a person would see now."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    def wait_for(self, text: str) -> str:
        """Wait until a text is on the screen; returns the whole of it."""
        give_up = time.monotonic() + PATIENCE_S
        while text not in self.screen:
            assert time.monotonic() < give_up, f"no {text!r} in:\n{self.screen}"
            if not self._read():
                assert text in self.screen, f"ended without {text!r}:\n{self.screen}"
        return self.screen

    def ended(self) -> int:
        """Wait for the end of the command; its exit code."""
        give_up = time.monotonic() + PATIENCE_S
        while self._read():
            assert time.monotonic() < give_up, f"it does not end:\n{self.screen}"
        _, status = os.waitpid(self.process, 0)
        self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def _read(self) -> bool:
        """Take what is there; False when the command has closed its terminal."""
        if not select.select([self._master], [], [], 0.1)[0]:
            return True
        try:
            data = os.read(self._master, 65536)
        except OSError:  # Linux says so of a terminal that nobody has open
            return False
        self._stream.feed(data)
        if _WHERE in data:
            cursor = self._screen.cursor
            os.write(self._master, f"\x1b[{cursor.y + 1};{cursor.x + 1}R".encode())
        return bool(data)
