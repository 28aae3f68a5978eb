"""Cutting a file into blocks of whole lines or records, with bounded memory.

A block ends where a record ends. In JSON lines that is a line end. In CSV a quoted field may hold line ends, so a block
that has quotes is scanned field by field. A quote that is never closed would swallow the rest of the file; after
`LONGEST_FIELD` bytes without its end the line with the quote is a record of its own, marked as broken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

BLOCK_BYTES = 4 * 1024 * 1024
LONGEST_FIELD = 1024 * 1024

# A field with what follows it: a quoted one (with what comes after its closing quote), or any other.
_FIELD = re.compile(rb'("(?:[^"]|"")*"[^,\r\n]*|[^,\r\n"][^,\r\n]*|)(,|\r\n|\n|\r|\Z)')
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r|\Z)")


@dataclass(frozen=True, slots=True)
class Record:
    """One CSV record: its raw fields (quotes included) or, when a quote is not closed, None."""

    raw: bytes
    fields: tuple[bytes, ...] | None


def line_blocks(file: BinaryIO, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Blocks of whole lines, each about `size` bytes (a longer line is a block of its own)."""
    rest = b""
    while chunk := file.read(size):
        chunk = rest + chunk
        end = chunk.rfind(b"\n") + 1
        if end:
            yield chunk[:end]
        rest = chunk[end:]
    if rest:
        yield rest


def csv_blocks(file: BinaryIO, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Blocks of whole CSV records."""
    rest = b""
    ended = False
    while not ended:
        chunk = file.read(size)
        ended = not chunk
        rest += chunk
        end = len(rest) if ended else record_end(rest)
        if end:
            yield rest[:end]
            rest = rest[end:]


def record_end(block: bytes) -> int:
    """Where the last complete record of a block ends; 0 when none does.

    A carriage return at the very end may be the first half of a line end, so it does not count.
    """
    if b'"' not in block:
        newline = block.rfind(b"\n") + 1
        return newline or block.rfind(b"\r", 0, len(block) - 1) + 1
    end = 0
    for at, record in scan_records(block):
        if at < len(block) or record.raw.endswith(b"\n"):
            end = at
    return end if end or len(block) <= LONGEST_FIELD else len(block)


def scan_records(block: bytes) -> Iterator[tuple[int, Record]]:
    """The records of a block, each with the position after it."""
    at = 0
    while at < len(block):
        start, fields = at, []
        while True:
            field = _FIELD.match(block, at)
            if field is None:  # a quote that is not closed
                line = _LINE.match(block, start)
                at = len(block) if line is None else line.end()
                yield _unclosed(block, start, at)
                break
            fields.append(field[1])
            at = field.end()
            if field[2] != b",":
                yield at, Record(block[start:at], tuple(fields))
                break
