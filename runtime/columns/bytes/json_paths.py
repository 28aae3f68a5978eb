"""The value at a path in JSON texts, over whole columns: where it is, as far as a copy of its bytes is what has to be written.

A text is read to the end of its first value, and must be JSON throughout. Whatever is unusual (a number with a point, an escape in the
value that is found, white space inside an object that is found, a text that is no JSON) is left to others, who read it anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.runtime.columns.bytes.byte_columns import bytes_of, texts_of
from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NOTHING, TEXT, LEFT, NUMBER, TRUTH, INNER = range(6)
"""What is at the path of a row: nothing or null, a string, something that is left to others, a number, true or false, an object or array."""
_DEEPEST = 64
_VALUE, _AFTER, _KEY = 0, 1, 2
_KINDS = np.zeros(
    256, np.uint8
)  # of bytes inside a string: 1 ends it, 2 escapes, 3 is a control character
_KINDS[34], _KINDS[92] = 1, 2
_KINDS[:32] = 3


def values_at(
    texts: Any, steps: Sequence[str | int], *, strict: bool = False, as_written: bool = False
) -> tuple[pa.StringArray, NDArray[np.uint8]]:
    """The texts of values, and what is there for each row.

    Args:
        texts: an Arrow array.
        steps: keys and places.
        strict: leave texts with something after their first value, with a key of the path that comes twice or with control characters,
            and those that are no object.
        as_written: give numbers with a point as they are written.
    """
    data, starts = bytes_of(texts)
    keys = [step.encode() if isinstance(step, str) else b"" for step in steps]
    begins = np.zeros(len(keys) + 1, np.int64)
    begins[1:] = np.cumsum([len(key) for key in keys])
    places = np.array([step if isinstance(step, int) else -1 for step in steps], np.int64)
    named = np.frombuffer(b"".join(keys) or b"\0", np.uint8).copy()
    spans = np.zeros((len(texts), 2), np.int64)
    outcome = np.zeros(len(texts), np.uint8)
    path = (named, begins, places, strict, as_written)
    _find(data, starts, path, _KINDS, spans, outcome)
    lengths = np.where((outcome == NOTHING) | (outcome == LEFT), 0, spans[:, 1] - spans[:, 0])
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    made = np.empty(offsets[-1], np.uint8)
    _copy(data, spans, offsets, made)
    return texts_of(offsets, made), outcome


@njit(cache=True, nogil=True)
def _find(data, starts, path, kinds, spans, outcome):  # type: ignore[no-untyped-def]
    on_path = np.empty(_DEEPEST, np.bool_)  # by depth: whether the container is on the path,
    is_array = np.empty(_DEEPEST, np.bool_)
    counts = np.empty(_DEEPEST, np.int64)  # which element comes next,
    hit = np.empty(_DEEPEST, np.bool_)  # and whether its step was taken
    levels = (on_path, is_array, counts, hit)
    for row in range(len(outcome)):
        outcome[row] = _find_one(
            data, starts[row], starts[row + 1], path, kinds, levels, spans[row]
        )


@njit(cache=True, nogil=True)
def _find_one(data, at, end, path, kinds, levels, span):  # type: ignore[no-untyped-def]
    named, begins, places, strict, as_written = path
    on_path, is_array, counts, hit = levels
    steps = len(places)
    at = _over_white(data, at, end)
    if steps == 0 or at >= end or (data[at] != 123 and (strict or data[at] != 91)):
        return LEFT
    depth, state = -1, _VALUE
    wanted = False  # the next value is on the path
    found, found_depth = NOTHING, -1
    while True:
        before = at
        at = _over_white(data, at, end)
        if found_depth >= 0 and at != before:
            return LEFT  # white space inside what is found
        if at >= end:
            return LEFT
        byte = data[at]
        if state == _KEY:
            if byte != 34:
                return LEFT
            after, plain, control = _string_end(data, at + 1, end, kinds)
            if after < 0 or (found_depth >= 0 and not plain) or (strict and control):
                return LEFT
            wanted = False
            if on_path[depth] and places[depth] < 0 and (strict or not hit[depth]):
                if not plain:
                    return LEFT
                first, size = begins[depth], begins[depth + 1] - begins[depth]
                wanted = size == after - 1 - (at + 1)
                for each in range(size if wanted else 0):
                    if data[at + 1 + each] != named[first + each]:
                        wanted = False
                        break
                if wanted:
                    if hit[depth]:
                        return LEFT
                    hit[depth] = True
            colon = _over_white(data, after, end)
            if colon >= end or data[colon] != 58 or (found_depth >= 0 and colon != after):
                return LEFT
            at, state = colon + 1, _VALUE
            continue
        if state == _AFTER:
            if byte == 44:
                at += 1
                state = _VALUE if is_array[depth] else _KEY
                if is_array[depth]:
                    counts[depth] += 1
                    wanted = on_path[depth] and places[depth] == counts[depth]
                continue
            if byte != (93 if is_array[depth] else 125):
                return LEFT
            at += 1
            if found_depth == depth:
                span[1] = at
                found_depth = -1
            depth -= 1
            if depth < 0:
                return found if not strict or _over_white(data, at, end) == end else LEFT
            continue
        is_found = wanted and depth + 1 == steps
        if byte == 123 or byte == 91:
            depth += 1
            if depth == _DEEPEST:
                return LEFT
            if is_found:
                span[0], found, found_depth = at, INNER, depth
            on_path[depth] = (wanted or depth == 0) and not is_found
            is_array[depth], counts[depth], hit[depth] = byte == 91, 0, False
            at += 1
            inside = _over_white(data, at, end)
            if inside >= end or (found_depth >= 0 and inside != at):
                return LEFT
            if data[inside] == (93 if byte == 91 else 125):
                at, state = inside, _AFTER
                continue
            state = _VALUE if byte == 91 else _KEY
            if byte == 91:
                wanted = on_path[depth] and places[depth] == 0
            continue
        if byte == 34:
            after, plain, control = _string_end(data, at + 1, end, kinds)
            if after < 0 or (strict and control):
                return LEFT
            if is_found:
                if not plain:
                    return LEFT
                span[0], span[1], found = at + 1, after - 1, TEXT
            elif found_depth >= 0 and (control or not plain):
                return LEFT
        else:
            after, whole = _word_end(data, at, end)
            if after < 0 or (not whole and not as_written and (is_found or found_depth >= 0)):
                return LEFT
            if is_found and byte != 110:
                span[0], span[1] = at, after
                found = TRUTH if byte == 116 or byte == 102 else NUMBER
        at, state = after, _AFTER


@njit(cache=True, nogil=True)
def _over_white(data, at, end):  # type: ignore[no-untyped-def]
    while at < end and (data[at] == 32 or data[at] == 10 or data[at] == 13 or data[at] == 9):
        at += 1
    return at


@njit(cache=True, nogil=True)
def _string_end(data, at, end, kinds):  # type: ignore[no-untyped-def]
    """Where a string's closing quote has ended (-1: nowhere), whether nothing in it is escaped, and whether it has control characters."""
    plain, control = True, False
    while at < end:
        kind = kinds[data[at]]
        if kind == 0:
            at += 1
            continue
        if kind == 1:
            return at + 1, plain, control
        if kind == 3:
            control = True
            at += 1
            continue
        plain = False
        if at + 1 >= end:
            break
        escaped = data[at + 1]
        at += 2
        if escaped == 117:
            if at + 4 > end:
                break
            for each in range(at, at + 4):
                digit = data[each]
                if not (48 <= digit <= 57 or 65 <= digit <= 70 or 97 <= digit <= 102):
                    return -1, plain, control
            at += 4
        elif not (
            escaped == 34
            or escaped == 92
            or escaped == 47
            or escaped == 98
            or escaped == 102
            or escaped == 110
            or escaped == 114
            or escaped == 116
        ):
            break
    return -1, plain, control


