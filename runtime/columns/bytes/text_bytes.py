"""Kernels over the bytes of all texts of a column at once: where a part is, the first code point, base64 and hexadecimal digits.

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

_LINE = 76  # digits of base64 in a line
_BASE64 = np.frombuffer(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8
).copy()
_SIX_BITS = np.full(256, -1, np.int64)  # of a digit of base64; -1 of all other bytes
_SIX_BITS[_BASE64] = np.arange(64)
_LOWER = np.frombuffer(b"0123456789abcdef", np.uint8).copy()
_UPPER = np.frombuffer(b"0123456789ABCDEF", np.uint8).copy()


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


def base64_of(values: pa.Array) -> pa.StringArray:
    """The bytes of texts or of Arrow's binary values in base64, in lines as MIME has them."""
    data, starts = bytes_of(values)
    digits = (np.diff(starts) + 2) // 3 * 4
    offsets = offsets_of(digits + np.maximum(digits - 1, 0) // _LINE * 2)
    made = np.empty(offsets[-1], np.uint8)
    _encode(data, starts, _BASE64, offsets, made)
    return texts_of(offsets, made)


def hex_of_base64(texts: pa.Array) -> tuple[pa.StringArray, NDArray[np.bool_]]:
    """What Java's decoder for MIME makes of texts, in hexadecimal, and where it fails.

    What is not base64's is passed over, but not within the padding.
    """
    data, starts = bytes_of(texts)
    made = np.empty(2 * len(data), np.uint8)
    offsets = np.zeros(len(starts), np.int64)
    failed = np.zeros(len(texts), np.bool_)
    _decode(data, starts, _SIX_BITS, _LOWER, offsets, made, failed)
    return texts_of(offsets, made[: offsets[-1]]), failed


def hex_of_texts(texts: pa.Array) -> pa.StringArray:
    """The bytes of texts in capital hexadecimal digits."""
    data, starts = bytes_of(texts)
    made = np.empty(2 * len(data), np.uint8)
    _double(data, _UPPER, made)
    return texts_of(starts * 2, made)


def hex_of_numbers(numbers: NDArray[np.int64]) -> pa.StringArray:
    """Whole numbers in capital hexadecimal digits, negative ones as their 64 bits."""
    offsets = np.zeros(len(numbers) + 1, np.int64)
    made = np.empty(16 * len(numbers), np.uint8)
    _write_hex(np.array(numbers, np.int64), _UPPER, offsets, made)
    return texts_of(offsets, made[: offsets[-1]])


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


@njit(cache=True, nogil=True)
def _encode(data, starts, digits, offsets, made):  # type: ignore[no-untyped-def]
    for row in range(len(starts) - 1):
        at, end, to = starts[row], starts[row + 1], offsets[row]
        column = 0
        while at < end:
            if column == _LINE:
                made[to], made[to + 1] = 13, 10
                to += 2
                column = 0
            bits = int(data[at]) << 16
            if at + 1 < end:
                bits |= int(data[at + 1]) << 8
            if at + 2 < end:
                bits |= int(data[at + 2])
            made[to] = digits[bits >> 18]
            made[to + 1] = digits[(bits >> 12) & 63]
            made[to + 2] = digits[(bits >> 6) & 63] if at + 1 < end else 61
            made[to + 3] = digits[bits & 63] if at + 2 < end else 61
            at += 3
            to += 4
            column += 4


@njit(cache=True, nogil=True)
def _decode(data, starts, six_bits, digits, offsets, made, failed):  # type: ignore[no-untyped-def]
    to = 0
    for row in range(len(failed)):
        at, end = starts[row], starts[row + 1]
        bits = count = 0
        while at < end and data[at] != 61:
            value = six_bits[data[at]]
            at += 1
            if value < 0:
                continue
            bits = (bits << 6) | value
            count += 1
            if count & 3 == 0:
                for nibble in range(6):
                    made[to + nibble] = digits[(bits >> (20 - 4 * nibble)) & 15]
                to += 6
                bits = 0
        over = count & 3
        wrong = over == 1
        if at < end:
            wrong = wrong or over == 0
            if over == 2 and not (at + 1 < end and data[at + 1] == 61):
                wrong = True
            for rest in range(at + 1, end):
                if six_bits[data[rest]] >= 0:
                    wrong = True
        if over >= 2:
            bits >>= 4 if over == 2 else 2
            size = 2 * (over - 1)
            for nibble in range(size):
                made[to + nibble] = digits[(bits >> (4 * (size - 1 - nibble))) & 15]
            to += size
        if wrong:
            to = offsets[row]
            failed[row] = True
        offsets[row + 1] = to


@njit(cache=True, nogil=True)
def _double(data, digits, made):  # type: ignore[no-untyped-def]
    for at in range(len(data)):
        byte = data[at]
        made[2 * at] = digits[byte >> 4]
        made[2 * at + 1] = digits[byte & 15]


@njit(cache=True, nogil=True)
def _write_hex(numbers, digits, offsets, made):  # type: ignore[no-untyped-def]
    to = 0
    for row in range(len(numbers)):
        number = numbers[row]
        size = 1
        while size < 16 and (number >> (4 * size)) != 0:
            size += 1
        for nibble in range(size):
            made[to + nibble] = digits[(number >> (4 * (size - 1 - nibble))) & 15]
        to += size
        offsets[row + 1] = to


def warm() -> None:
    """Compile this module's kernels."""
    texts = pa.array(["YWJj", "é"])
    places(pa.scalar("c"), texts, None, 2)
    first_points(texts)
    base64_of(texts)
    hex_of_base64(texts)
    hex_of_texts(texts)
    hex_of_numbers(np.array([-1, 255]))
    binary_of_numbers(np.array([-1, 255]))
    holds("c", texts)
    last_points(texts, 1)
