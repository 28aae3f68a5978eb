"""JSON values, walked byte by byte or 32 at a time: where a value ends, of what kind it is, or what is wrong where.

The grammar is the one that Python's `json` takes (NaN and Infinity too). The text is given by where it begins in memory (`json_bytes`);
places in it are counted from there. How large, how deep or how odd a text is changes neither the memory it takes nor, by the byte, the time.
"""

from __future__ import annotations

import numpy as np

from cqc.runtime.kernel import njit
from cqc.runtime.sources.formats.json_bytes import (
    BITS,
    backslashes,
    byte,
    first_bit,
    odd_bytes,
    plain_escapes,
    put_byte,
    quotes,
    word,
)

# The kinds of values. 0 is also what a row holds for a key that is not there.
NULL, FALSE, TRUE, WHOLE, FRACTION, NAN, INFINITY, MINUS_INFINITY, TEXT, ESCAPED = range(10)
BROKEN, NESTED = 10, 11  # text that no column takes; an object or an array

# How a scan ends.
MORE, DONE = 0, 1
UNEXPECTED, ENDS_EARLY, TOO_DEEP, LONG_NUMBER, NOT_UTF8 = -1, -2, -3, -4, -5

MOST_LEVELS = 1_000
MOST_DIGITS = 4_300  # of a whole number; Python takes no more
_HAS_ESCAPES, _HAS_HALVES = 1, 2
_TAB, _NEWLINE, _RETURN, _SPACE = b"\t\n\r "
_QUOTE, _BACKSLASH, _COMMA, _COLON = b'"\\,:'
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = b"{}[]"
_ZERO, _NINE, _MINUS, _PLUS, _POINT, _U = b"09-+.u"
_MIX = np.uint64(0x9E3779B97F4A7C15)
_ONE, _ALL = np.uint64(1), ~np.uint64(0)
_ODD_BITS = np.uint64(0xAAAAAAAAAAAAAAAA)


@njit(cache=True, nogil=True)
def skip_white(text, at, stop):  # type: ignore[no-untyped-def]
    while at < stop and byte(text + at) in (_SPACE, _NEWLINE, _RETURN, _TAB):
        at += 1
    return at


@njit(cache=True, nogil=True)
def _hex4(text, at, stop):  # type: ignore[no-untyped-def]
    """The number that four hexadecimal digits are, or -1."""
    if at + 4 > stop:
        return -1
    code = 0
    for place in range(at, at + 4):
        c = byte(text + place)
        if _ZERO <= c <= _NINE:
            digit = c - _ZERO
        elif 97 <= c <= 102:  # a-f
            digit = c - 87
        elif 65 <= c <= 70:  # A-F
            digit = c - 55
        else:
            return -1
        code = code * 16 + digit
    return code


@njit(cache=True, nogil=True)
def _goes_on(text, at, stop, low, high):  # type: ignore[no-untyped-def]
    return at < stop and low <= byte(text + at) <= high


@njit(cache=True, nogil=True)
def _utf8_size(text, at, stop):  # type: ignore[no-untyped-def]
    """How many bytes the character beyond ASCII has that begins here; 0 for none, -3 for half a surrogate pair."""
    c = byte(text + at)
    if c < 0xC2 or c > 0xF4:
        return 0
    if c < 0xE0:
        return 2 if _goes_on(text, at + 1, stop, 0x80, 0xBF) else 0
    if c < 0xF0:
        if not _goes_on(text, at + 2, stop, 0x80, 0xBF):
            return 0
        if not _goes_on(text, at + 1, stop, 0xA0 if c == 0xE0 else 0x80, 0xBF):
            return 0
        return -3 if c == 0xED and byte(text + at + 1) >= 0xA0 else 3
    low, high = 0x90 if c == 0xF0 else 0x80, 0x8F if c == 0xF4 else 0xBF
    if not _goes_on(text, at + 1, stop, low, high):
        return 0
    if not _goes_on(text, at + 2, stop, 0x80, 0xBF):
        return 0
    return 4 if _goes_on(text, at + 3, stop, 0x80, 0xBF) else 0


