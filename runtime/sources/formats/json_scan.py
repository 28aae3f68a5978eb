"""JSON text is read once, without an object for any value in it: what stands where, by row and declared column.

A kernel walks the bytes, checks them against the grammar that Python's `json` takes (NaN and Infinity too) and notes for each
*entry* of each row (a declared column, or an object on the way to one) what kind of value there is and where its text begins and
ends. The text is given by where it begins in memory (`json_bytes`); places in it are counted from there. Values of keys that nobody
declared are walked over. How large, how deep or how odd a text is changes neither the memory it takes nor, by the byte, the time.

    [{"ts": 5, "Name": "ab"}, {"ts": null}]      ts: WHOLE 7..8, NULL      name: TEXT 19..21, NULL

Of a key that comes twice the last value counts, of two spellings of a column the exact one, and else the first.
"""

from __future__ import annotations

import numpy as np

from cqc.runtime.kernel import njit
from cqc.runtime.sources.formats.json_bytes import (
    AT_ONCE,
    byte,
    bytes_of_line,
    clean_bytes,
    int32_at,
    int64_at,
    put_byte,
    put_int32,
    put_int64,
    word,
)

# The kinds of values. 0 is also what a row holds for a key that is not there.
NULL, FALSE, TRUE, WHOLE, FRACTION, NAN, INFINITY, MINUS_INFINITY, TEXT, ESCAPED = range(10)
BROKEN, NESTED = 10, 11  # text that no column takes; an object or an array

# How a scan ends.
MORE, DONE = 0, 1
UNEXPECTED, ENDS_EARLY, TOO_DEEP, LONG_NUMBER, NOT_UTF8 = -1, -2, -3, -4, -5

# Why a line holds no row.
NOT_JSON_LINE, NOT_UTF8_LINE, NOT_AN_OBJECT = range(3)

MOST_LEVELS = 1_000
MOST_DIGITS = 4_300  # of a whole number; Python takes no more
_HAS_ESCAPES, _HAS_HALVES = 1, 2
_TAB, _NEWLINE, _RETURN, _SPACE = b"\t\n\r "
_QUOTE, _BACKSLASH, _COMMA, _COLON = b'"\\,:'
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = b"{}[]"
_ZERO, _NINE, _MINUS, _PLUS, _POINT, _U = b"09-+.u"
_KNOWN_BYTES = 48  # what is known of a key: six numbers
_MIX = np.uint64(0x9E3779B97F4A7C15)
_DOTTED_I = 0x130  # the one letter that becomes two in lower case


@njit(cache=True, nogil=True)
def _past_white(text, at, stop):  # type: ignore[no-untyped-def]
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
def _string(text, at, stop, lenient):  # type: ignore[no-untyped-def]
    """The end of a string whose first character is here, and what is in it; or where and why it is none."""
    flags = 0
    while at < stop:
        if at + AT_ONCE <= stop:
            clean = clean_bytes(text + at)
            at += clean
            if clean == AT_ONCE:
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
def _scalar(text, at, stop, lenient):  # type: ignore[no-untyped-def]
    """The end of a value that has no parts, and its kind; or where and why it is none."""
    c = byte(text + at)
    if c == _QUOTE:
        end, flags = _string(text, at + 1, stop, lenient)
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
def _key(text, at, stop, lenient):  # type: ignore[no-untyped-def]
    """Where the value of a key begins whose quote should be here, where the key's text ends, and nothing or why not."""
    at = _past_white(text, at, stop)
    if at >= stop:
        return stop, at, ENDS_EARLY
    if byte(text + at) != _QUOTE:
        return at, at, UNEXPECTED
    end, flags = _string(text, at + 1, stop, lenient)
    if flags < 0:
        return end, at, flags
    colon = _past_white(text, end, stop)
    if colon >= stop:
        return stop, end, ENDS_EARLY
    if byte(text + colon) != _COLON:
        return colon, end, UNEXPECTED
    return _past_white(text, colon + 1, stop), end - 1, 0


