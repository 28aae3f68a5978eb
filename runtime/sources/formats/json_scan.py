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
    int32_at,
    int64_at,
    put_byte,
    put_int32,
    put_int64,
    word,
)
from cqc.runtime.sources.formats.json_values import (
    DONE,
    ENDS_EARLY,
    ESCAPED,
    MORE,
    NESTED,
    NULL,
    TEXT,
    UNEXPECTED,
    are_same,
    character,
    end_of_key,
    end_of_scalar,
    end_of_string,
    end_of_value,
    hash_of,
    is_utf8,
    skip_white,
)

# Why a line holds no row.
NOT_JSON_LINE, NOT_UTF8_LINE, NOT_AN_OBJECT = range(3)

_NEWLINE, _RETURN, _TAB, _SPACE = b"\n\r\t "
_QUOTE, _COMMA, _COLON = b'",:'
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = b"{}[]"
_KNOWN_BYTES = 64  # what is known of a key: eight numbers
_NEXT = 48  # where among them the key is that came behind it last
_UNREAD = 56  # and whether it is text that nobody reads
_DOTTED_I = 0x130  # the one letter that becomes two in lower case


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
    if new < len(known) and start + size + 8 <= len(texts):
        slots[at] = new
        known[new, 0], known[new, 1], known[new, 2] = node, size, start
        known[new, 3], known[new, 4] = entry, 1 if is_exact else 0
        known[new, 5] = names[7][entry] if entry >= 0 else -1
        known[new, 6] = 0
        known[new, 7] = room[9][entry] if entry >= 0 else 0
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
    at = skip_white(text, at + 1, stop)
    if at < stop and byte(text + at) == _CLOSE:
        return at + 1, 0
    while True:
        key = skip_white(text, at, stop) + 1
        at, key_end, wrong = end_of_key(text, at, stop, lenient)
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
            at = skip_white(text, at + 1, stop)
            if at >= stop or byte(text + at) != _CLOSE:
                opened[depth] = entry
                depth += 1
                node = children[entry]
                continue
            at += 1
            ends[entry] = at
        else:
            if at < stop and byte(text + at) == _QUOTE:
                at, kind = end_of_scalar(text, at, stop, lenient)
            else:
                at, kind = end_of_value(text, at, stop, lenient, levels)
            if kind < 0:
                return at, kind
            if counts:
                kinds[entry] = kind
                is_text = kind in (TEXT, ESCAPED)
                starts[entry] = start + is_text
                ends[entry] = at - is_text
        while True:  # a value ends here, and with it perhaps the object it is in
            at = skip_white(text, at, stop)
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
def _skip_white(text, at, stop, in_line):  # type: ignore[no-untyped-def]
    """Where white space ends; `in_line`: the end of a line ends it, too."""
    while at < stop:
        c = byte(text + at)
        if c > _SPACE or not (c in (_SPACE, _TAB, _RETURN) or (c == _NEWLINE and not in_line)):
            break
        at += 1
    return at


@njit(cache=True, nogil=True)
def _expected(text, key, stop, node, found, keys):  # type: ignore[no-untyped-def]
    """Where the quote of a key is, if it is the known one that is expected here; else 0."""
    if found == 0 or int64_at(found) != node:
        return np.int64(0)
    size = int64_at(found + 8)
    end, known = key + size, keys + int64_at(found + 16)
    if end >= stop or byte(text + end) != _QUOTE:
        return np.int64(0)
    if size < 8 and key + 8 <= stop:  # which most keys are: what is behind them does not count
        differs = word(text + key) ^ word(known)
        return np.int64(0) if size and differs << np.uint64(64 - 8 * size) else end
    return end if are_same(text, key, end, known) else np.int64(0)


