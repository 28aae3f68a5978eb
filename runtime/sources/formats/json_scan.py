"""JSON text is read once, without an object for any value in it: what stands where, by row and declared column.

A kernel walks the bytes, checks them against the grammar that Python's `json` takes (NaN and Infinity too) and notes for each
*entry* of each row (a declared column, or an object on the way to one) what kind of value there is and where its text begins and
ends. Values of keys that nobody declared are walked over. How large, how deep or how odd a text is changes neither the memory it takes nor, by the byte, the time.

    [{"ts": 5, "Name": "ab"}, {"ts": null}]      ts: WHOLE 7..8, NULL      name: TEXT 19..21, NULL

Of a key that comes twice the last value counts, of two spellings of a column the exact one, and else the first.
"""

from __future__ import annotations

import numpy as np

from cqc.runtime.kernel import njit

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
_DOTTED_I = 0x130  # the one letter that becomes two in lower case


@njit(cache=True, nogil=True)
def _past_white(data, at, stop):  # type: ignore[no-untyped-def]
    while at < stop and data[at] in (_SPACE, _NEWLINE, _RETURN, _TAB):
        at += 1
    return at


@njit(cache=True, nogil=True)
def _hex4(data, at, stop):  # type: ignore[no-untyped-def]
    """The number that four hexadecimal digits are, or -1."""
    if at + 4 > stop:
        return -1
    code = 0
    for place in range(at, at + 4):
        c = data[place]
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
def _goes_on(data, at, stop, low, high):  # type: ignore[no-untyped-def]
    return at < stop and low <= data[at] <= high


@njit(cache=True, nogil=True)
def _utf8_size(data, at, stop):  # type: ignore[no-untyped-def]
    """How many bytes the character beyond ASCII has that begins here; 0 for none, -3 for half a surrogate pair."""
    c = data[at]
    if c < 0xC2 or c > 0xF4:
        return 0
    if c < 0xE0:
        return 2 if _goes_on(data, at + 1, stop, 0x80, 0xBF) else 0
    if c < 0xF0:
        if not _goes_on(data, at + 2, stop, 0x80, 0xBF):
            return 0
        if not _goes_on(data, at + 1, stop, 0xA0 if c == 0xE0 else 0x80, 0xBF):
            return 0
        return -3 if c == 0xED and data[at + 1] >= 0xA0 else 3
    low, high = 0x90 if c == 0xF0 else 0x80, 0x8F if c == 0xF4 else 0xBF
    if not _goes_on(data, at + 1, stop, low, high):
        return 0
    if not _goes_on(data, at + 2, stop, 0x80, 0xBF):
        return 0
    return 4 if _goes_on(data, at + 3, stop, 0x80, 0xBF) else 0


@njit(cache=True, nogil=True)
def _is_utf8(data, at, stop):  # type: ignore[no-untyped-def]
    while at < stop:
        size = 1 if data[at] < 0x80 else _utf8_size(data, at, stop)
        if size <= 0:
            return False
        at += size
    return True


@njit(cache=True, nogil=True)
def are_utf8(data, starts, ends, fits):  # type: ignore[no-untyped-def]
    """Which of some stretches are UTF-8."""
    for row in range(len(starts)):
        fits[row] = _is_utf8(data, starts[row], ends[row])


@njit(cache=True, nogil=True)
def _string(data, at, stop, lenient):  # type: ignore[no-untyped-def]
    """The end of a string whose first character is here, and what is in it; or where and why it is none."""
    flags = 0
    while at < stop:
        c = data[at]
        if c == _QUOTE:
            return at + 1, flags
        if c == _BACKSLASH:
            flags |= _HAS_ESCAPES
            if at + 1 >= stop:
                return stop, ENDS_EARLY
            kind = data[at + 1]
            if kind == _U:
                code = _hex4(data, at + 2, stop)
                if code < 0:
                    return at, UNEXPECTED
                at += 6
                if 0xD800 <= code < 0xDC00:
                    low = -1
                    if at + 1 < stop and data[at] == _BACKSLASH and data[at + 1] == _U:
                        low = _hex4(data, at + 2, stop)
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
            size = _utf8_size(data, at, stop)
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
def _past_digits(data, at, stop):  # type: ignore[no-untyped-def]
    while at < stop and _ZERO <= data[at] <= _NINE:
        at += 1
    return at