@njit(cache=True, nogil=True)
def _value(text, at, stop, lenient, levels):  # type: ignore[no-untyped-def]
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
            inner = _past_white(text, at + 1, stop)
            if inner < stop and byte(text + inner) == close:
                at = inner + 1
            else:
                if depth == MOST_LEVELS:
                    return at, TOO_DEEP
                put_byte(levels + depth, close)
                depth += 1
                at = inner
                if close == _CLOSE:
                    at, _, wrong = _key(text, at, stop, lenient)
                    if wrong < 0:
                        return at, wrong
                continue
        else:
            at, kind = _scalar(text, at, stop, lenient)
            if kind < 0:
                return at, kind
        while True:  # a value ends here, and with it perhaps what it is in
            if depth == 0:
                return at, kind
            at = _past_white(text, at, stop)
            if at >= stop:
                return stop, ENDS_EARLY
            c = byte(text + at)
            kind = NESTED
            if c == byte(levels + depth - 1):
                depth -= 1
                at += 1
            elif c == _COMMA:
                if byte(levels + depth - 1) == _CLOSE:
                    at, _, wrong = _key(text, at + 1, stop, lenient)
                    if wrong < 0:
                        return at, wrong
                else:
                    at = _past_white(text, at + 1, stop)
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
def _mix(code, letter):  # type: ignore[no-untyped-def]
    return ((code ^ letter) * 16_777_619) & 0xFFFFFFFF


@njit(cache=True, nogil=True)
def slot_of(node, letters, count):  # type: ignore[no-untyped-def]
    """What the object that a key is in, and the key's first `count` folded characters, make a number of."""
    code = _mix(2_166_136_261, np.int64(node))
    for place in range(count):
        code = _mix(code, np.int64(letters[place]))
    return code


@njit(cache=True, nogil=True)
def _same(letters, count, others, start, stop):  # type: ignore[no-untyped-def]
    if count != stop - start:
        return False
    place = 0
    while place < count and letters[place] == others[start + place]:
        place += 1
    return place == count


@njit(cache=True, nogil=True)
def _entry_of(text, at, stop, node, names, exact, folded):  # type: ignore[no-untyped-def]
    """The entry that a key of a node names or -1, how many characters the key has, and whether it is spelled as declared."""
    slots, letters, letters_at, spelled, spelled_at, lower, parents, _, _ = names
    written = held = 0
    while at < stop:
        code, at = character(text, at)
        if code < 0 or written == len(exact) or held + 2 > len(folded):
            return -1, 0, False  # longer than any name, or no text
        exact[written] = code
        written += 1
        if code == _DOTTED_I:
            folded[held], folded[held + 1] = 105, 0x307
            held += 2
        else:
            folded[held] = lower[code] if code < len(lower) else code
            held += 1
    slot = slot_of(node, folded, held) & (len(slots) - 1)
    while slots[slot] >= 0:
        entry = slots[slot]
        is_here = parents[entry] == node
        if is_here and _same(folded, held, letters, letters_at[entry], letters_at[entry + 1]):
            is_exact = _same(exact, written, spelled, spelled_at[entry], spelled_at[entry + 1])
            return entry, written, is_exact
        slot = (slot + 1) & (len(slots) - 1)
    return -1, 0, False


@njit(cache=True, nogil=True)
def hash_of(text, at, stop):  # type: ignore[no-untyped-def]
    """A number made of some bytes."""
    code = np.uint64(stop - at)
    while at + 8 <= stop:
        code = (code ^ word(text + at)) * _MIX
        code ^= code >> np.uint64(29)
        at += 8
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
    while at + 8 <= stop:
        if word(text + at) != word(moved + at):
            return False
        at += 8
    while at < stop:
        if byte(text + at) != byte(moved + at):
            return False
        at += 1
    return True


