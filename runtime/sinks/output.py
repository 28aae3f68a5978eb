"""Bytes to a file or to standard output, with the two ways in which that ends told apart.

A reader that closes the pipe (`| head`) is `OutputClosed`; a disk that is full, or a file that cannot be made, is a
`RunError` with one sentence.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from cqc.runtime.errors import OutputClosed, RunError

if TYPE_CHECKING:
    from io import FileIO
    from pathlib import Path
    from typing import BinaryIO


class Output:
    """A place for bytes: a file that is made anew, or standard output when `path` is None."""

    def __init__(self, path: Path | None, *, append: bool = False) -> None:
        self._path = path
        self._file: BinaryIO | FileIO = (
            sys.stdout.buffer if path is None else _open(path, append=append)
        )

    def write(self, data: bytes | memoryview) -> None:
        if self._file.closed:  # writing has failed before, and the user was told
            return
        rest = memoryview(data)
        try:
            while rest:  # a file without a buffer may take less than it is given
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self._fail(error)

    def flush(self) -> None:
        """Hand everything to the reader, so that results are seen when they are found."""
        try:
            self._file.flush()
        except OSError as error:
            self._fail(error)

    def fileno(self) -> int:
        """The descriptor of the file."""
        return self._file.fileno()

    def close(self) -> None:
        if not self._file.closed:
            self.flush()
        if self._path is not None:
            try:
                self._file.close()
            except OSError as error:
                self._fail(error)

    def _fail(self, error: OSError) -> None:
        if self._path is not None:
            self._file.close()
        if isinstance(error, BrokenPipeError):
            if self._path is None:
                _discard_standard_output()
            raise OutputClosed from error
        raise cannot_write(self._path or "standard output", error) from error


def cannot_write(path: Path | str, error: OSError) -> RunError:
    """The sentence for a file that cannot be written."""
    return RunError(f"cannot write {path}: {error.strerror or error}")


def make_folder(folder: Path) -> None:
    """Make a folder for results, with the folders above it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error


def _open(path: Path, *, append: bool) -> FileIO:
    try:
        # Without a buffer: pieces are large, and nothing is left to be flushed when writing fails.
        return path.open("ab" if append else "wb", buffering=0)
    except OSError as error:
        raise cannot_write(path, error) from error


def _discard_standard_output() -> None:
    """What Python still holds for the closed pipe goes nowhere; else it would complain at its own end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