@njit(cache=True, nogil=True)
def is_utf8(text, at, stop):  # type: ignore[no-untyped-def]
    while at < stop:
        size = 1 if byte(text + at) < 0x80 else _utf8_size(text, at, stop)
        if size <= 0:
            return False
        at += size
    return True


@njit(cache=True, nogil=True)
def _plain_bytes(place):  # type: ignore[no-untyped-def]
    """How many of 64 bytes of a string, of which the first begins a character, are usual characters and escapes of one letter.

    Returns:
        how many there are before something else or half an escape, and whether there is an escape among them.
    """
    ends, slashes = quotes(place) | odd_bytes(place), backslashes(place)
    if slashes == 0:
        return first_bit(ends), 0
    # A backslash behind an odd number of others is escaped, as is what follows a row of an odd number. Rows are added up by carries:
    # the borrow of a subtraction runs through each, and comes out at an even or an odd place.
    moved = (((slashes << _ONE) | _ODD_BITS) - slashes) ^ _ODD_BITS
    escaped, begins = moved ^ slashes, moved & slashes
    ends = (ends & ~escaped) | odd_bytes(place)
    ends |= (escaped & ~plain_escapes(place)) >> _ONE
    ends |= begins & ~(_ALL >> _ONE)  # what this one begins is not here
    count = first_bit(ends)
    if count == 0:
        return count, 0
    return count, 1 if slashes & (_ALL >> np.uint64(BITS - count)) else 0


@njit(cache=True, nogil=True)
def end_of_string(text, at, stop, lenient):  # type: ignore[no-untyped-def]
    """The end of a string whose first character is here, and what is in it; or where and why it is none."""
    flags = 0
    while at < stop:
        if at + BITS <= stop:
            plain, has_escapes = _plain_bytes(text + at)
            flags |= has_escapes
            at += plain
            if plain == BITS:
                continue
        c = byte(text + at)
        if c == _QUOTE:
            return at + 1, flags
        if c == _BACKSLASH:
            flags |= _HAS_ESCAPES
            if at + 1 >= stop:
                return stop, ENDS_EARLY
            kind = byte(text + at + 1)
            if kind == _U:
                code = _hex4(text, at + 2, stop)
                if code < 0:
                    return at, UNEXPECTED
                at += 6
                if 0xD800 <= code < 0xDC00:
                    low = -1
                    if (
                        at + 1 < stop
                        and byte(text + at) == _BACKSLASH
                        and byte(text + at + 1) == _U
                    ):
                        low = _hex4(text, at + 2, stop)
                    if 0xDC00 <= low < 0xE000:
                        at += 6
                    else:
                        flags |= _HAS_HALVES
                elif 0xDC00 <= code < 0xE000:
                    flags |= _HAS_HALVES
            elif kind in (_QUOTE, _BACKSLASH, 47, 98, 102, 110, 114, 116):  # / b f n r t
                at += 2
            else:
                return at, UNEXPECTED
        elif c < _SPACE:
            return at, UNEXPECTED
        elif c < 0x80:
            at += 1
        else:
            size = _utf8_size(text, at, stop)
            if size > 0:
                at += size
            elif lenient:
                flags |= _HAS_HALVES
                at += 1
            elif size < 0:
                flags |= _HAS_HALVES
                at += 3
            else:
                return at, NOT_UTF8
    return stop, ENDS_EARLY


@njit(cache=True, nogil=True)
def _past_digits(text, at, stop):  # type: ignore[no-untyped-def]
    while at < stop and _ZERO <= byte(text + at) <= _NINE:
        at += 1
    return at