@njit(cache=True, nogil=True)
def _known_entry(text, key, key_end, node, names, room):  # type: ignore[no-untyped-def]
    """What `_entry_of` says of a key, but for its length; of one that was seen before, without reading it letter by letter."""
    slots, known, texts, counts = room[6]
    keys, size = room[7][3], key_end - key
    at = np.int64(hash_of(text, key, key_end) & np.uint64(len(slots) - 1))
    at = (at + node) & (len(slots) - 1)
    while slots[at] >= 0:
        found = slots[at]
        is_here = known[found, 0] == node and known[found, 1] == size
        if is_here and are_same(text, key, key_end, keys + known[found, 2]):
            return known[found, 3], known[found, 4] == 1
        at = (at + 1) & (len(slots) - 1)
    entry, _, is_exact = _entry_of(text, key, key_end, node, names, room[1], room[2])
    new, start = counts[0], counts[1]
    if new < len(known) and start + size <= len(texts):
        slots[at] = new
        known[new, 0], known[new, 1], known[new, 2] = node, size, start
        known[new, 3], known[new, 4] = entry, 1 if is_exact else 0
        known[new, 5] = names[7][entry] if entry >= 0 else -1
        for place in range(size):
            texts[start + place] = byte(text + key + place)
        counts[0], counts[1] = new + 1, start + size
    return entry, is_exact


@njit(cache=True, nogil=True)
def _is_key(text, at, stop, exact, count):  # type: ignore[no-untyped-def]
    """Whether a key that came before has just these characters."""
    place = 0
    while at < stop:
        code, at = character(text, at)
        if place == count or exact[place] != code:
            return False
        place += 1
    return place == count


@njit(cache=True, nogil=True)
def _chosen(text, begin, entry, key, key_end, node, is_exact, names, room):  # type: ignore[no-untyped-def]
    """Whether the value of a key is the one that counts for its entry, as far as the row that begins at `begin` was read."""
    chosen, seen = room[3], room[5]
    if chosen[entry, 0] >= begin and not is_exact:
        if chosen[entry, 2] == 1:
            return False
        _, count, _ = _entry_of(text, key, key_end, node, names, room[1], room[2])
        return _is_key(text, chosen[entry, 0], chosen[entry, 1], room[1], count)
    chosen[entry, 0] = key
    chosen[entry, 1] = key_end
    chosen[entry, 2] = 1 if is_exact else 0
    seen[entry] = 1
    return True


@njit(cache=True, nogil=True)
def _row(text, at, stop, lenient, names, room, kinds, starts, ends):  # type: ignore[no-untyped-def]
    """Read an object whose brace is here into a row of the outputs; its end, and nothing or why it is none.

    Objects on the way to a column are read as the row itself is: `opened` has their entries, `node` is the one it is in.
    """
    levels, chosen, opened = room[7][4], room[3], room[4]
    parents, children, lasts = names[6], names[7], names[8]
    begin = at  # a key chosen before is of another row
    node = depth = 0
    at = _past_white(text, at + 1, stop)
    if at < stop and byte(text + at) == _CLOSE:
        return at + 1, 0
    while True:
        key = _past_white(text, at, stop) + 1
        at, key_end, wrong = _key(text, at, stop, lenient)
        if wrong < 0:
            return at, wrong
        entry, is_exact = _known_entry(text, key, key_end, node, names, room)
        counts = entry >= 0 and _chosen(
            text, begin, entry, key, key_end, node, is_exact, names, room
        )
        if counts:
            for below in range(entry + 1, lasts[entry]):  # what an earlier object of this key held
                kinds[below] = NULL
                chosen[below, 0] = -1
        start = at
        if counts and children[entry] >= 0 and at < stop and byte(text + at) == _OPEN:
            kinds[entry] = NESTED
            starts[entry] = start
            at = _past_white(text, at + 1, stop)
            if at >= stop or byte(text + at) != _CLOSE:
                opened[depth] = entry
                depth += 1
                node = children[entry]
                continue
            at += 1
            ends[entry] = at
        else:
            if at < stop and byte(text + at) == _QUOTE:
                at, kind = _scalar(text, at, stop, lenient)
            else:
                at, kind = _value(text, at, stop, lenient, levels)
            if kind < 0:
                return at, kind
            if counts:
                kinds[entry] = kind
                is_text = kind in (TEXT, ESCAPED)
                starts[entry] = start + is_text
                ends[entry] = at - is_text
        while True:  # a value ends here, and with it perhaps the object it is in
            at = _past_white(text, at, stop)
            if at >= stop:
                return stop, ENDS_EARLY
            if byte(text + at) == _COMMA:
                at += 1
                break
            if byte(text + at) != _CLOSE:
                return at, UNEXPECTED
            at += 1
            if depth == 0:
                return at, 0
            depth -= 1
            entry = opened[depth]
            ends[entry] = at
            node = parents[entry]