@njit(cache=True, nogil=True)
def _word_end(data, at, end):  # type: ignore[no-untyped-def]
    """Where a number, true, false or null has ended (-1: it is none of these), and whether it is written as it stands."""
    byte = data[at]
    if byte == 116:
        good = at + 4 <= end and data[at + 1] == 114 and data[at + 2] == 117 and data[at + 3] == 101
        return (at + 4 if good else -1), True
    if byte == 102:
        good = (
            at + 5 <= end
            and data[at + 1] == 97
            and data[at + 2] == 108
            and data[at + 3] == 115
            and data[at + 4] == 101
        )
        return (at + 5 if good else -1), True
    if byte == 110:
        good = at + 4 <= end and data[at + 1] == 117 and data[at + 2] == 108 and data[at + 3] == 108
        return (at + 4 if good else -1), True
    if byte == 45:
        at += 1
    first = at
    while at < end and 48 <= data[at] <= 57:
        at += 1
    if at == first or (data[first] == 48 and at > first + 1):
        return -1, True
    whole = True
    if at < end and data[at] == 46:
        whole = False
        at += 1
        first = at
        while at < end and 48 <= data[at] <= 57:
            at += 1
        if at == first:
            return -1, whole
    if at < end and (data[at] == 101 or data[at] == 69):
        whole = False
        at += 1
        if at < end and (data[at] == 43 or data[at] == 45):
            at += 1
        first = at
        while at < end and 48 <= data[at] <= 57:
            at += 1
        if at == first:
            return -1, whole
    return at, whole


@njit(cache=True, nogil=True)
def _copy(data, spans, offsets, made):  # type: ignore[no-untyped-def]
    for row in range(len(spans)):
        begin, to = spans[row, 0], offsets[row]
        for each in range(offsets[row + 1] - to):
            made[to + each] = data[begin + each]


def warm() -> None:
    """Compile this module's kernels."""
    values_at(pa.array(['{"a": 1}'], pa.string()), ["a"])