@njit(cache=True, nogil=True)
def _number(data, at, stop):  # type: ignore[no-untyped-def]
    if data[at] == _MINUS:
        at += 1
        if at < stop and data[at] == 73:  # I
            return _word(data, at, stop, b"Infinity", MINUS_INFINITY)
    first = at
    at = _past_digits(data, at, stop)
    if at == first:
        return at, UNEXPECTED if at < stop else ENDS_EARLY
    if data[first] == _ZERO:
        at = first + 1
    kind = WHOLE
    if at + 1 < stop and data[at] == _POINT and _ZERO <= data[at + 1] <= _NINE:
        digits = at - first
        at = _past_digits(data, at + 1, stop)
        kind = FRACTION
    else:
        digits = at - first
    if at + 1 < stop and data[at] in (69, 101):  # E e
        power = at + 1
        if data[power] in (_PLUS, _MINUS):
            power += 1
        end = _past_digits(data, power, stop)
        if end > power:
            at = end
            kind = FRACTION
    if kind == WHOLE and digits > MOST_DIGITS:
        return first, LONG_NUMBER
    return at, kind


@njit(cache=True, nogil=True)
def _word(data, at, stop, word, kind):  # type: ignore[no-untyped-def]
    for place in range(len(word)):
        if at + place >= stop:
            return stop, ENDS_EARLY
        if data[at + place] != word[place]:
            return at, UNEXPECTED
    return at + len(word), kind


@njit(cache=True, nogil=True)
def _scalar(data, at, stop, lenient):  # type: ignore[no-untyped-def]
    """The end of a value that has no parts, and its kind; or where and why it is none."""
    c = data[at]
    if c == _QUOTE:
        end, flags = _string(data, at + 1, stop, lenient)
        if flags < 0:
            return end, flags
        if flags & _HAS_HALVES:
            return end, BROKEN
        return end, ESCAPED if flags & _HAS_ESCAPES else TEXT
    if c == _MINUS or _ZERO <= c <= _NINE:
        return _number(data, at, stop)
    if c == 116:  # t
        return _word(data, at, stop, b"true", TRUE)
    if c == 102:  # f
        return _word(data, at, stop, b"false", FALSE)
    if c == 110:  # n
        return _word(data, at, stop, b"null", NULL)
    if c == 78:  # N
        return _word(data, at, stop, b"NaN", NAN)
    if c == 73:  # I
        return _word(data, at, stop, b"Infinity", INFINITY)
    return at, UNEXPECTED


@njit(cache=True, nogil=True)
def _key(data, at, stop, lenient):  # type: ignore[no-untyped-def]
    """Where the value of a key begins whose quote should be here, where the key's text ends, and nothing or why not."""
    at = _past_white(data, at, stop)
    if at >= stop:
        return stop, at, ENDS_EARLY
    if data[at] != _QUOTE:
        return at, at, UNEXPECTED
    end, flags = _string(data, at + 1, stop, lenient)
    if flags < 0:
        return end, at, flags
    colon = _past_white(data, end, stop)
    if colon >= stop:
        return stop, end, ENDS_EARLY
    if data[colon] != _COLON:
        return colon, end, UNEXPECTED
    return _past_white(data, colon + 1, stop), end - 1, 0