@njit(cache=True, nogil=True)
def _known(text, key, key_end, node, places):  # type: ignore[no-untyped-def]
    """Where what is known of a key of an object is; 0 for a key that was not seen before."""
    slots, mask, known, keys = places[0], places[1], places[2], places[3]
    size = key_end - key
    slot = (np.int64(hash_of(text, key, key_end) & np.uint64(mask)) + node) & mask
    while True:
        number = int32_at(slots + 4 * slot)
        if number < 0:
            return np.int64(0)
        found = known + _KNOWN_BYTES * number
        is_here = int64_at(found) == node and int64_at(found + 8) == size
        if is_here and are_same(text, key, key_end, keys + int64_at(found + 16)):
            return found
        slot = (slot + 1) & mask


@njit(cache=True, nogil=True)
def _usual_row(text, begin, stop, lenient, places, row):  # type: ignore[no-untyped-def]
    """Read an object whose brace is here, if all its keys were seen before and none of them twice in it: what `_row` does for any.

    Everything is a number here: where tables and outputs are in memory. So a key costs no more than a look at its bytes.

    Returns:
        where it ends, or -1: then it must be read by `_row`, and something may be written in its place.
    """
    levels, opened, seen, stamps = places[4], places[5], places[6], places[7]
    kinds, starts, ends, stride = places[8], places[9], places[10], places[11]
    node = np.int64(0)
    depth = 0
    at = begin + 1
    while True:
        at = _past_white(text, at, stop)
        if at + 2 > stop or byte(text + at) != _QUOTE:
            return -1  # an empty object, too
        key = at + 1
        key_end, flags = _string(text, key, stop, lenient)
        if flags < 0:
            return -1
        at = _past_white(text, key_end, stop)
        if at >= stop or byte(text + at) != _COLON:
            return -1
        at = _past_white(text, at + 1, stop)
        found = _known(text, key, key_end - 1, node, places)
        if found == 0 or at >= stop:
            return -1
        entry, child = int64_at(found + 24), int64_at(found + 40)
        if entry >= 0:
            if int64_at(stamps + 8 * entry) == begin:
                return -1
            put_int64(stamps + 8 * entry, begin)
            put_byte(seen + entry, 1)
        place = entry * stride + row
        c = byte(text + at)
        if child >= 0 and c == _OPEN:
            put_byte(kinds + place, NESTED)
            put_int32(starts + 4 * place, at)
            put_int64(opened + 16 * depth, entry)
            put_int64(opened + 16 * depth + 8, node)
            depth += 1
            node = child
            at += 1
            continue
        start = at
        if c in (_OPEN, _OPEN_LIST):
            at, kind = _value(text, at, stop, lenient, levels)
        else:
            at, kind = _scalar(text, at, stop, lenient)
        if kind < 0:
            return -1
        if entry >= 0:
            is_text = 1 if kind in (TEXT, ESCAPED) else 0
            put_byte(kinds + place, kind)
            put_int32(starts + 4 * place, start + is_text)
            put_int32(ends + 4 * place, at - is_text)
        while True:  # a value ends here, and with it perhaps the object it is in
            at = _past_white(text, at, stop)
            if at >= stop:
                return -1
            c = byte(text + at)
            at += 1
            if c == _COMMA:
                break
            if c != _CLOSE:
                return -1
            if depth == 0:
                return at
            depth -= 1
            entry = int64_at(opened + 16 * depth)
            node = int64_at(opened + 16 * depth + 8)
            put_int32(ends + 4 * (entry * stride + row), at)


@njit(cache=True, nogil=True)
def _any_row(text, at, stop, lenient, names, room, row, kinds, starts, ends):  # type: ignore[no-untyped-def]
    """Read an object that `_usual_row` does not take."""
    kinds[:, row] = NULL
    return _row(text, at, stop, lenient, names, room, kinds[:, row], starts[:, row], ends[:, row])