@njit(cache=True, nogil=True)
def _usual_row(text, begin, stop, in_line, places, row):  # type: ignore[no-untyped-def]
    """Read an object whose brace is here, if all its keys were seen before and none of them twice in it: what `_row` does for any.

    Everything is a number here: where tables and outputs are in memory. Rows mostly have the keys of the row before, in the same order:
    so a key is first compared with the one that came last behind the one before it, and costs no more than a look at its bytes.

    Returns:
        where it ends, or -1: then it must be read by `_row`, and something may be written in its place. `in_line`: nothing behind
        the end of the line was looked at.
    """
    known, keys = places[2], places[3]
    levels, opened, seen, stamps = places[4], places[5], places[6], places[7]
    kinds, starts, ends, stride = places[8], places[9], places[10], places[11]
    node = np.int64(0)
    depth = 0
    at, before, line_end = begin + 1, known, np.int64(-1)
    while True:
        at = _skip_white(text, at, stop, in_line)
        if at + 2 > stop or byte(text + at) != _QUOTE:
            return -1  # an empty object, too
        key = at + 1
        found = int64_at(before + _NEXT)
        key_end = _expected(text, key, stop, node, found, keys) + 1
        if key_end == 1:
            key_end, flags = end_of_string(text, key, stop, in_line)
            if flags < 0:
                return -1
            found = _known(text, key, key_end - 1, node, places)
            if found == 0:
                return -1
            put_int64(before + _NEXT, found)
        before = found
        at = _skip_white(text, key_end, stop, in_line)
        if at >= stop or byte(text + at) != _COLON:
            return -1
        at = _skip_white(text, at + 1, stop, in_line)
        if at >= stop:
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
            if in_line and line_end < 0:
                line_end = _end_of_line(text, at, stop)
            at, kind = end_of_value(text, at, line_end if in_line else stop, in_line, levels)
        else:
            at, kind = end_of_scalar(text, at, stop, in_line)
        if kind < 0:
            return -1
        if entry >= 0 and not (int64_at(found + _UNREAD) and kind in (TEXT, ESCAPED, NULL)):
            is_text = 1 if kind in (TEXT, ESCAPED) else 0
            put_byte(kinds + place, kind)
            put_int32(starts + 4 * place, start + is_text)
            put_int32(ends + 4 * place, at - is_text)
        while True:  # a value ends here, and with it perhaps the object it is in
            at = _skip_white(text, at, stop, in_line)
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
        at = skip_white(text, at, stop)
        if at < stop and byte(text + at) == _OPEN:
            last, wrong = _usual_row(text, at, stop, False, places, rows), 0
            if last < 0:
                last, wrong = _any_row(
                    text, at, stop, False, names, room, rows, kinds, starts, ends
                )
            at = last
            rows += 1
        else:
            at, wrong = end_of_value(text, at, stop, False, room[7][4])
            others += 1
        if wrong < 0:
            return at, rows, others, wrong
        at = skip_white(text, at, stop)
        if at >= stop:
            return stop, rows, others, ENDS_EARLY
        if byte(text + at) == _CLOSE_LIST:
            return at + 1, rows, others, DONE
        if byte(text + at) != _COMMA:
            return at, rows, others, UNEXPECTED
        at += 1
    return at, rows, others, MORE


@njit(cache=True, nogil=True)
def count_lines(text, end):  # type: ignore[no-untyped-def]
    """How many lines a text of so many bytes has."""
    lines = at = 0
    while at < end:
        at = _end_of_line(text, at, end) + 1
        lines += 1
    return lines


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
        if byte(text + at) == _OPEN:
            last = _usual_row(text, at, end, True, places, rows)
            if last >= 0:
                next_line = _skip_white(text, last, end, True)
                if next_line >= end or byte(text + next_line) == _NEWLINE:
                    lines[rows, 0], lines[rows, 1] = at, last
                    rows += 1
                    read += 1
                    at = next_line + 1
                    continue
        stop = _end_of_line(text, at, end)
        next_line = stop + 1
        at = skip_white(text, at, stop)
        while stop > at and byte(text + stop - 1) in (_SPACE, _RETURN, _TAB):
            stop -= 1
        if at < stop:
            read += 1
            is_object = byte(text + at) == _OPEN
            if is_object:
                last, wrong = _any_row(text, at, stop, True, names, room, rows, kinds, starts, ends)
            else:
                last, wrong = end_of_value(text, at, stop, True, room[7][4])
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