@njit(cache=True, nogil=True)
def _value(data, at, stop, lenient, levels):  # type: ignore[no-untyped-def]
    """The end of any value that begins here, and its kind; or where and why it is none.

    `levels` is room for the brackets that are open; there is no recursion, so nothing can be nested too deep for the stack.
    """
    depth = 0
    while True:
        if at >= stop:
            return stop, ENDS_EARLY
        c = data[at]
        kind = NESTED
        if c in (_OPEN, _OPEN_LIST):
            close = _CLOSE if c == _OPEN else _CLOSE_LIST
            inner = _past_white(data, at + 1, stop)
            if inner < stop and data[inner] == close:
                at = inner + 1
            else:
                if depth == len(levels):
                    return at, TOO_DEEP
                levels[depth] = close
                depth += 1
                at = inner
                if close == _CLOSE:
                    at, _, wrong = _key(data, at, stop, lenient)
                    if wrong < 0:
                        return at, wrong
                continue
        else:
            at, kind = _scalar(data, at, stop, lenient)
            if kind < 0:
                return at, kind
        while True:  # a value ends here, and with it perhaps what it is in
            if depth == 0:
                return at, kind
            at = _past_white(data, at, stop)
            if at >= stop:
                return stop, ENDS_EARLY
            c = data[at]
            kind = NESTED
            if c == levels[depth - 1]:
                depth -= 1
                at += 1
            elif c == _COMMA:
                if levels[depth - 1] == _CLOSE:
                    at, _, wrong = _key(data, at + 1, stop, lenient)
                    if wrong < 0:
                        return at, wrong
                else:
                    at = _past_white(data, at + 1, stop)
                break
            else:
                return at, UNEXPECTED


@njit(cache=True, nogil=True)
def _character(data, at):  # type: ignore[no-untyped-def]
    """A character of a string that was checked, and where the next one is; -1 for half of one."""
    c = data[at]
    if c == _BACKSLASH:
        kind = data[at + 1]
        if kind != _U:
            plain = (98, 8), (102, 12), (110, 10), (114, 13), (116, 9)  # b f n r t
            for letter, meaning in plain:
                if kind == letter:
                    return meaning, at + 2
            return np.int64(kind), at + 2
        code = _hex4(data, at + 2, at + 6)
        if code < 0xD800 or code >= 0xE000:
            return code, at + 6
        if code < 0xDC00 and data[at + 6] == _BACKSLASH and data[at + 7] == _U:
            low = _hex4(data, at + 8, at + 12)
            if 0xDC00 <= low < 0xE000:
                return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), at + 12
        return -1, at + 6
    if c < 0x80:
        return np.int64(c), at + 1
    size = _utf8_size(data, at, len(data))
    if size <= 0:
        return -1, at + 1
    code = np.int64(c) & (0x7F >> size)
    for place in range(at + 1, at + size):
        code = (code << 6) | (data[place] & 0x3F)
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
def _entry_of(data, at, stop, node, names, exact, folded):  # type: ignore[no-untyped-def]
    """The entry that a key of a node names or -1, how many characters the key has, and whether it is spelled as declared."""
    slots, letters, letters_at, spelled, spelled_at, lower, parents, _, _ = names
    written = held = 0
    while at < stop:
        code, at = _character(data, at)
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
def _is_key(data, at, stop, exact, count):  # type: ignore[no-untyped-def]
    """Whether a key that came before has just these characters."""
    place = 0
    while at < stop:
        code, at = _character(data, at)
        if place == count or exact[place] != code:
            return False
        place += 1
    return place == count


@njit(cache=True, nogil=True)
def _chosen(data, entry, key, key_end, count, is_exact, room):  # type: ignore[no-untyped-def]
    """Whether the value of a key is the one that counts for its entry, as far as the row was read."""
    exact, chosen, seen = room[1], room[3], room[5]
    if chosen[entry, 0] >= 0 and not is_exact:
        if chosen[entry, 2] == 1:
            return False
        return _is_key(data, chosen[entry, 0], chosen[entry, 1], exact, count)
    chosen[entry, 0] = key
    chosen[entry, 1] = key_end
    chosen[entry, 2] = 1 if is_exact else 0
    seen[entry] = 1
    return True


