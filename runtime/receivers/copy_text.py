r"""Results as text for COPY of PostgreSQL, from the bytes of their lines: no value is read, only moved.

    {"query": "q", "ts": 5, "row": {"x": 1, "t": "a\tb"}, "id": "4c5e"}     ->     4c5e q 5 \N 1 a\tb     (with tabs between)

A number, a truth value and a date are the same in both. Texts are escaped in another way; nested values and what an alert says stay JSON.
NUL, which PostgreSQL cannot hold, is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cqc.runtime.kernel import njit
from cqc.runtime.receivers.sent_rows import text_offsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.receivers.sent_rows import SentRows

_QUOTE, _BACKSLASH, _OPEN, _CLOSE, _LIST, _END_OF_LIST, _COMMA = b'"\\{}[],'
_TAB, _NEWLINE, _RETURN, _BACK, _FEED = b"\t\n\r\b\f"
_A, _B, _F, _L, _N, _R, _T, _U = b"abflnrtu"
_CAPITAL_N = ord("N")
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r", "\0": None})


def copy_text(rows: SentRows, columns: int) -> memoryview:
    """Rows of one shape: `_id`, `_query`, `_ts`, `_alert` and so many columns, a line for each."""
    names = pa.array([name.translate(_ESCAPES) for name, _ in rows.queries], pa.string())
    lines, line_ends = _bytes(rows.lines)
    ids, id_ends = _bytes(rows.ids)
    names_, name_ends = _bytes(names)
    # A backslash of JSON text takes two; names stand in every row, and so do tabs and what is NULL.
    widest = int(np.diff(name_ends).max(initial=0))
    space = 2 * len(lines) + len(ids) + len(rows) * (widest + 16 + 3 * columns)
    out = np.empty(space, np.uint8)
    size = _write_rows(lines, line_ends, ids, id_ends, names_, name_ends, rows.of, columns, out)
    return memoryview(out)[:size]  # type: ignore[arg-type]  # an array is a buffer


def _bytes(texts: pa.StringArray) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """The bytes of texts, and where each of them begins and ends."""
    offsets, data = text_offsets(texts), texts.buffers()[2]
    if data is None or not len(texts):
        return np.zeros(0, np.uint8), np.zeros(len(texts) + 1, np.int32)
    whole = np.frombuffer(data, np.uint8)
    return whole[int(offsets[0]) : int(offsets[-1])], offsets - offsets[0]


@njit(cache=True, nogil=True)
def _write_rows(lines, line_ends, ids, id_ends, names, name_ends, of, columns, out):  # type: ignore[no-untyped-def]
    size = 0
    for row in range(len(of)):
        size = _copy(ids, id_ends[row], id_ends[row + 1], out, size)
        out[size] = _TAB
        name = of[row]
        size = _copy(names, name_ends[name], name_ends[name + 1], out, size + 1)
        time, alert, cells = _members(lines, line_ends[row], line_ends[row + 1])
        size = _write_value(lines, time, out, size)
        size = _write_value(lines, alert, out, size)
        at = cells + 1
        for _ in range(columns):
            at = _after_value(lines, at) + 2  # the name and ": "
            size = _write_value(lines, at, out, size)
            at = _after_value(lines, at) + 2
        out[size] = _NEWLINE
        size += 1
    return size


@njit(cache=True, nogil=True)
def _copy(text, begin, end, out, size):  # type: ignore[no-untyped-def]
    for at in range(begin, end):
        out[size + at - begin] = text[at]
    return size + end - begin


@njit(cache=True, nogil=True)
def _members(text, begin, end):  # type: ignore[no-untyped-def]
    """Where time, alert and row of a line begin; -1 for what is not there."""
    time, alert, cells = -1, -1, -1
    at = begin + 1
    while at < end - 1:
        first, second, third = text[at + 1], text[at + 2], text[at + 3]
        at = _after_value(text, at) + 2
        if first in (_T, _A) and third == _QUOTE:  # ts, at
            time = at
        elif first == _A and second == _L:
            alert = at
        elif first == _R:
            cells = at
        at = _after_value(text, at) + 2
    return time, alert, cells


@njit(cache=True, nogil=True)
def _after_value(text, at):  # type: ignore[no-untyped-def]
    """Where a value ends that begins here."""
    depth = 0
    while True:
        byte = text[at]
        if byte == _QUOTE:
            at += 1
            while text[at] != _QUOTE:
                at += 2 if text[at] == _BACKSLASH else 1
            at += 1
            if depth == 0:
                return at
        elif byte in (_OPEN, _LIST):
            depth += 1
            at += 1
        elif byte in (_CLOSE, _END_OF_LIST):
            if depth == 0:
                return at
            depth -= 1
            at += 1
            if depth == 0:
                return at
        elif byte == _COMMA and depth == 0:
            return at
        else:
            at += 1


@njit(cache=True, nogil=True)
def _write_value(text, at, out, size):  # type: ignore[no-untyped-def]
    """A tab and the value that begins here; -1 is NULL."""
    out[size] = _TAB
    size += 1
    if at < 0 or text[at] == _N:
        out[size] = _BACKSLASH
        out[size + 1] = _CAPITAL_N
        return size + 2
    byte = text[at]
    if byte == _QUOTE:
        return _write_text(text, at + 1, out, size)
    end = _after_value(text, at)
    if byte in (_OPEN, _LIST):
        return _write_json(text, at, end, out, size)
    return _copy(text, at, end, out, size)


@njit(cache=True, nogil=True)
def _write_json(text, at, end, out, size):  # type: ignore[no-untyped-def]
    """JSON as it is, with the backslashes that COPY wants."""
    while at < end:
        byte = text[at]
        if byte != _BACKSLASH:
            out[size] = byte
            size += 1
            at += 1
        elif text[at + 1] == _U and _code(text, at + 2) == 0:
            at += 6
        else:
            size = _write_byte(_BACKSLASH, out, size)
            size = _write_byte(text[at + 1], out, size)
            at += 2
    return size


@njit(cache=True, nogil=True)
def _write_text(text, at, out, size):  # type: ignore[no-untyped-def]
    """The text of a JSON string, which begins after its quote."""
    while text[at] != _QUOTE:
        byte = text[at]
        if byte != _BACKSLASH:
            out[size] = byte
            size += 1
            at += 1
            continue
        byte = text[at + 1]
        at += 2
        if byte == _U:
            code = _code(text, at)
            at += 4
            if 0xD800 <= code < 0xDC00:
                code = 0x10000 + ((code - 0xD800) << 10) + (_code(text, at + 2) - 0xDC00)
                at += 6
            size = _write_code(code, out, size)
        elif byte == _N:
            size = _write_byte(_NEWLINE, out, size)
        elif byte == _T:
            size = _write_byte(_TAB, out, size)
        elif byte == _R:
            size = _write_byte(_RETURN, out, size)
        elif byte == _B:
            size = _write_byte(_BACK, out, size)
        elif byte == _F:
            size = _write_byte(_FEED, out, size)
        else:
            size = _write_byte(byte, out, size)
    return size


@njit(cache=True, nogil=True)
def _code(text, at):  # type: ignore[no-untyped-def]
    """The number of four hexadecimal digits."""
    code = 0
    for place in range(at, at + 4):
        digit = int(text[place]) | 32  # Python would go on in 8 bits
        code = code * 16 + (digit - 48 if digit < 64 else digit - 87)
    return code


@njit(cache=True, nogil=True)
def _write_code(code, out, size):  # type: ignore[no-untyped-def]
    """A character as UTF-8; NUL is left out."""
    if code == 0:
        return size
    if code < 0x80:
        return _write_byte(code, out, size)
    if code < 0x800:
        out[size] = 0xC0 | (code >> 6)
        out[size + 1] = 0x80 | (code & 63)
        return size + 2
    if code < 0x10000:
        out[size] = 0xE0 | (code >> 12)
        out[size + 1] = 0x80 | ((code >> 6) & 63)
        out[size + 2] = 0x80 | (code & 63)
        return size + 3
    out[size] = 0xF0 | (code >> 18)
    out[size + 1] = 0x80 | ((code >> 12) & 63)
    out[size + 2] = 0x80 | ((code >> 6) & 63)
    out[size + 3] = 0x80 | (code & 63)
    return size + 4


@njit(cache=True, nogil=True)
def _write_byte(byte, out, size):  # type: ignore[no-untyped-def]
    """A byte below 128 as COPY wants it."""
    letter = 0
    if byte == _BACKSLASH:
        letter = _BACKSLASH
    elif byte == _TAB:
        letter = _T
    elif byte == _NEWLINE:
        letter = _N
    elif byte == _RETURN:
        letter = _R
    if letter == 0:
        out[size] = byte
        return size + 1
    out[size] = _BACKSLASH
    out[size + 1] = letter
    return size + 2


def warm() -> None:
    """Compile the kernels."""
    from cqc.runtime.receivers.receiver import Columns, Sent
    from cqc.runtime.receivers.sent_rows import rows_of

    line = r'{"query": "q", "ts": 1, "row": {"x": "\n\u0041", "y": {"z": "\t"}}, "id": "i"}'
    columns = Columns(("x", "y"), ("STRING", "STRING"), "BIGINT")
    copy_text(rows_of([Sent(1, "i", "q", line, columns)]), 2)
