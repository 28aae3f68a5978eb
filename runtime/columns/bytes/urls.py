"""Texts in the form of URLs (`+` for a space, `%C3%89` for other bytes) and back, over whole columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cqc.runtime.columns.bytes.byte_columns import bytes_of, texts_of
from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEX = np.frombuffer(b"0123456789ABCDEF", np.uint8).copy()
_AS_IT_IS = np.zeros(256, np.bool_)
_AS_IT_IS[list(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789*-_.")] = True
_VALUE = np.full(256, -1, np.int64)  # of a hexadecimal digit
_VALUE[list(b"0123456789")] = np.arange(10)
_VALUE[list(b"ABCDEF")] = np.arange(10, 16)
_VALUE[list(b"abcdef")] = np.arange(10, 16)


def url_encoded(texts: pa.StringArray) -> pa.StringArray:
    """Letters, digits and `*-_.` as they are, all else escaped."""
    data, starts = bytes_of(texts)
    offsets = np.zeros(len(starts), np.int64)
    made = np.empty(3 * len(data), np.uint8)
    _encode(data, starts, _AS_IT_IS, _HEX, offsets, made)
    return texts_of(offsets, made[: offsets[-1]], texts)


def url_decoded(
    texts: pa.StringArray,
) -> tuple[pa.StringArray, NDArray[np.bool_], NDArray[np.bool_]]:
    """The texts, which of them have a `%` that escapes nothing, and which would be no UTF-8 and are left to others."""
    data, starts = bytes_of(texts)
    offsets = np.zeros(len(starts), np.int64)
    made = np.empty(len(data), np.uint8)
    failed, left = np.zeros(len(texts), np.bool_), np.zeros(len(texts), np.bool_)
    _decode(data, starts, _VALUE, offsets, made, failed, left)
    return texts_of(offsets, made[: offsets[-1]], texts), failed, left


@njit(cache=True, nogil=True)
def _encode(data, starts, as_it_is, digits, offsets, made):  # type: ignore[no-untyped-def]
    to = 0
    for row in range(len(starts) - 1):
        for at in range(starts[row], starts[row + 1]):
            byte = data[at]
            if as_it_is[byte]:
                made[to] = byte
                to += 1
            elif byte == 32:
                made[to] = 43
                to += 1
            else:
                made[to] = 37
                made[to + 1] = digits[byte >> 4]
                made[to + 2] = digits[byte & 15]
                to += 3
        offsets[row + 1] = to


@njit(cache=True, nogil=True)
def _decode(data, starts, value, offsets, made, failed, left):  # type: ignore[no-untyped-def]
    to = 0
    for row in range(len(failed)):
        at, end, begin = starts[row], starts[row + 1], to
        escaped = False
        while at < end:
            byte = data[at]
            if byte == 37:
                high = value[data[at + 1]] if at + 2 < end else np.int64(-1)
                low = value[data[at + 2]] if at + 2 < end else np.int64(-1)
                if high < 0 or low < 0:
                    failed[row] = True
                    break
                made[to] = (high << 4) | low
                if high >= 8:
                    escaped = True
                at += 3
            else:
                made[to] = 32 if byte == 43 else byte
                at += 1
            to += 1
        if failed[row]:
            to = begin
        elif escaped and not is_utf8(made, begin, to):
            left[row] = True
            to = begin
        offsets[row + 1] = to


@njit(cache=True, nogil=True)
def is_utf8(data, at, end):  # type: ignore[no-untyped-def]
    """Whether bytes are UTF-8: no code point in more bytes than it needs, none of a surrogate, none beyond U+10FFFF."""
    while at < end:
        lead = data[at]
        if lead < 0x80:
            at += 1
            continue
        if lead < 0xC2 or lead > 0xF4:
            return False
        more = 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3
        if at + more > end - 1:
            return False
        second = data[at + 1]
        if (
            (lead == 0xE0 and second < 0xA0)
            or (lead == 0xED and second > 0x9F)
            or (lead == 0xF0 and second < 0x90)
            or (lead == 0xF4 and second > 0x8F)
        ):
            return False
        for place in range(at + 1, at + 1 + more):
            if data[place] & 0xC0 != 0x80:
                return False
        at += 1 + more
    return True


def warm() -> None:
    """Compile this module's kernels."""
    url_decoded(url_encoded(pa.array(["é a"], pa.string())))