@njit(cache=True, nogil=True)
def _row(data, at, stop, lenient, names, room, kinds, starts, ends):  # type: ignore[no-untyped-def]
    """Read an object whose brace is here into a row of the outputs; its end, and nothing or why it is none.

    Objects on the way to a column are read as the row itself is: `opened` has their entries, `node` is the one it is in.
    """
    levels, exact, folded, chosen, opened, _ = room
    parents, children, lasts = names[6], names[7], names[8]
    chosen[:, 0] = -1
    node = depth = 0
    at = _past_white(data, at + 1, stop)
    if at < stop and data[at] == _CLOSE:
        return at + 1, 0
    while True:
        key = _past_white(data, at, stop) + 1
        at, key_end, wrong = _key(data, at, stop, lenient)
        if wrong < 0:
            return at, wrong
        entry, count, is_exact = _entry_of(data, key, key_end, node, names, exact, folded)
        counts = entry >= 0 and _chosen(data, entry, key, key_end, count, is_exact, room)
        if counts:
            for below in range(entry + 1, lasts[entry]):  # what an earlier object of this key held
                kinds[below] = NULL
                chosen[below, 0] = -1
        start = at
        if counts and children[entry] >= 0 and at < stop and data[at] == _OPEN:
            kinds[entry] = NESTED
            starts[entry] = start
            at = _past_white(data, at + 1, stop)
            if at >= stop or data[at] != _CLOSE:
                opened[depth] = entry
                depth += 1
                node = children[entry]
                continue
            at += 1
            ends[entry] = at
        else:
            at, kind = _value(data, at, stop, lenient, levels)
            if kind < 0:
                return at, kind
            if counts:
                kinds[entry] = kind
                is_text = kind in (TEXT, ESCAPED)
                starts[entry] = start + is_text
                ends[entry] = at - is_text
        while True:  # a value ends here, and with it perhaps the object it is in
            at = _past_white(data, at, stop)
            if at >= stop:
                return stop, ENDS_EARLY
            if data[at] == _COMMA:
                at += 1
                break
            if data[at] != _CLOSE:
                return at, UNEXPECTED
            at += 1
            if depth == 0:
                return at, 0
            depth -= 1
            entry = opened[depth]
            ends[entry] = at
            node = parents[entry]


@njit(cache=True, nogil=True)
def scan_array(data, at, names, room, kinds, starts, ends):  # type: ignore[no-untyped-def]
    """Read elements of an array, from the place where one should begin, until the outputs are full.

    Returns:
        where it stopped, how many objects there were, how many elements that are none, and MORE, DONE or what is wrong there.
    """
    stop = len(data)
    rows = others = 0
    while rows + others < len(kinds):
        at = _past_white(data, at, stop)
        if at < stop and data[at] == _OPEN:
            at, wrong = _row(
                data, at, stop, False, names, room, kinds[rows], starts[rows], ends[rows]
            )
            rows += 1
        else:
            at, wrong = _value(data, at, stop, False, room[0])
            others += 1
        if wrong < 0:
            return at, rows, others, wrong
        at = _past_white(data, at, stop)
        if at >= stop:
            return stop, rows, others, ENDS_EARLY
        if data[at] == _CLOSE_LIST:
            return at + 1, rows, others, DONE
        if data[at] != _COMMA:
            return at, rows, others, UNEXPECTED
        at += 1
    return at, rows, others, MORE


