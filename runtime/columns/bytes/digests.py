"""MD5, SHA-1, SHA-224, SHA-256 and CRC-32 of whole columns (RFC 1321, FIPS 180-4, RFC 1952): a call of a library costs more than a short text's digest."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.runtime.columns.bytes.byte_columns import bytes_of, texts_of
from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEX = np.frombuffer(b"0123456789abcdef", np.uint8).copy()
_BLOCK = 64
_MD5_TURNS = np.array(
    [*[7, 12, 17, 22] * 4, *[5, 9, 14, 20] * 4, *[4, 11, 16, 23] * 4, *[6, 10, 15, 21] * 4],
    np.uint32,
)
_MD5_SINES = np.array([int(abs(math.sin(at + 1)) * 2**32) for at in range(64)], np.uint32)
_MD5_START = np.array([0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476], np.uint32)
_SHA1_START = np.array([0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0], np.uint32)


def md5_of(values: Any) -> pa.StringArray:
    """MD5 in hexadecimal digits, of texts or of Arrow's bytes."""
    return _digest(values, _md5_block, _MD5_START, (_MD5_SINES, _MD5_TURNS), 4, big_endian=False)


def sha1_of(values: Any) -> pa.StringArray:
    """SHA-1 in hexadecimal digits."""
    return _digest(values, _sha1_block, _SHA1_START, (_MD5_SINES, _MD5_TURNS), 5, big_endian=True)


def sha256_of(values: Any, bits: int = 256) -> pa.StringArray:
    """SHA-256 or SHA-224 in hexadecimal digits."""
    start, constants = _sha2_numbers(bits)
    return _digest(
        values, _sha256_block, start, (constants, _MD5_TURNS), bits // 32, big_endian=True
    )


def crc32_of(values: Any) -> NDArray[np.int64]:
    """CRC-32."""
    data, starts = bytes_of(values)
    made = np.empty(len(starts) - 1, np.int64)
    _crc(data, starts, _crc_table(), made)
    return made


@lru_cache(maxsize=2)
def _sha2_numbers(bits: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """The first state (square roots of primes) and the constants of the rounds (cube roots), 32 bits after the point.

    SHA-224 has the second 32 bits of the roots of the ninth to sixteenth prime.
    """
    primes = [n for n in range(2, 312) if all(n % d for d in range(2, math.isqrt(n) + 1))]
    constants = [_cube_root(prime << 96) % 2**32 for prime in primes[:64]]
    roots = primes[:8] if bits == 256 else primes[8:16]
    shift = 64 if bits == 256 else 128
    start = [math.isqrt(prime << shift) % 2**32 for prime in roots]
    return np.array(start, np.uint32), np.array(constants, np.uint32)


def _cube_root(number: int) -> int:
    low, high = 0, 1 << 40
    while low < high:
        middle = (low + high + 1) // 2
        if middle**3 <= number:
            low = middle
        else:
            high = middle - 1
    return low


@lru_cache(maxsize=1)
def _crc_table() -> NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(0xEDB88320), table >> 1)
    return table.astype(np.uint32)


def _digest(
    values: Any,
    block: Any,
    start: NDArray[np.uint32],
    constants: tuple[NDArray[np.uint32], NDArray[np.uint32]],
    words: int,
    *,
    big_endian: bool,
) -> pa.StringArray:
    data, starts = bytes_of(values)
    count = len(starts) - 1
    made = np.empty(8 * words * count, np.uint8)
    block(data, starts, (start, *constants, _HEX), (words, big_endian), made)
    return texts_of(np.arange(count + 1, dtype=np.int64) * (8 * words), made, values)


@njit(cache=True, nogil=True)
def _padded(data, at, end, number, big_endian, words):  # type: ignore[no-untyped-def]
    """Put a block of a text into 16 words: its bytes, then a bit and zeros, and its length in bits at the very end."""
    size = end - at
    begin = at + number * _BLOCK
    blocks = (size + 8) // _BLOCK + 1
    for word in range(16):
        made = np.uint32(0)
        for byte in range(4):
            place = begin + 4 * word + byte
            value = np.uint32(0)
            if place < end:
                value = np.uint32(data[place])
            elif place == end:
                value = np.uint32(0x80)
            shift = np.uint32(24 - 8 * byte if big_endian else 8 * byte)
            made |= value << shift
        words[word] = made
    if number == blocks - 1:
        low = np.uint32((size << 3) & 0xFFFFFFFF)
        high = np.uint32((size >> 29) & 0xFFFFFFFF)
        words[14] = high if big_endian else low
        words[15] = low if big_endian else high


@njit(cache=True, nogil=True)
def _show(state, words, big_endian, digits, made, to):  # type: ignore[no-untyped-def]
    for word in range(words):
        for byte in range(4):
            value = int(state[word] >> np.uint32(24 - 8 * byte if big_endian else 8 * byte)) & 255
            made[to] = digits[value >> 4]
            made[to + 1] = digits[value & 15]
            to += 2


@njit(cache=True, nogil=True)
def _turned(value, by):  # type: ignore[no-untyped-def]
    return np.uint32(value << by) | np.uint32(value >> np.uint32(np.uint32(32) - by))


