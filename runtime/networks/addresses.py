"""Texts of network addresses as numbers, by one kernel over a whole column.

10.0.0.1            4, 0x0A000001
fe80::1             6, the 128 bits as two halves
::ffff:10.0.0.1     4: an IPv6 address that stands for an IPv4 one is that one
10.0.0.256, x       0: no address
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

Addresses = tuple["NDArray[np.int8]", "NDArray[np.uint64]", "NDArray[np.uint64]"]


def read_addresses(texts: Any) -> Addresses:
    """The version (0 for no address), the high and the low half of each text of an Arrow array; NULL is no address."""
    count = len(texts)
    _, places, content = texts.buffers()
    if places is None or content is None:
        nothing = np.zeros(count, np.uint64)
        return np.zeros(count, np.int8), nothing, nothing
    offsets = np.frombuffer(places, np.int32)[texts.offset : texts.offset + count + 1]
    data = np.frombuffer(content, np.uint8)
    version = np.zeros(count, np.int8)
    high, low = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
    _read_all(offsets, data, version, high, low)
    return version, high, low


@njit(cache=True, nogil=True)
def _read_all(offsets, data, version, high, low):  # type: ignore[no-untyped-def]
    groups = np.zeros(8, np.int64)
    for row in range(len(version)):
        start, end = offsets[row], offsets[row + 1]
        if end - start < 2 or end - start > 64:
            continue
        number = _read_four(data, start, end)
        if number >= 0:
            version[row] = 4
            low[row] = np.uint64(number)
            continue
        if not _read_six(data, start, end, groups):
            continue
        if (groups[:5] == 0).all() and groups[5] == 0xFFFF:
            version[row] = 4
            low[row] = np.uint64((groups[6] << 16) | groups[7])
            continue
        version[row] = 6
        for at in range(4):
            high[row] = (high[row] << np.uint64(16)) | np.uint64(groups[at])
            low[row] = (low[row] << np.uint64(16)) | np.uint64(groups[at + 4])


@njit(cache=True, nogil=True)
def _read_four(data, start, end):  # type: ignore[no-untyped-def]
    """Four numbers up to 255 without leading zeros; -1 for anything else."""
    total, part, digits, dots = 0, 0, 0, 0
    for at in range(start, end):
        byte = int(data[at])  # Python would go on in 8 bits
        if byte == 46:
            if digits == 0:
                return -1
            total = (total << 8) | part
            part, digits, dots = 0, 0, dots + 1
        elif 48 <= byte <= 57:
            if digits > 0 and part == 0:
                return -1
            part = part * 10 + (byte - 48)
            digits += 1
            if part > 255:
                return -1
        else:
            return -1
    return (total << 8) | part if dots == 3 and digits > 0 else -1


@njit(cache=True, nogil=True)
def _read_six(data, start, end, groups):  # type: ignore[no-untyped-def]
    """Eight groups of up to four hexadecimal digits, `::` once for zeros, the last two as an IPv4 address."""
    for at in range(start, end):  # what follows a % names the interface, not the address
        if data[at] == 37:
            end = at
            break
    groups[:] = 0
    count, gap = 0, -1
    at = start
    if end - start < 2:
        return False
    if data[at] == 58:
        if data[at + 1] != 58:
            return False
        gap, at = 0, at + 2
    while at < end:
        if count == 8:
            return False
        stop = at
        while stop < end and data[stop] != 58:
            stop += 1
        number = -1
        for place in range(at, stop):
            if data[place] == 46:
                number = _read_four(data, at, stop)
                break
        if number >= 0:
            if stop != end or count > 6:
                return False
            groups[count] = number >> 16
            groups[count + 1] = number & 0xFFFF
            count += 2
            at = end
            break
        value = _read_hexadecimal(data, at, stop)
        if value < 0:
            return False
        groups[count] = value
        count += 1
        at = stop
        if at == end:
            break
        at += 1
        if at == end:
            return False  # a colon at the end
        if data[at] == 58:
            if gap >= 0:
                return False
            gap, at = count, at + 1
    if gap < 0:
        return count == 8
    if count > 7:
        return False
    shift = 8 - count
    for place in range(7, gap + shift - 1, -1):
        groups[place] = groups[place - shift]
    for place in range(gap, gap + shift):
        groups[place] = 0
    return True


@njit(cache=True, nogil=True)
def _read_hexadecimal(data, start, end):  # type: ignore[no-untyped-def]
    if end - start < 1 or end - start > 4:
        return -1
    value = 0
    for at in range(start, end):
        byte = int(data[at])  # Python would go on in 8 bits
        if 48 <= byte <= 57:
            digit = byte - 48
        elif 97 <= byte <= 102:
            digit = byte - 87
        elif 65 <= byte <= 70:
            digit = byte - 55
        else:
            return -1
        value = value * 16 + digit
    return value


def six_keys(high: Any, low: Any) -> Any:
    """The 16 bytes of IPv6 addresses, which sort as the addresses do."""
    pairs = np.empty((len(high), 2), ">u8")
    pairs[:, 0], pairs[:, 1] = high, low
    return pairs.view("S16").reshape(-1)


def warm() -> None:
    """Compile this module's kernels."""
    read_addresses(pa.array(["10.0.0.1", "::1"]))
