"""Text in pieces of whole lines, with a limit to how long a line may be.

A line is held in memory as a whole, and parsed as a whole; one that does not end, because a file is something else than it
says or its writer failed, would take all memory and all time there is. So a line of more than `LONGEST_LINE` bytes is passed
over without being held, and stands in the pieces as a `LongLine`; the row is rejected, and reading goes on with the next one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.runtime.columns.lent_memory import LentMemory
from cqc.runtime.intake.typed_batch import Reject

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    import numpy as np
    from numpy.typing import NDArray

    from cqc.runtime.intake.typed_batch import Intake, TypedBatch

LONGEST_LINE = 16 * 1024 * 1024
_SHOWN = 200  # bytes of a line that is too long
_LOOKED_AT = 64 * 1024  # bytes at a time, for the last line end
_MEMORY = LentMemory(1)  # whoever reads ahead has it, and others seldom need one
_CSV_LINE_END = re.compile(
    rb"\r\n|\n|\r(?!\Z)"
)  # a carriage return at the end may be half of a line end


@record
class LongLine:
    """A line that is too long: how it begins, how many bytes it has with its line end, and whether it has one."""

    beginning: bytes
    size: int
    has_end: bool

    def rejected(self, intake: Intake) -> TypedBatch:
        """What becomes of its row."""
        megabytes = LONGEST_LINE / (1024 * 1024)
        shown = self.beginning.decode(errors="replace")
        reason = f"line is longer than {megabytes:g} MB"
        return intake.take_objects([], 1, [Reject(reason, {"line": f"{shown}…"})])


class LentLines:
    """Whole lines in memory that was lent: nothing of `text` is there any more once it was given back."""

    def __init__(self, text: bytes | memoryview, memory: NDArray[np.uint8] | None = None) -> None:
        self.text = text
        self._memory = memory

    def give_back(self) -> None:
        """Let the next piece have the memory."""
        self.text = b""
        if self._memory is not None:
            _MEMORY.give_back(self._memory)
            self._memory = None


def lent_pieces(file: BinaryIO, size: int) -> Iterator[LentLines | LongLine]:
    """What `line_pieces` tells of a file, without a copy of each piece: large files are mostly read by one who is done with it at once."""
    size = max(1, min(size, LONGEST_LINE // 2))  # so that no line of two readings is too long
    rest = b""
    while True:
        memory = _MEMORY.lend(len(rest) + size)
        view = memoryview(memory.data)
        view[: len(rest)] = rest
        end = len(rest) + _fill(file, view[len(rest) : len(rest) + size])
        last = _last_line_end(memory, end)
        if last == 0 and end == len(rest) + size:  # a long line
            begun = _Begun(bytes(view[:end]), file)
            for piece in line_pieces(begun, size):
                yield piece if isinstance(piece, LongLine) else LentLines(piece)
            return
        is_end = end < len(rest) + size
        rest = b"" if is_end else bytes(view[last:end])
        stop = end if is_end else last
        if stop:
            yield LentLines(view[:stop], memory)
        if is_end:
            return


def _fill(file: BinaryIO, room: memoryview) -> int:
    """Read until there is no room left or nothing more; how much that was."""
    read, into = 0, getattr(file, "readinto", None)
    while read < len(room):
        if into is not None:
            more = into(room[read:])
        else:  # a part of a file
            some = file.read(len(room) - read)
            more = len(some)
            room[read : read + more] = some
        if not more:
            break
        read += more
    return read


def _last_line_end(memory: NDArray[np.uint8], end: int) -> int:
    """Where the last line in some bytes is over; 0 where none ends."""
    while end > 0:
        start = max(0, end - _LOOKED_AT)
        found = memory[start:end].tobytes().rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


class _Begun:
    """A file of which some bytes were read before."""

    def __init__(self, before: bytes, file: BinaryIO) -> None:
        self._before, self._file = before, file

    def read(self, size: int) -> bytes:
        before, self._before = self._before[:size], self._before[size:]
        return before or self._file.read(size)


def line_pieces(
    file: BinaryIO | _Begun, size: int, *, csv: bool = False
) -> Iterator[bytes | LongLine]:
    """Pieces of whole lines, about `size` bytes each; the last one may lack its line end.

    Args:
        file: what to read.
        size: how much to read at a time.
        csv: a carriage return alone ends a line too.
    """
    size = min(size, LONGEST_LINE)  # so that only a line over several chunks can be too long
    held: list[bytes] = []  # a line that has not ended
    length = 0
    while chunk := _read(file, size, csv=csv):
        first, last = _line_ends(chunk, csv=csv)
        if held and length + (first or len(chunk)) > LONGEST_LINE:
            beginning = b"".join(held)[:_SHOWN]
            while not first and (more := _read(file, size, csv=csv)):
                length += len(chunk)
                chunk = more
                first, last = _line_ends(chunk, csv=csv)
            yield LongLine(beginning, length + (first or len(chunk)), bool(first))
            held, length = [], 0
            if not first:
                return
            chunk, last = chunk[first:], last - first
        rest = chunk[last:]
        if last:
            pieces = [*held, chunk if last == len(chunk) else memoryview(chunk)[:last]]
            held, length, chunk = [], 0, b""  # else it is held for as long as the piece is in use
            yield _joined(pieces)
        if rest:
            held.append(rest)
            length += len(rest)
    if held:
        yield b"".join(held)


def _joined(pieces: list[bytes | memoryview]) -> bytes:
    """One piece of several, which are no longer held."""
    first = pieces[0]
    whole = first if len(pieces) == 1 and isinstance(first, bytes) else b"".join(pieces)
    pieces.clear()
    return whole


def _read(file: BinaryIO | _Begun, size: int, *, csv: bool) -> bytes:
    """A chunk; one that ends with a carriage return has the next byte too, which may be the other half of a line end."""
    chunk = file.read(size)
    return chunk + file.read(1) if csv and chunk.endswith(b"\r") else chunk


def _line_ends(chunk: bytes, *, csv: bool) -> tuple[int, int]:
    """Where the first and the last line end in a chunk are over; 0 where it has none."""
    last = chunk.rfind(b"\n") + 1
    if last or not csv or b"\r" not in chunk:
        if not csv or b"\r" not in chunk:
            return chunk.find(b"\n") + 1, last
    else:
        last = chunk.rfind(b"\r", 0, len(chunk) - 1) + 1
    found = _CSV_LINE_END.search(chunk)
    return (0 if found is None else found.end()), last
