"""Results that cannot be taken back once they are out: standard output, pipes, devices.

A micro-batch that counts must be printed, one that does not must not be. So its results are first kept in a file of the
checkpoint, then it is made to count, and then they are printed; how far that has come is written down after each piece. A
run that starts again prints what is left of the micro-batch that counted last.

    DIR/printing/000000000007.bytes     the results of the seventh micro-batch
    DIR/printing/printed                how many bytes were printed since the first one

Both have a checksum: what was printed cannot be taken back, so where it is not known how far that came nothing is printed.

A piece is a line, or as many lines as a pipe takes all or none of, so that a process which is killed leaves no half of it.
"""

from __future__ import annotations

import os
import select
import struct
import zlib
from typing import TYPE_CHECKING

from cqc.runtime.errors import RunError
from cqc.runtime.files.private_files import FILE_MODE, private_folder
from cqc.runtime.files.sealed import DamagedError, read_sealed, write_sealed
from cqc.runtime.sinks.growing import Known
from cqc.runtime.sinks.output import cannot_write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cqc.runtime.sinks.output import Output

_COUNT = struct.Struct("<qI")  # with its checksum


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
        self._counter = folder / "printed"
        try:
            private_folder(folder)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._count = os.open(self._counter, flags, FILE_MODE)
        except OSError as error:
            raise cannot_write(folder, error) from error
        if number < 0:
            os.ftruncate(self._count, 0)
            self._note(0)
        else:
            self.print(number)

    def append(self, data: bytes | memoryview) -> None:
        """Add to the results of the micro-batch under way."""
        self._waiting.append(bytes(data))
        self.length += len(data)

    def keep(self, number: int) -> Known:
        """Put the results of a micro-batch on the disk before it counts. Returns the length with them."""
        try:
            write_sealed(self._file(number), b"".join(self._waiting))
        except OSError as error:
            raise cannot_write(self._file(number), error) from error
        self._waiting.clear()
        return Known(self.length)

    def print(self, number: int) -> None:
        """Print what was kept of a micro-batch that counts and was not printed before.

        Raises:
            RunError: when it cannot be known any more what is left to be printed.
        """
        printed = self._printed(number)
        if printed == self.length:
            self._forget()
            return
        if printed > self.length:
            raise RunError(_too_much(self._folder, printed, self.length))
        data = read_sealed(self._file(number))
        begin = self.length - len(data)
        if begin < 0:
            raise DamagedError(self._file(number), "holds more than its micro-batch found")
        at = max(printed - begin, 0)
        for piece in pieces(data, at):
            self._output.write(piece)
            self._output.flush()
            at += len(piece)
            self._note(begin + at)
        self._note(self.length)
        self._forget()

    def close(self) -> None:
        os.close(self._count)
        self._output.close()

    def _file(self, number: int) -> Path:
        return self._folder / f"{number:012d}.bytes"

    def _forget(self) -> None:
        for file in self._folder.glob("*.bytes"):
            file.unlink(missing_ok=True)

    def _printed(self, number: int) -> int:
        try:
            return count_in(os.pread(self._count, _COUNT.size + 1, 0), self._counter)
        except DamagedError:
            if self._file(number).exists():
                raise
            os.ftruncate(self._count, 0)
            self._note(self.length)  # results go when all of them are printed
            return self.length

    def _note(self, count: int) -> None:
        os.pwrite(self._count, _COUNT.pack(count, _checksum(count)), 0)


def check_printed(folder: Path, length: int) -> None:
    """Check that no more was printed than counts. Changes nothing.

    Raises:
        RunError: when more was, or that cannot be known.
    """
    counter = folder / "printed"
    if counter.exists():
        printed = count_in(counter.read_bytes(), counter)
        if printed > length:
            raise RunError(_too_much(folder, printed, length))


def count_in(data: bytes, path: Path) -> int:
    """How many bytes were printed, as the counter's file has it; none when it is empty.

    Raises:
        DamagedError: when it is not what was written.
    """
    if not data:
        return 0
    if len(data) == _COUNT.size:
        count, checksum = _COUNT.unpack(data)
        if checksum == _checksum(count):
            return int(count)
    advice = "remove it to have the results of the last micro-batch printed again"
    raise DamagedError(path, "is damaged, and with it how far results were printed", advice)


def _checksum(count: int) -> int:
    return zlib.crc32(b"printed %d" % count)


def _too_much(folder: Path, printed: int, length: int) -> str:
    return (
        f"the checkpoint {folder.parent} is older than what was printed from it "
        f"({printed:,} bytes, {length:,} count): results would be repeated; name another folder to begin anew"
    )


def pieces(data: bytes, start: int) -> Iterator[bytes]:
    """The data from a place on: whole lines together as long as they fit into a pipe at once, a longer line alone."""
    while start < len(data):
        end = data.rfind(b"\n", start, start + select.PIPE_BUF) + 1
        if not end:
            end = data.find(b"\n", start) + 1 or len(data)
        yield data[start:end]
        start = end