@njit(cache=True, nogil=True)
def _number(text, at, stop):  # type: ignore[no-untyped-def]
    if byte(text + at) == _MINUS:
        at += 1
        if at < stop and byte(text + at) == 73:  # I
            return _word(text, at, stop, b"Infinity", MINUS_INFINITY)
    first = at
    at = _past_digits(text, at, stop)
    if at == first:
        return at, UNEXPECTED if at < stop else ENDS_EARLY
    if byte(text + first) == _ZERO:
        at = first + 1
    kind = WHOLE
    if at + 1 < stop and byte(text + at) == _POINT and _ZERO <= byte(text + at + 1) <= _NINE:
        digits = at - first
        at = _past_digits(text, at + 1, stop)
        kind = FRACTION
    else:
        digits = at - first
    if at + 1 < stop and byte(text + at) in (69, 101):  # E e
        power = at + 1
        if byte(text + power) in (_PLUS, _MINUS):
            power += 1
        end = _past_digits(text, power, stop)
        if end > power:
            at = end
            kind = FRACTION
    if kind == WHOLE and digits > MOST_DIGITS:
        return first, LONG_NUMBER
    return at, kind


@njit(cache=True, nogil=True)
def _word(text, at, stop, word, kind):  # type: ignore[no-untyped-def]
    for place in range(len(word)):
        if at + place >= stop:
            return stop, ENDS_EARLY
        if byte(text + at + place) != word[place]:
            return at, UNEXPECTED
    return at + len(word), kind


@njit(cache=True, nogil=True)
def end_of_scalar(text, at, stop, lenient):  # type: ignore[no-untyped-def]
    """The end of a value that has no parts, and its kind; or where and why it is none."""
    c = byte(text + at)
    if c == _QUOTE:
        end, flags = end_of_string(text, at + 1, stop, lenient)
        if flags < 0:
            return end, flags
        if flags & _HAS_HALVES:
            return end, BROKEN
        return end, ESCAPED if flags & _HAS_ESCAPES else TEXT
    if c == _MINUS or _ZERO <= c <= _NINE:
        return _number(text, at, stop)
    if c == 116:  # t
        return _word(text, at, stop, b"true", TRUE)
    if c == 102:  # f
        return _word(text, at, stop, b"false", FALSE)
    if c == 110:  # n
        return _word(text, at, stop, b"null", NULL)
    if c == 78:  # N
        return _word(text, at, stop, b"NaN", NAN)
    if c == 73:  # I
        return _word(text, at, stop, b"Infinity", INFINITY)
    return at, UNEXPECTED


@njit(cache=True, nogil=True)
def end_of_key(text, at, stop, lenient):  # type: ignore[no-untyped-def]
    """Where the value of a key begins whose quote should be here, where the key's text ends, and nothing or why not."""
    at = skip_white(text, at, stop)
    if at >= stop:
        return stop, at, ENDS_EARLY
    if byte(text + at) != _QUOTE:
        return at, at, UNEXPECTED
    end, flags = end_of_string(text, at + 1, stop, lenient)
    if flags < 0:
        return end, at, flags
    colon = skip_white(text, end, stop)
    if colon >= stop:
        return stop, end, ENDS_EARLY
    if byte(text + colon) != _COLON:
        return colon, end, UNEXPECTED
    return skip_white(text, colon + 1, stop), end - 1, 0