@njit(cache=True, nogil=True)
def scan_lines(data, at, names, room, kinds, starts, ends, lines, wrong_lines):  # type: ignore[no-untyped-def]
    """Read lines until the outputs are full or the text ends.

    `lines` becomes where the line of each row begins and ends; `wrong_lines` the same of those that are no row, and the reason.

    Returns:
        where it stopped, how many rows there are, and how many lines that are none.
    """
    rows = read = wrongs = 0
    while at < len(data) and read < len(kinds):
        stop = at
        while stop < len(data) and data[stop] != _NEWLINE:
            stop += 1
        next_line = stop + 1
        at = _past_white(data, at, stop)
        while stop > at and data[stop - 1] in (_SPACE, _RETURN, _TAB):
            stop -= 1
        if at < stop:
            read += 1
            is_object = data[at] == _OPEN
            if is_object:
                end, wrong = _row(
                    data, at, stop, True, names, room, kinds[rows], starts[rows], ends[rows]
                )
            else:
                end, wrong = _value(data, at, stop, True, room[0])
            if wrong < 0 or end < stop or not is_object:
                kinds[rows] = NULL
                wrong_lines[wrongs, 0], wrong_lines[wrongs, 1] = at, stop
                if wrong >= 0:
                    wrong_lines[wrongs, 2] = NOT_JSON_LINE if end < stop else NOT_AN_OBJECT
                else:
                    is_text = _is_utf8(data, at, stop)
                    wrong_lines[wrongs, 2] = NOT_JSON_LINE if is_text else NOT_UTF8_LINE
                wrongs += 1
            else:
                lines[rows, 0], lines[rows, 1] = at, stop
                rows += 1
        at = next_line
    return at, rows, wrongs


@njit(cache=True, nogil=True)
def scan_one(data, at, levels):  # type: ignore[no-untyped-def]
    """The end of one value that begins at a place, and its kind or what is wrong there."""
    return _value(data, _past_white(data, at, len(data)), len(data), False, levels)


@njit(cache=True, nogil=True)
def past_white(data, at):  # type: ignore[no-untyped-def]
    """The first place that is not white space."""
    return _past_white(data, at, len(data))


@njit(cache=True, nogil=True)
def whole_numbers(data, starts, ends, values, fits):  # type: ignore[no-untyped-def]
    """The numbers that WHOLE texts are, and which of them have room in 64 bits."""
    for row in range(len(starts)):
        at = starts[row]
        negative = data[at] == _MINUS
        if negative:
            at += 1
        total = np.uint64(0)
        fits[row] = ends[row] - at <= 19
        if fits[row]:
            for place in range(at, ends[row]):
                total = total * np.uint64(10) + np.uint64(data[place] - _ZERO)
            most = np.uint64(2**63) if negative else np.uint64(2**63 - 1)
            fits[row] = total <= most
        values[row] = 0
        if fits[row]:
            values[row] = -np.int64(total) if negative else np.int64(total)


@njit(cache=True, nogil=True)
def gather_text(data, starts, ends, kinds, offsets, text):  # type: ignore[no-untyped-def]
    """Put the texts of some values behind each other, escapes resolved; of NULL, nothing."""
    size = 0
    for row in range(len(starts)):
        offsets[row] = size
        kind = kinds[row]
        if kind not in (NULL, ESCAPED):
            length = ends[row] - starts[row]
            text[size : size + length] = data[starts[row] : ends[row]]
            size += length
        elif kind == ESCAPED:
            at = starts[row]
            while at < ends[row]:
                code, at = _character(data, at)
                size = _put(text, size, code)
    offsets[len(starts)] = size
    return size


@njit(cache=True, nogil=True)
def _put(text, at, code):  # type: ignore[no-untyped-def]
    """Write a character as UTF-8."""
    if code < 0x80:
        text[at] = code
        return at + 1
    if code < 0x800:
        text[at] = 0xC0 | (code >> 6)
        text[at + 1] = 0x80 | (code & 0x3F)
        return at + 2
    if code < 0x10000:
        text[at] = 0xE0 | (code >> 12)
        text[at + 1] = 0x80 | ((code >> 6) & 0x3F)
        text[at + 2] = 0x80 | (code & 0x3F)
        return at + 3
    text[at] = 0xF0 | (code >> 18)
    text[at + 1] = 0x80 | ((code >> 12) & 0x3F)
    text[at + 2] = 0x80 | ((code >> 6) & 0x3F)
    text[at + 3] = 0x80 | (code & 0x3F)
    return at + 4
