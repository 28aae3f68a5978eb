"""What became of values that a scan found (`json_scan`): numbers, texts with their escapes resolved, and texts by the distinct ones."""

from __future__ import annotations

import numpy as np

from cqc.runtime.kernel import njit
from cqc.runtime.sources.formats.json_bytes import (
    AT_ONCE,
    byte,
    clean_bytes,
    copy,
    copy_all,
    expect,
)
from cqc.runtime.sources.formats.json_values import (
    ESCAPED,
    NULL,
    TEXT,
    are_same,
    character,
    hash_of,
    is_utf8,
)

_MINUS, _ZERO, _COLON, _POINT, _T, _Z = b"-0:.TZ"
_AHEAD = 12  # rows: so much earlier the text of one is asked for
_STEPS = 16  # for each text, through slots that others have; usual ones take two


@njit(cache=True, nogil=True)
def are_utf8(text, starts, ends, fits):  # type: ignore[no-untyped-def]
    """Which of some stretches are UTF-8."""
    for row in range(len(starts)):
        fits[row] = is_utf8(text, starts[row], ends[row])


@njit(cache=True, nogil=True)
def whole_numbers(text, starts, ends, values, fits):  # type: ignore[no-untyped-def]
    """The numbers that WHOLE texts are, and which of them have room in 64 bits."""
    for row in range(len(starts)):
        at = starts[row]
        negative = byte(text + at) == _MINUS
        if negative:
            at += 1
        total = np.uint64(0)
        fits[row] = ends[row] - at <= 19
        if fits[row]:
            for place in range(at, ends[row]):
                total = total * np.uint64(10) + np.uint64(byte(text + place) - _ZERO)
            most = np.uint64(2**63) if negative else np.uint64(2**63 - 1)
            fits[row] = total <= most
        values[row] = 0
        if fits[row]:
            values[row] = -np.int64(total) if negative else np.int64(total)


@njit(cache=True, nogil=True)
def _digits(text, at, count):  # type: ignore[no-untyped-def]
    """The number that so many digits are, or one below 0."""
    total = 0
    for place in range(at, at + count):
        digit = byte(text + place) - _ZERO
        if digit < 0 or digit > 9:
            return -1_000_000
        total = 10 * total + digit
    return total