@njit(cache=True, nogil=True)
def _begin_scan(room, kinds, starts, ends):  # type: ignore[no-untyped-def]
    """Forget the keys of other rows; the places that `_usual_row` needs."""
    room[3][:, 0] = -1
    room[8][:] = -1
    outputs = (
        np.int64(kinds.ctypes.data),
        np.int64(starts.ctypes.data),
        np.int64(ends.ctypes.data),
        np.int64(kinds.shape[1]),
    )
    return room[7] + outputs


@njit(cache=True, nogil=True)
def scan_array(text, at, stop, names, room, kinds, starts, ends):  # type: ignore[no-untyped-def]
    """Read elements of an array, from the place where one should begin, until the outputs are full.

    Returns:
        where it stopped, how many objects there were, how many elements that are none, and MORE, DONE or what is wrong there.
    """
    rows = others = 0
    places = _begin_scan(room, kinds, starts, ends)
    while rows + others < kinds.shape[1]:
        at = _past_white(text, at, stop)
        if at < stop and byte(text + at) == _OPEN:
            last, wrong = _usual_row(text, at, stop, False, places, rows), 0
            if last < 0:
                last, wrong = _any_row(
                    text, at, stop, False, names, room, rows, kinds, starts, ends
                )
            at = last
            rows += 1
        else:
            at, wrong = _value(text, at, stop, False, room[7][4])
            others += 1
        if wrong < 0:
            return at, rows, others, wrong
        at = _past_white(text, at, stop)
        if at >= stop:
            return stop, rows, others, ENDS_EARLY
        if byte(text + at) == _CLOSE_LIST:
            return at + 1, rows, others, DONE
        if byte(text + at) != _COMMA:
            return at, rows, others, UNEXPECTED
        at += 1
    return at, rows, others, MORE


@njit(cache=True, nogil=True)
def _end_of_line(text, at, end):  # type: ignore[no-untyped-def]
    while at + AT_ONCE <= end:
        before = bytes_of_line(text + at)
        at += before
        if before < AT_ONCE:
            return at
    while at < end and byte(text + at) != _NEWLINE:
        at += 1
    return at


@njit(cache=True, nogil=True)
def scan_lines(text, at, end, names, room, kinds, starts, ends, lines, wrong_lines):  # type: ignore[no-untyped-def]
    """Read lines until the outputs are full or the text ends.

    `lines` becomes where the line of each row begins and ends; `wrong_lines` the same of those that are no row, and the reason.

    Returns:
        where it stopped, how many rows there are, and how many lines that are none.
    """
    rows = read = wrongs = 0
    places = _begin_scan(room, kinds, starts, ends)
    while at < end and read < kinds.shape[1]:
        stop = _end_of_line(text, at, end)
        next_line = stop + 1
        at = _past_white(text, at, stop)
        while stop > at and byte(text + stop - 1) in (_SPACE, _RETURN, _TAB):
            stop -= 1
        if at < stop:
            read += 1
            is_object = byte(text + at) == _OPEN
            if is_object:
                last, wrong = _usual_row(text, at, stop, True, places, rows), 0
                if last < 0:
                    last, wrong = _any_row(
                        text, at, stop, True, names, room, rows, kinds, starts, ends
                    )
            else:
                last, wrong = _value(text, at, stop, True, room[7][4])
            if wrong < 0 or last < stop or not is_object:
                kinds[:, rows] = NULL
                wrong_lines[wrongs, 0], wrong_lines[wrongs, 1] = at, stop
                if wrong >= 0:
                    wrong_lines[wrongs, 2] = NOT_JSON_LINE if last < stop else NOT_AN_OBJECT
                else:
                    is_text = is_utf8(text, at, stop)
                    wrong_lines[wrongs, 2] = NOT_JSON_LINE if is_text else NOT_UTF8_LINE
                wrongs += 1
            else:
                lines[rows, 0], lines[rows, 1] = at, stop
                rows += 1
        at = next_line
    return at, rows, wrongs


@njit(cache=True, nogil=True)
def scan_one(text, at, stop, levels):  # type: ignore[no-untyped-def]
    """The end of one value that begins at a place, and its kind or what is wrong there."""
    return _value(text, _past_white(text, at, stop), stop, False, levels)


@njit(cache=True, nogil=True)
def past_white(text, at, stop):  # type: ignore[no-untyped-def]
    """The first place that is not white space."""
    return _past_white(text, at, stop)
