r"""Kernels that find many literals in many texts: by a few bytes anywhere, or by a hash of the whole at either end.

A literal that may be anywhere is entered under one *gram*, a few neighbouring bytes of it that are rare in the texts. The texts
are read once, byte by byte, and at each place one bit says whether any literal has the gram that ends there; only then is
something compared. A literal at the start or the end is entered under a hash of all its bytes: each text is hashed from that end,
as far as the longest literal, and looked up at the lengths that there are.

    literals  %mimikatz%  under `katz`          %\net.exe  under the hash of it, length 8, from the end
    text      c:\tools\mimikatz.exe            `katz` is there: compare; at length 8 from the end: `katz.exe`, no
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

GRAMS = 1 << 16
MOST_HASHED = 32  # bytes of a literal at an end: those of longer ones are compared
LONGEST_GRAM = 4
_ONE = np.uint64(1)


class Literals(NamedTuple):
    """The bytes of all literals, one after another."""

    ends: NDArray[np.int64]  # where each ends; one more at the front
    data: NDArray[np.uint8]


class GramTable(NamedTuple):
    """Literals by one gram of so many bytes."""

    size: int
    bits: NDArray[np.uint64]  # one bit a gram: whether a literal is entered under it
    heads: NDArray[np.int32]  # a power of two: grams that differ may share one
    links: NDArray[np.int32]  # by literal, the next one under the same head
    gram_at: NDArray[np.int32]  # by literal, where in it the gram ends


class EndTable(NamedTuple):
    """Literals by the hash of their bytes from one end, or of the first so many."""

    backwards: bool
    lengths: NDArray[np.bool_]  # whether so many bytes of a literal were hashed
    heads: NDArray[np.int32]
    links: NDArray[np.int32]
    hashes: NDArray[np.uint64]  # by literal


class Occurrences(NamedTuple):
    """Where something was found."""

    texts: NDArray[np.int32]
    literals: NDArray[np.int32]


@njit(cache=True, nogil=True, inline="always")
def _gram_number(gram):  # type: ignore[no-untyped-def]
    mixed = (gram * np.uint64(2654435761)) & np.uint64(0xFFFFFFFF)
    return np.int64(mixed >> np.uint64(16))


@njit(cache=True, nogil=True, inline="always")
def _mask(size):  # type: ignore[no-untyped-def]
    return (np.uint64(1) << np.uint64(8 * size)) - np.uint64(1)


@njit(cache=True, nogil=True)
def count_grams(data, size, counts):  # type: ignore[no-untyped-def]
    """Add how often each gram is in some bytes."""
    gram, mask = np.uint64(0), _mask(size)
    for at in range(len(data)):
        gram = ((gram << np.uint64(8)) | np.uint64(data[at])) & mask
        counts[_gram_number(gram)] += 1


@njit(cache=True, nogil=True)
def enter_grams(literals, numbers, table, counts):  # type: ignore[no-untyped-def]
    """Enter literals, each under its gram that was seen least."""
    mask = _mask(table.size)
    for number in numbers:
        begin, end = literals.ends[number], literals.ends[number + 1]
        gram, best, fewest = np.uint64(0), np.int64(-1), np.int64(-1)
        for at in range(begin, end):
            gram = ((gram << np.uint64(8)) | np.uint64(literals.data[at])) & mask
            if at - begin + 1 < table.size:
                continue
            code = _gram_number(gram)
            if fewest < 0 or counts[code] < fewest:
                fewest, best = np.int64(counts[code]), code
                table.gram_at[number] = at - begin + 1
        home = best & (len(table.heads) - 1)
        table.links[number] = table.heads[home]
        table.heads[home] = number
        table.bits[best >> 6] |= _ONE << np.uint64(best & 63)


@njit(cache=True, nogil=True)
def find_grams(offsets, data, literals, table, first, found):  # type: ignore[no-untyped-def]
    """Occurrences anywhere, from text `first` on, each literal once a text.

    Returns how many there are, the text to go on with (there was no more room for it), and how many comparisons were made.
    """
    mask, ends, letters = _mask(table.size), literals.ends, literals.data
    bits, heads, links, gram_at = table.bits, table.heads, table.links, table.gram_at
    texts, numbers = found.texts, found.literals
    count, compared, room = 0, 0, len(found.texts)
    seen = np.full(len(ends) - 1, -1, np.int32)  # by literal, the last text it was found in
    # Unsigned places: numba would otherwise test each for being negative.
    homes, before_whole = np.uint64(len(heads) - 1), np.uint64(table.size - 1)
    for text in range(first, len(offsets) - 1):
        begin, end = np.uint64(offsets[text]), np.uint64(offsets[text + 1])
        before, gram, at = count, np.uint64(0), begin
        while at < min(begin + before_whole, end):
            gram = (gram << np.uint64(8)) | np.uint64(data[at])
            at += _ONE
        while at < end:
            gram = ((gram << np.uint64(8)) | np.uint64(data[at])) & mask
            at += _ONE
            code = np.uint64(_gram_number(gram))
            if (bits[code >> np.uint64(6)] >> (code & np.uint64(63))) & _ONE == 0:
                continue
            number = heads[code & homes]
            while number >= 0:
                if seen[number] != text:
                    compared += 1
                    start = np.int64(at) - gram_at[number]
                    own, length = ends[number], ends[number + 1] - ends[number]
                    if start >= np.int64(begin) and start + length <= np.int64(end):
                        same = 0
                        while same < length and data[start + same] == letters[own + same]:
                            same += 1
                        if same == length:
                            if count == room:
                                return before, text, compared
                            seen[number] = text
                            texts[count], numbers[count] = text, number
                            count += 1
                number = links[number]
    return count, len(offsets) - 1, compared


@njit(cache=True, nogil=True, inline="always")
def _hashed(so_far, letter):  # type: ignore[no-untyped-def]
    return (so_far ^ np.uint64(letter)) * np.uint64(0x100000001B3)


@njit(cache=True, nogil=True, inline="always")
def _home(code, size):  # type: ignore[no-untyped-def]
    return np.int64((code ^ (code >> np.uint64(32))) & np.uint64(size - 1))


@njit(cache=True, nogil=True)
def enter_ends(literals, numbers, table):  # type: ignore[no-untyped-def]
    """Enter literals under the hash of their bytes."""
    for number in numbers:
        begin, end = literals.ends[number], literals.ends[number + 1]
        code = np.uint64(0xCBF29CE484222325)
        hashed = min(end - begin, MOST_HASHED)
        for step in range(hashed):
            at = end - 1 - step if table.backwards else begin + step
            code = _hashed(code, literals.data[at])
        home = _home(code, len(table.heads))
        table.hashes[number] = code
        table.links[number] = table.heads[home]
        table.heads[home] = number
        table.lengths[hashed] = True


@njit(cache=True, nogil=True)
def find_ends(offsets, data, literals, table, first, found):  # type: ignore[no-untyped-def]
    """Occurrences at one end, from text `first` on; returns as `find_grams` does."""
    ends, letters, lengths = literals.ends, literals.data, table.lengths
    heads, links, hashes = table.heads, table.links, table.hashes
    texts, numbers = found.texts, found.literals
    count, room, compared = 0, len(found.texts), 0
    for text in range(first, len(offsets) - 1):
        begin, end = offsets[text], offsets[text + 1]
        before = count
        code = np.uint64(0xCBF29CE484222325)
        for length in range(1, min(end - begin + 1, len(lengths))):
            code = _hashed(
                code, data[end - length] if table.backwards else data[begin + length - 1]
            )
            if not lengths[length]:
                continue
            number = heads[_home(code, len(heads))]
            while number >= 0:
                whole = ends[number + 1] - ends[number]
                fits = whole == length or (length == MOST_HASHED and whole > length)
                if hashes[number] == code and fits and whole <= end - begin:
                    compared += 1
                    start = end - whole if table.backwards else begin
                    own, same = ends[number], 0
                    while same < whole and data[start + same] == letters[own + same]:
                        same += 1
                    if same == whole:
                        if count == room:
                            return before, text, compared
                        texts[count], numbers[count] = text, number
                        count += 1
                number = links[number]
    return count, len(offsets) - 1, compared