@njit(cache=True, nogil=True)
def end_of_value(text, at, stop, lenient, levels):  # type: ignore[no-untyped-def]
    """The end of any value that begins here, and its kind; or where and why it is none.

    `levels` is where there is room for the brackets that are open; there is no recursion, so nothing can be nested too deep for the stack.
    """
    depth = 0
    while True:
        if at >= stop:
            return stop, ENDS_EARLY
        c = byte(text + at)
        kind = NESTED
        if c in (_OPEN, _OPEN_LIST):
            close = _CLOSE if c == _OPEN else _CLOSE_LIST
            inner = skip_white(text, at + 1, stop)
            if inner < stop and byte(text + inner) == close:
                at = inner + 1
            else:
                if depth == MOST_LEVELS:
                    return at, TOO_DEEP
                put_byte(levels + depth, close)
                depth += 1
                at = inner
                if close == _CLOSE:
                    at, _, wrong = end_of_key(text, at, stop, lenient)
                    if wrong < 0:
                        return at, wrong
                continue
        else:
            at, kind = end_of_scalar(text, at, stop, lenient)
            if kind < 0:
                return at, kind
        while True:  # a value ends here, and with it perhaps what it is in
            if depth == 0:
                return at, kind
            at = skip_white(text, at, stop)
            if at >= stop:
                return stop, ENDS_EARLY
            c = byte(text + at)
            kind = NESTED
            if c == byte(levels + depth - 1):
                depth -= 1
                at += 1
            elif c == _COMMA:
                if byte(levels + depth - 1) == _CLOSE:
                    at, _, wrong = end_of_key(text, at + 1, stop, lenient)
                    if wrong < 0:
                        return at, wrong
                else:
                    at = skip_white(text, at + 1, stop)
                break
            else:
                return at, UNEXPECTED


@njit(cache=True, nogil=True)
def character(text, at):  # type: ignore[no-untyped-def]
    """A character of a string that was checked, and where the next one is; -1 for half of one."""
    c = byte(text + at)
    if c == _BACKSLASH:
        kind = byte(text + at + 1)
        if kind != _U:
            plain = (98, 8), (102, 12), (110, 10), (114, 13), (116, 9)  # b f n r t
            for letter, meaning in plain:
                if kind == letter:
                    return meaning, at + 2
            return np.int64(kind), at + 2
        code = _hex4(text, at + 2, at + 6)
        if code < 0xD800 or code >= 0xE000:
            return code, at + 6
        if code < 0xDC00 and byte(text + at + 6) == _BACKSLASH and byte(text + at + 7) == _U:
            low = _hex4(text, at + 8, at + 12)
            if 0xDC00 <= low < 0xE000:
                return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), at + 12
        return -1, at + 6
    if c < 0x80:
        return np.int64(c), at + 1
    size = _utf8_size(text, at, at + 4)
    if size <= 0:
        return -1, at + 1
    code = np.int64(c) & (0x7F >> size)
    for place in range(at + 1, at + size):
        code = (code << 6) | (byte(text + place) & 0x3F)
    return code, at + size


@njit(cache=True, nogil=True)
def hash_of(text, at, stop):  # type: ignore[no-untyped-def]
    """A number made of some bytes."""
    size = stop - at
    code = np.uint64(size)
    if size >= 8:
        if size >= 64:  # two at a time, as one has to wait for what became of the one before
            other = _MIX
            while at + 16 <= stop:
                code = (code ^ word(text + at)) * _MIX
                other = (other ^ word(text + at + 8)) * _MIX
                code ^= code >> np.uint64(29)
                other ^= other >> np.uint64(29)
                at += 16
            code ^= other * _MIX
        while at + 8 <= stop:
            code = (code ^ word(text + at)) * _MIX
            code ^= code >> np.uint64(29)
            at += 8
        rest = word(text + stop - 8)
    else:
        rest = np.uint64(0)
        while at < stop:
            rest = (rest << np.uint64(8)) | np.uint64(byte(text + at))
            at += 1
    code = (code ^ rest) * _MIX
    return code ^ (code >> np.uint64(32))


@njit(cache=True, nogil=True)
def are_same(text, at, stop, other):  # type: ignore[no-untyped-def]
    """Whether the bytes from `at` to `stop` are those at another place in memory."""
    moved = other - at
    if stop - at >= 8:
        while at + 8 <= stop:
            if word(text + at) != word(moved + at):
                return False
            at += 8
        return word(text + stop - 8) == word(moved + stop - 8)
    while at < stop:
        if byte(text + at) != byte(moved + at):
            return False
        at += 1
    return True


@njit(cache=True, nogil=True)
def scan_one(text, at, stop, levels):  # type: ignore[no-untyped-def]
    """The end of one value that begins at a place, and its kind or what is wrong there."""
    return end_of_value(text, skip_white(text, at, stop), stop, False, levels)