@njit(cache=True, nogil=True)
def _md5_block(data, starts, tables, shape, made):  # type: ignore[no-untyped-def]
    start, sines, turns, digits = tables
    count, big_endian = shape
    words = np.empty(16, np.uint32)
    state = np.empty(4, np.uint32)
    for row in range(len(starts) - 1):
        state[:] = start
        for number in range((starts[row + 1] - starts[row] + 8) // _BLOCK + 1):
            _padded(data, starts[row], starts[row + 1], number, big_endian, words)
            a, b, c, d = state[0], state[1], state[2], state[3]
            for step in range(64):
                if step < 16:
                    mixed, which = (b & c) | (~b & d), step
                elif step < 32:
                    mixed, which = (d & b) | (~d & c), (5 * step + 1) & 15
                elif step < 48:
                    mixed, which = b ^ c ^ d, (3 * step + 5) & 15
                else:
                    mixed, which = c ^ (b | ~d), (7 * step) & 15
                total = np.uint32(np.uint32(mixed) + a + sines[step] + words[which])
                a, d, c = d, c, b
                b = np.uint32(b + _turned(total, turns[step]))
            state[0] += a
            state[1] += b
            state[2] += c
            state[3] += d
        _show(state, count, big_endian, digits, made, row * 8 * count)


@njit(cache=True, nogil=True)
def _sha1_block(data, starts, tables, shape, made):  # type: ignore[no-untyped-def]
    start, _, _, digits = tables
    count, big_endian = shape
    words = np.empty(80, np.uint32)
    state = np.empty(5, np.uint32)
    one, five, thirty = np.uint32(1), np.uint32(5), np.uint32(30)
    for row in range(len(starts) - 1):
        state[:] = start
        for number in range((starts[row + 1] - starts[row] + 8) // _BLOCK + 1):
            _padded(data, starts[row], starts[row + 1], number, big_endian, words)
            for step in range(16, 80):
                mixed = words[step - 3] ^ words[step - 8] ^ words[step - 14] ^ words[step - 16]
                words[step] = _turned(mixed, one)
            a, b, c, d, e = state[0], state[1], state[2], state[3], state[4]
            for step in range(80):
                if step < 20:
                    mixed, constant = (b & c) | (~b & d), np.uint32(0x5A827999)
                elif step < 40:
                    mixed, constant = b ^ c ^ d, np.uint32(0x6ED9EBA1)
                elif step < 60:
                    mixed, constant = (b & c) | (b & d) | (c & d), np.uint32(0x8F1BBCDC)
                else:
                    mixed, constant = b ^ c ^ d, np.uint32(0xCA62C1D6)
                total = np.uint32(_turned(a, five) + np.uint32(mixed) + e + constant + words[step])
                e, d, c, b, a = d, c, _turned(b, thirty), a, total
            state[0] += a
            state[1] += b
            state[2] += c
            state[3] += d
            state[4] += e
        _show(state, count, big_endian, digits, made, row * 8 * count)


@njit(cache=True, nogil=True)
def _sha256_block(data, starts, tables, shape, made):  # type: ignore[no-untyped-def]
    start, constants, _, digits = tables
    count, big_endian = shape
    words = np.empty(64, np.uint32)
    state = np.empty(8, np.uint32)
    u = np.uint32
    for row in range(len(starts) - 1):
        state[:] = start
        for number in range((starts[row + 1] - starts[row] + 8) // _BLOCK + 1):
            _padded(data, starts[row], starts[row + 1], number, big_endian, words)
            for step in range(16, 64):
                x, y = words[step - 15], words[step - 2]
                small = _turned(x, u(25)) ^ _turned(x, u(14)) ^ (x >> u(3))
                large = _turned(y, u(15)) ^ _turned(y, u(13)) ^ (y >> u(10))
                words[step] = u(words[step - 16] + u(small) + words[step - 7] + u(large))
            a, b, c, d = state[0], state[1], state[2], state[3]
            e, f, g, h = state[4], state[5], state[6], state[7]
            for step in range(64):
                large = _turned(e, u(26)) ^ _turned(e, u(21)) ^ _turned(e, u(7))
                chosen = (e & f) ^ (~e & g)
                one = u(h + u(large) + u(chosen) + constants[step] + words[step])
                small = _turned(a, u(30)) ^ _turned(a, u(19)) ^ _turned(a, u(10))
                two = u(u(small) + u((a & b) ^ (a & c) ^ (b & c)))
                h, g, f, e, d, c, b, a = g, f, e, u(d + one), c, b, a, u(one + two)
            state[0] += a
            state[1] += b
            state[2] += c
            state[3] += d
            state[4] += e
            state[5] += f
            state[6] += g
            state[7] += h
        _show(state, count, big_endian, digits, made, row * 8 * count)


@njit(cache=True, nogil=True)
def _crc(data, starts, table, made):  # type: ignore[no-untyped-def]
    for row in range(len(made)):
        value = np.uint32(0xFFFFFFFF)
        for at in range(starts[row], starts[row + 1]):
            which = (value ^ np.uint32(data[at])) & np.uint32(0xFF)
            value = np.uint32(table[which] ^ (value >> np.uint32(8)))
        made[row] = np.int64(value ^ np.uint32(0xFFFFFFFF))


def warm() -> None:
    """Compile this module's kernels."""
    texts = pa.nulls(1, pa.string()).fill_null("a")
    md5_of(texts)
    sha1_of(texts)
    sha256_of(texts)
    crc32_of(texts)