@njit(cache=True, nogil=True)
def usual_instants(text, starts, ends, kinds, us, is_usual):  # type: ignore[no-untyped-def]
    """The microseconds of texts like 2024-05-01T08:00:00.152Z, with up to six digits behind a point or none, and which are like that."""
    for row in range(len(kinds)):
        at, size = np.int64(starts[row]), np.int64(ends[row]) - np.int64(starts[row])
        is_usual[row] = False
        if kinds[row] != TEXT or size < 20 or size > 27 or size == 21:
            continue
        if (
            byte(text + at + 4) != _MINUS
            or byte(text + at + 7) != _MINUS
            or byte(text + at + 10) != _T
            or byte(text + at + 13) != _COLON
            or byte(text + at + 16) != _COLON
            or byte(text + at + size - 1) != _Z
        ):
            continue
        year, month = _digits(text, at, 4), _digits(text, at + 5, 2)
        day, hour = _digits(text, at + 8, 2), _digits(text, at + 11, 2)
        minute, second = _digits(text, at + 14, 2), _digits(text, at + 17, 2)
        micros = 0
        if size > 20:
            if byte(text + at + 19) != _POINT:
                continue
            micros = _digits(text, at + 20, size - 21)
            for _ in range(size - 21, 6):
                micros *= 10
        if year < 1 or month < 1 or month > 12 or day < 1 or hour < 0 or hour > 23:
            continue
        if minute < 0 or minute > 59 or second < 0 or second > 59 or micros < 0:
            continue
        is_long = 1 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 0
        longest = 28 + is_long if month == 2 else 30 + ((month + month // 8) & 1)
        if day > longest:
            continue
        # Days since 1970 by years that begin in March, so that the long day is the last one.
        y = year - 1 if month <= 2 else year
        of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
        days = 365 * y + y // 4 - y // 100 + y // 400 + of_year - 719_468
        seconds = 60 * (60 * (24 * days + hour) + minute) + second
        us[row] = 1_000_000 * seconds + micros
        is_usual[row] = True


@njit(cache=True, nogil=True)
def tally(kinds, rows, seen, texts, others):  # type: ignore[no-untyped-def]
    """How many texts each entry has in so many rows, and how many values that are none; of an entry that was not seen, nothing."""
    for entry in range(len(seen)):
        text = null = 0
        if seen[entry]:
            for row in range(rows):
                kind = kinds[entry, row]
                text += (kind == TEXT) | (kind == ESCAPED)
                null += kind == NULL
            others[entry] = rows - text - null
        texts[entry] = text


@njit(cache=True, nogil=True)
def text_room(starts, ends, kinds):  # type: ignore[no-untyped-def]
    """How many bytes the texts of some values have at most."""
    room = np.int64(0)
    for row in range(len(kinds)):
        if kinds[row] != NULL:
            room += ends[row] - starts[row]
    return room


@njit(cache=True, nogil=True)
def gather_text(text, starts, ends, kinds, offsets, out):  # type: ignore[no-untyped-def]
    """Put the texts of some values behind each other, escapes resolved; of NULL, nothing."""
    size, address = np.int64(0), np.int64(out.ctypes.data)
    for row in range(len(starts)):
        offsets[row] = size
        if row + _AHEAD < len(starts):
            expect(text + starts[row + _AHEAD])
        kind = kinds[row]
        if kind not in (NULL, ESCAPED):
            length = np.int64(ends[row] - starts[row])
            copy(text + starts[row], address + size, length)
            size += length
        elif kind == ESCAPED:
            at, end = np.int64(starts[row]), np.int64(ends[row])
            while at < end:
                if (
                    at + AT_ONCE <= end
                ):  # what is resolved is never longer, so there is room for as many
                    clean = clean_bytes(text + at)
                    copy_all(text + at, address + size)
                    at += clean
                    size += clean
                    if clean == AT_ONCE:
                        continue
                if byte(text + at) == 92:  # a backslash
                    code, at = character(text, at)
                    size = _put(out, size, code)
                else:
                    out[size] = byte(text + at)
                    at += 1
                    size += 1
    offsets[len(starts)] = size
    return size


@njit(cache=True, nogil=True)
def _put(out, at, code):  # type: ignore[no-untyped-def]
    """Write a character as UTF-8."""
    if code < 0x80:
        out[at] = code
        return at + 1
    if code < 0x800:
        out[at] = 0xC0 | (code >> 6)
        out[at + 1] = 0x80 | (code & 0x3F)
        return at + 2
    if code < 0x10000:
        out[at] = 0xE0 | (code >> 12)
        out[at + 1] = 0x80 | ((code >> 6) & 0x3F)
        out[at + 2] = 0x80 | (code & 0x3F)
        return at + 3
    out[at] = 0xF0 | (code >> 18)
    out[at + 1] = 0x80 | ((code >> 12) & 0x3F)
    out[at + 2] = 0x80 | ((code >> 6) & 0x3F)
    out[at + 3] = 0x80 | (code & 0x3F)
    return at + 4


@njit(cache=True, nogil=True)
def encode_texts(text, starts, ends, kinds, most, slots, codes, firsts):  # type: ignore[no-untyped-def]
    """Number the distinct texts of some values, as they are written: `codes` by row (0 for NULL), and the first row of each.

    `slots` is a table of -1 whose size is a power of two, above `most`.

    Returns:
        how many there are, or -1 when there are more than `most`, or when they were made to meet in one slot: whoever writes
        a log must not choose how long it takes to read.
    """
    count = 0
    steps = _STEPS * (len(starts) + 64)
    for row in range(len(starts)):
        codes[row] = 0
        if row + _AHEAD < len(starts):
            expect(text + starts[row + _AHEAD])
        if kinds[row] == NULL:
            continue
        start, end = starts[row], ends[row]
        slot = np.int64(hash_of(text, start, end) & np.uint64(len(slots) - 1))
        while slots[slot] >= 0:
            first = firsts[slots[slot]]
            is_as_long = ends[first] - starts[first] == end - start
            if is_as_long and are_same(text, start, end, text + starts[first]):
                break
            steps -= 1
            if steps < 0:
                return -1
            slot = (slot + 1) & (len(slots) - 1)
        if slots[slot] < 0:
            if count == most:
                return -1
            slots[slot] = count
            firsts[count] = row
            count += 1
        codes[row] = slots[slot]
    return count


@njit(cache=True, nogil=True)
def has_other_spellings(text, starts, ends, kinds):  # type: ignore[no-untyped-def]
    """Whether some texts have escapes that are not needed, so that two that are written in other ways may be the same."""
    for row in range(len(starts)):
        if kinds[row] == ESCAPED:
            at = starts[row]
            while at < ends[row]:
                if byte(text + at) == 92:  # a backslash
                    if byte(text + at + 1) in (117, 47):  # u /
                        return True
                    at += 1
                at += 1
    return False
