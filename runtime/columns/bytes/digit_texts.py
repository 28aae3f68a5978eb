"""Bytes as digits of base64 and as hexadecimal ones, and back, over whole columns.

Digits are read and written by twos, or by fours: a table has what two of them are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cqc.runtime.columns.bytes.byte_columns import bytes_of, offsets_of, texts_of
from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LINE = 76  # digits of base64 in a line
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_SIX_BITS = np.full(256, -1, np.int64)  # of a digit of base64; -1 of all other bytes
_SIX_BITS[np.frombuffer(_ALPHABET, np.uint8)] = np.arange(64)
_DIGITS = np.frombuffer(b"0123456789ABCDEF", np.uint8).copy()


def _pairs(digits: bytes, *more: bytes) -> NDArray[np.uint16]:
    """All pairs of digits in their order, each pair as the number that its two bytes are; and more pairs."""
    pairs = b"".join(bytes((one, other)) for one in digits for other in digits)
    return np.frombuffer(pairs + b"".join(more), np.uint16).copy()


_LINE_END, _PADDING = (
    4096,
    4097,
)  # behind the pairs of digits: the end of a line, then a digit and what fills up
_BASE64 = _pairs(_ALPHABET, b"\r\n", b"==", *(bytes((each, 61)) for each in _ALPHABET))
_LOWER, _UPPER = _pairs(b"0123456789abcdef"), _pairs(b"0123456789ABCDEF")


def base64_of(values: pa.Array) -> pa.StringArray:
    """The bytes of texts or of Arrow's binary values in base64, in lines as MIME has them."""
    data, starts = bytes_of(values)
    digits = (np.diff(starts) + 2) // 3 * 4
    offsets = offsets_of(digits + np.maximum(digits - 1, 0) // _LINE * 2)
    made = np.empty(offsets[-1], np.uint8)
    _encode(data, starts, _BASE64, (offsets // 2, made.view(np.uint16)))
    return texts_of(offsets, made)


def hex_of_base64(texts: pa.Array) -> tuple[pa.StringArray, NDArray[np.bool_]]:
    """What Java's decoder for MIME makes of texts, in hexadecimal, and where it fails.

    What is not base64's is passed over, but not within the padding.
    """
    data, starts = bytes_of(texts)
    made = np.empty(2 * len(data), np.uint8)
    offsets = np.zeros(len(starts), np.int64)
    failed = np.zeros(len(texts), np.bool_)
    _decode(data, starts, _SIX_BITS, _LOWER, (offsets, made.view(np.uint16), failed))
    offsets *= 2
    return texts_of(offsets, made[: offsets[-1]]), failed


def hex_of_texts(texts: pa.Array) -> pa.StringArray:
    """The bytes of texts in capital hexadecimal digits."""
    data, starts = bytes_of(texts)
    made = np.empty(2 * len(data), np.uint8)
    _double(data, _UPPER, made.view(np.uint16))
    return texts_of(starts * 2, made)


def hex_of_numbers(numbers: NDArray[np.int64]) -> pa.StringArray:
    """Whole numbers in capital hexadecimal digits, negative ones as their 64 bits."""
    offsets = np.zeros(len(numbers) + 1, np.int64)
    made = np.empty(16 * len(numbers), np.uint8)
    _write_hex(np.array(numbers, np.int64), _DIGITS, offsets, made)
    return texts_of(offsets, made[: offsets[-1]])


def lower_digits(texts: pa.Array) -> tuple[pa.StringArray, NDArray[np.bool_]]:
    """Hexadecimal digits in small letters, a zero before them where they are odd, and which texts are such digits alone."""
    data, starts = bytes_of(texts)
    lengths = np.diff(starts)
    offsets = offsets_of(lengths + (lengths & 1))
    made = np.empty(offsets[-1], np.uint8)
    there = np.empty(len(texts), np.bool_)
    _lower(data, starts, (offsets, made, there))
    return texts_of(offsets, made, texts), there


@njit(cache=True, nogil=True)
def _encode(data, starts, pairs, made):  # type: ignore[no-untyped-def]
    offsets, words = made
    for row in range(len(starts) - 1):
        at, end, to = starts[row], starts[row + 1], offsets[row]
        line = at + _LINE // 4 * 3
        while at + 3 <= end:
            if at == line:
                words[to] = pairs[_LINE_END]
                to += 1
                line += _LINE // 4 * 3
            bits = (int(data[at]) << 16) | (int(data[at + 1]) << 8) | int(data[at + 2])
            words[to] = pairs[bits >> 12]
            words[to + 1] = pairs[bits & 4095]
            at += 3
            to += 2
        if at == end:
            continue
        if at == line:
            words[to] = pairs[_LINE_END]
            to += 1
        bits = int(data[at]) << 16
        if at + 1 < end:
            bits |= int(data[at + 1]) << 8
        words[to] = pairs[bits >> 12]
        words[to + 1] = pairs[_PADDING + 1 + (bits >> 6 & 63) if at + 1 < end else _PADDING]


@njit(cache=True, nogil=True)
def _decode(data, starts, six_bits, pairs, made):  # type: ignore[no-untyped-def]
    offsets, words, failed = made
    to = 0
    for row in range(len(failed)):
        at, end = starts[row], starts[row + 1]
        bits = count = 0
        while True:
            while count == 0 and at + 4 <= end:
                bits = (
                    (six_bits[data[at]] << 18)
                    | (six_bits[data[at + 1]] << 12)
                    | (six_bits[data[at + 2]] << 6)
                    | six_bits[data[at + 3]]
                )
                if bits < 0:
                    bits = 0
                    break
                words[to] = pairs[bits >> 16]
                words[to + 1] = pairs[(bits >> 8) & 255]
                words[to + 2] = pairs[bits & 255]
                to += 3
                at += 4
                bits = 0
            if at == end or data[at] == 61:
                break
            value = six_bits[data[at]]
            at += 1
            if value < 0:
                continue
            bits = (bits << 6) | value
            count += 1
            if count == 4:
                words[to] = pairs[bits >> 16]
                words[to + 1] = pairs[(bits >> 8) & 255]
                words[to + 2] = pairs[bits & 255]
                to += 3
                bits = count = 0
        wrong = count == 1
        if at < end:
            wrong = wrong or count == 0
            if count == 2 and not (at + 1 < end and data[at + 1] == 61):
                wrong = True
            for rest in range(at + 1, end):
                if six_bits[data[rest]] >= 0:
                    wrong = True
        if count == 2:
            words[to] = pairs[bits >> 4]
            to += 1
        elif count == 3:
            words[to] = pairs[bits >> 10]
            words[to + 1] = pairs[(bits >> 2) & 255]
            to += 2
        if wrong:
            to = offsets[row]
            failed[row] = True
        offsets[row + 1] = to


@njit(cache=True, nogil=True)
def _double(data, pairs, made):  # type: ignore[no-untyped-def]
    for at in range(len(data)):
        made[at] = pairs[data[at]]


@njit(cache=True, nogil=True)
def _lower(data, starts, made):  # type: ignore[no-untyped-def]
    offsets, letters, there = made
    for row in range(len(there)):
        at, size, to = starts[row], starts[row + 1] - starts[row], offsets[row]
        if size & 1:
            letters[to] = 48
            to += 1
        wrong = np.uint8(0)
        for place in range(size):
            byte = data[at + place]
            small = byte | np.uint8(32)
            is_letter = np.uint8(small - np.uint8(97)) < np.uint8(6)
            is_digit = np.uint8(byte - np.uint8(48)) < np.uint8(10)
            wrong |= np.uint8(not (is_letter | is_digit))
            letters[to + place] = small if is_letter else byte
        there[row] = wrong == 0


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
    base64_of(texts)
    hex_of_base64(texts)
    hex_of_texts(texts)
    lower_digits(texts)
    hex_of_numbers(np.array([-1, 255]))
