"""Cutting CSV into records, by rules that are exactly those of Arrow's parser where Arrow is used.

A field that begins with a quote runs to the closing quote (a doubled quote inside is one quote); what follows it up to the
comma belongs to it as it stands. A quote anywhere else is an ordinary character. A line end inside quotes is text.
A quote that is never closed would swallow the rest of a file: when its end is not within `LONGEST_FIELD` bytes, or not in
the file, the line with the quote is a broken record of its own and reading goes on with the next line.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.sources.formats.long_lines import LongLine, line_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from numpy.typing import NDArray

BLOCK_BYTES = 4 * 1024 * 1024
LONGEST_FIELD = 1024 * 1024

_LINE = re.compile(rb"[^\r\n]*+(?:\r\n|\n|\r|\Z)")
_NEWLINE, _RETURN = b"\n\r"


@dataclass(frozen=True, slots=True)
class Dialect:
    """What stands between fields, and what around a field that holds such a character."""

    delimiter: str = ","
    quote: str = '"'

    @property
    def between(self) -> bytes:
        return self.delimiter.encode()

    @property
    def around(self) -> bytes:
        return self.quote.encode()

    @property
    def field(self) -> re.Pattern[bytes]:
        """A field and what ends it."""
        return _field_pattern(self.between, self.around)


COMMAS = Dialect()


@functools.cache
def _field_pattern(delimiter: bytes, quote: bytes) -> re.Pattern[bytes]:
    d, q = re.escape(delimiter), re.escape(quote)
    quoted = q + b"[^" + q + b"]*+(?:" + q + q + b"[^" + q + b"]*+)*+" + q
    plain = b"[^" + d + rb"\r\n"
    return re.compile(
        b"(" + quoted + plain + b"]*+|" + plain + q + b"]" + plain + b"]*+|)"
        b"(" + d + rb"|\r\n|\n|\r|\Z)"
    )


@dataclass(frozen=True, slots=True)
class Record:
    """One record: where it ends in its block, and its raw fields (None when a quote is not closed)."""

    start: int
    end: int
    fields: tuple[bytes, ...] | None


def scan_records(block: bytes, dialect: Dialect = COMMAS) -> Iterator[Record]:
    """The records of a block."""
    at = 0
    while at < len(block):
        record = _scan_record(block, at, dialect)
        yield record
        at = record.end


def _scan_record(block: bytes, start: int, dialect: Dialect) -> Record:
    fields = []
    at = start
    pattern, between = dialect.field, dialect.between
    while (field := pattern.match(block, at)) is not None:
        fields.append(field[1])
        at = field.end()
        if field[2] != between:
            return Record(start, at, tuple(fields))
    line = _LINE.match(block, start)
    return Record(start, len(block) if line is None else line.end(), None)


def unquote(field: bytes, dialect: Dialect = COMMAS) -> bytes:
    """The text of a raw field."""
    quote = dialect.around
    if not field.startswith(quote):
        return field
    close = 1
    while True:
        close = field.index(quote, close)
        if field[close + 1 : close + 2] != quote:
            return field[1:close].replace(quote * 2, quote) + field[close + 1 :]
        close += 2


def csv_blocks(
    file: BinaryIO, size: int = BLOCK_BYTES, dialect: Dialect = COMMAS
) -> Iterator[bytes | LongLine]:
    """Blocks of whole records, about `size` bytes each, and the lines that are too long."""
    rest = b""
    for piece in line_pieces(file, size, csv=True):
        if isinstance(piece, LongLine):
            if rest:  # its last record has a quote that is not closed within the longest field
                yield rest
            yield piece
            rest = b""
            continue
        rest += piece
        end = last_record_end(rest, dialect)
        if end:
            yield rest[:end]
            rest = rest[end:]
    if rest:
        yield rest


def last_record_end(block: bytes, dialect: Dialect = COMMAS) -> int:
    """Where the last record ends that certainly does; 0 when none does.

    A carriage return at the very end may be half of a line end, and a quote there half of a doubled one.
    """
    if dialect.around not in block:
        newline = block.rfind(b"\n") + 1
        return newline or block.rfind(b"\r", 0, len(block) - 1) + 1
    ends = regular_record_ends(block, dialect)
    if ends is not None:
        return int(ends[-1]) if len(ends) else _end_of_broken(block, 0)
    certain = 0
    for record in scan_records(block, dialect):
        if record.fields is None:
            return certain or _end_of_broken(block, record.start)
        if record.end < len(block) or block.endswith(b"\n"):
            certain = record.end
    return certain


def _end_of_broken(block: bytes, start: int) -> int:
    """The end of a line whose quote is not closed, once there is no hope that more input closes it."""
    line = _LINE.match(block, start)
    hopeless = len(block) - start > LONGEST_FIELD
    return line.end() if hopeless and line is not None else 0


def regular_record_ends(block: bytes, dialect: Dialect = COMMAS) -> NDArray[np.int64] | None:
    """Where records end (after each line feed outside quotes), or None when quotes are not where they should be.

    In a block that begins outside quotes every quote of even number (from 0) opens a field, or is the second of a doubled
    one, and every other one closes a field, or is the first of a doubled one. If that is so everywhere, a line feed is
    outside quotes exactly when an even number of quotes precedes it.
    """
    data = np.frombuffer(block, dtype=np.uint8)
    newlines = np.flatnonzero(data == _NEWLINE)
    if dialect.around not in block:
        return newlines + 1
    (quote,), (comma,) = dialect.around, dialect.between
    quotes = np.flatnonzero(data == quote)
    before = np.concatenate([[_NEWLINE], data[:-1]])[quotes[0::2]]
    after = np.concatenate([data[1:], [_NEWLINE]])[quotes[1::2]]
    opens = (before == comma) | (before == _NEWLINE) | (before == _RETURN) | (before == quote)
    closes = (after == comma) | (after == _NEWLINE) | (after == _RETURN) | (after == quote)
    if not (opens.all() and closes.all()):
        return None
    outside = np.searchsorted(quotes, newlines) % 2 == 0
    return np.asarray(newlines[outside] + 1)


def ends_outside_quotes(block: bytes, dialect: Dialect = COMMAS) -> bool:
    """Whether the quotes of a block are regular and all closed."""
    if dialect.around not in block:
        return True
    is_even = block.count(dialect.around) % 2 == 0
    return is_even and regular_record_ends(block, dialect) is not None
