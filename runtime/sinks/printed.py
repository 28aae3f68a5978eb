"""Results that cannot be taken back once they are out: standard output, pipes, devices.

A micro-batch that counts must be printed, one that does not must not be. So its results are first kept in a file of the
checkpoint, then it is made to count, and then they are printed; how far that has come is written down after each piece. A
run that starts again prints what is left of the micro-batch that counted last.

    DIR/printing/000000000007.bytes     the results of the seventh micro-batch
    DIR/printing/printed                how many bytes were printed since the first one

A piece is a line, or as many lines as a pipe takes all or none of, so that a process which is killed leaves no half of it.
"""

from __future__ import annotations

import os
import select
import struct
from typing import TYPE_CHECKING

from cqc.runtime.sinks.output import cannot_write, make_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cqc.runtime.sinks.output import Output

_COUNT = struct.Struct("<q")


class Printed:
    """A place to print results to, by micro-batch.

    Args:
        output: the place.
        folder: a folder of the checkpoint.
        number: the micro-batch that counted last; -1 for a new run.
        length: how many bytes were to be printed up to its end.

    Raises:
        RunError: when the folder cannot be used.
        OutputClosed: when nobody reads any more.
    """

    def __init__(self, output: Output, folder: Path, number: int, length: int) -> None:
        self.length = length
        self._output = output
        self._folder = folder
        self._waiting: list[bytes] = []
        make_folder(folder)
        try:
            self._count = os.open(folder / "printed", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise cannot_write(folder, error) from error
        if number < 0:
            self._note(0)
        else:
            self.print(number)

    def append(self, data: bytes | memoryview) -> None:
        """Add to the results of the micro-batch under way."""
        self._waiting.append(bytes(data))
        self.length += len(data)

    def keep(self, number: int) -> int:
        """Have the results of a micro-batch on the disk before it counts; the length with them."""
        try:
            with self._file(number).open("wb") as file:
                file.writelines(self._waiting)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise cannot_write(self._file(number), error) from error
        self._waiting.clear()
        return self.length

    def print(self, number: int) -> None:
        """Print what was kept of a micro-batch that counts and was not printed before."""
        try:
            data = self._file(number).read_bytes()
        except FileNotFoundError:
            data = b""
        begin = self.length - len(data)
        at = min(max(self._printed() - begin, 0), len(data))
        for piece in pieces(data, at):
            self._output.write(piece)
            self._output.flush()
            at += len(piece)
            self._note(begin + at)
        self._note(self.length)
        for file in self._folder.glob("*.bytes"):
            file.unlink(missing_ok=True)

    def close(self) -> None:
        os.close(self._count)
        self._output.close()

    def _file(self, number: int) -> Path:
        return self._folder / f"{number:012d}.bytes"

    def _printed(self) -> int:
        data = os.pread(self._count, _COUNT.size, 0)
        return int(_COUNT.unpack(data)[0]) if len(data) == _COUNT.size else 0

    def _note(self, count: int) -> None:
        os.pwrite(self._count, _COUNT.pack(count), 0)


def pieces(data: bytes, start: int) -> Iterator[bytes]:
    """The data from a place on: whole lines together as long as they fit into a pipe at once, a longer line alone."""
    while start < len(data):
        end = data.rfind(b"\n", start, start + select.PIPE_BUF) + 1
        if not end:
            end = data.find(b"\n", start) + 1 or len(data)
        yield data[start:end]
        start = end
