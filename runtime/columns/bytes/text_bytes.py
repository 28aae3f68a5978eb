"""Kernels over the bytes of all texts of a column at once: where a part is, the first code point, the last ones.

Texts are UTF-8, in which a part that is found always begins where a code point does. What stands at NULL is arbitrary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.runtime.columns.bytes.byte_columns import bytes_of, offsets_of, texts_of
from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


def places(part: Any, text: Any, begins: NDArray[np.int64] | None, rows: int) -> NDArray[np.int64]:
    """Where a part is in a text, counted in code points from 1 and looked for from `begins` on; 0 where it is not.

    A part or a text may be a constant, and so may be where to begin.
    """
    found = np.empty(rows, np.int64)
    first = np.ones(1, np.int64) if begins is None else np.array(begins, np.int64).reshape(-1)
    _find(*bytes_of(part), *bytes_of(text), first, found)
    return found


def holds(part: str, texts: pa.Array) -> NDArray[np.bool_]:
    """Which texts have a part in them."""
    found = np.empty(len(texts), np.bool_)
    _holds(
        np.frombuffer(part.encode() or b"\0", np.uint8).copy(), bool(part), *bytes_of(texts), found
    )
    return found


def between_marks(texts: pa.Array, mark: int) -> tuple[NDArray[np.int64], pa.StringArray]:
    """What stands between the first and the second byte of a kind, between the third and the fourth and so on; and where the parts of each text begin."""
    data, starts = bytes_of(texts)
    marks = np.flatnonzero(data == mark)
    begins, ends = marks[::2] + 1, marks[1::2]
    offsets = offsets_of(ends - begins)
    made, rows = np.empty(offsets[-1], np.uint8), np.zeros(len(starts), np.int64)
    _copy(data, starts, (begins, offsets), made, rows)
    return rows, texts_of(offsets, made)


def last_points(texts: pa.Array, count: int) -> pa.StringArray:
    """The last so many code points of each text."""
    data, starts = bytes_of(texts)
    offsets = np.zeros(len(starts), np.int64)
    made = np.empty(len(data), np.uint8)
    _tail(data, starts, count, offsets, made)
    return texts_of(offsets, made[: offsets[-1]], texts)


def binary_of_numbers(numbers: NDArray[np.int64]) -> pa.StringArray:
    """Whole numbers in binary digits, negative ones as their 64 bits."""
    offsets = np.zeros(len(numbers) + 1, np.int64)
    made = np.empty(64 * len(numbers), np.uint8)
    _write_bits(np.array(numbers, np.int64).view(np.uint64), offsets, made)
    return texts_of(offsets, made[: offsets[-1]])


def first_points(texts: pa.Array) -> NDArray[np.int64]:
    """The first code point of each text, 0 of an empty one."""
    found = np.empty(len(texts), np.int64)
    _first(*bytes_of(texts), found)
    return found


@njit(cache=True, nogil=True)
def _find(parts, part_starts, data, starts, begins, found):  # type: ignore[no-untyped-def]
    """A side of one text is that text on every row."""
    for row in range(len(found)):
        which = row if len(part_starts) > 2 else 0
        text = row if len(starts) > 2 else 0
        begin = begins[row if len(begins) > 1 else 0]
        first = part_starts[which]
        size = part_starts[which + 1] - first
        found[row] = 0
        if begin < 1:
            continue
        if size == 0:
            found[row] = 1
            continue
        at, end = starts[text], starts[text + 1]
        place = 1
        while place < begin and at < end:
            at += 1
            while at < end and (data[at] & 0xC0) == 0x80:
                at += 1
            place += 1
        if place < begin:
            continue
        since, lead = at, parts[first]
        while at <= end - size:
            if data[at] == lead:
                same = 1
                while same < size and data[at + same] == parts[first + same]:
                    same += 1
                if same == size:
                    for before in range(since, at):
                        place += (data[before] & 0xC0) != 0x80
                    found[row] = place
                    break
            at += 1


@njit(cache=True, nogil=True)
def _holds(part, is_some, data, starts, found):  # type: ignore[no-untyped-def]
    size, lead = len(part), part[0]
    for row in range(len(found)):
        found[row] = not is_some
        for at in range(starts[row], starts[row + 1] - size + 1 if is_some else 0):
            if data[at] != lead:
                continue
            same = 1
            while same < size and data[at + same] == part[same]:
                same += 1
            if same == size:
                found[row] = True
                break


@njit(cache=True, nogil=True)
def _copy(data, starts, parts, made, rows):  # type: ignore[no-untyped-def]
    begins, offsets = parts
    at = 0
    for row in range(len(starts) - 1):
        while at < len(begins) and begins[at] < starts[row + 1]:
            begin, to = begins[at], offsets[at]
            for place in range(offsets[at + 1] - to):
                made[to + place] = data[begin + place]
            at += 1
        rows[row + 1] = at


@njit(cache=True, nogil=True)
def _tail(data, starts, count, offsets, made):  # type: ignore[no-untyped-def]
    to = 0
    for row in range(len(starts) - 1):
        begin, at, left = starts[row], starts[row + 1], count
        while at > begin and left > 0:
            at -= 1
            left -= (data[at] & 0xC0) != 0x80
        for each in range(at, starts[row + 1]):
            made[to] = data[each]
            to += 1
        offsets[row + 1] = to


@njit(cache=True, nogil=True)
def _write_bits(numbers, offsets, made):  # type: ignore[no-untyped-def]
    to = 0
    for row in range(len(numbers)):
        number = numbers[row]
        size = 1
        while size < 64 and (number >> np.uint64(size)) != 0:
            size += 1
        for place in range(size):
            made[to + place] = 48 + ((number >> np.uint64(size - 1 - place)) & np.uint64(1))
        to += size
        offsets[row + 1] = to


@njit(cache=True, nogil=True)
def _first(data, starts, found):  # type: ignore[no-untyped-def]
    for row in range(len(found)):
        at = starts[row]
        if at == starts[row + 1]:
            found[row] = 0
            continue
        lead = int(data[at])
        more = 0 if lead < 0x80 else 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3
        point = lead if more == 0 else lead & (0x3F >> more)
        for following in range(at + 1, at + 1 + more):
            point = (point << 6) | (int(data[following]) & 0x3F)
        found[row] = point


def warm() -> None:
    """Compile this module's kernels."""
    texts = pa.array(["YWJj", "é"])
    places(pa.scalar("c"), texts, None, 2)
    first_points(texts)
    binary_of_numbers(np.array([-1, 255]))
    holds("c", texts)
    last_points(texts, 1)
    between_marks(texts, 0)
