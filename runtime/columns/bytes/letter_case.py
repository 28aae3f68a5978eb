"""Small, capital and title letters of whole columns, by tables of code points.

Python says what the other case of a letter is. Letters that become more than one, the sigma at the end of a word, and letters beyond
U+FFFF are left to it: a text with one of them is done by Python, each distinct one once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.runtime.columns.bytes.byte_columns import bytes_of, texts_of, with_others
from cqc.runtime.kernel import is_plain, njit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_SPECIAL = -1
_SIGMA = 0x3A3  # its small form depends on its place in the word
_TABLE = 0x10000
_CASELESS = 0x1F000  # pictures; no letter from here on has two cases
_SPACE, _LINE_END = 32, 10


def lowered(texts: pa.StringArray) -> Any:
    """Small letters."""
    return _cased(texts, _table_of("lower"), _table_of("lower"), str.lower)


def capital(texts: pa.StringArray) -> Any:
    """Capital letters."""
    return _cased(texts, _table_of("upper"), _table_of("upper"), str.upper)


def titled_texts(texts: pa.StringArray, one: Callable[[str], str]) -> Any:
    """The first letter of each word (between spaces) in title case, the others small; `one` does it for one text."""
    return _cased(texts, _table_of("title"), _table_of("lower"), one)


@lru_cache(maxsize=3)
def _table_of(name: str) -> NDArray[np.int32]:
    """The other case of each code point up to U+FFFF, as Python has it."""
    # A call for all of them, each between ends of lines, as 65,536 calls take a quarter of a second.
    points = "\n".join(map(chr, range(_TABLE))).replace("\n\n\n", "\n \n")
    made = getattr(points, name)().split("\n")
    table = np.array([ord(each) if len(each) == 1 else _SPECIAL for each in made], np.int32)
    table[_LINE_END] = _LINE_END
    if name != "upper":
        table[_SIGMA] = _SPECIAL
    return table


def _cased(
    texts: pa.StringArray,
    first: NDArray[np.int32],
    rest: NDArray[np.int32],
    one: Callable[[str], str],
) -> Any:
    if is_plain():
        return with_others(texts, np.ones(len(texts), np.bool_), texts, one)
    data, starts = bytes_of(texts)
    offsets = np.zeros(len(starts), np.int64)
    made = np.empty(len(data) * 3 // 2 + 4, np.uint8)
    others = np.zeros(len(texts), np.bool_)
    _change(data, starts, first, rest, offsets, made, others)
    return with_others(texts_of(offsets, made[: offsets[-1]], texts), others, texts, one)


@njit(cache=True, nogil=True)
def _change(data, starts, first, rest, offsets, made, others):  # type: ignore[no-untyped-def]
    to = 0
    for row in range(len(others)):
        at, end = starts[row], starts[row + 1]
        begins = True
        while at < end:
            lead = int(data[at])
            if lead < 0x80:
                point = first[lead] if begins else rest[lead]
                if 0 <= point < 0x80:
                    made[to] = point
                    to += 1
                    at += 1
                    begins = lead == _SPACE
                    continue
                size = 1
                old = lead
            elif lead < 0xE0:
                old = ((lead & 0x1F) << 6) | (int(data[at + 1]) & 0x3F)
                size = 2
            elif lead < 0xF0:
                old = (
                    ((lead & 0x0F) << 12)
                    | ((int(data[at + 1]) & 0x3F) << 6)
                    | (int(data[at + 2]) & 0x3F)
                )
                size = 3
            else:
                old = (
                    ((lead & 0x07) << 18)
                    | ((int(data[at + 1]) & 0x3F) << 12)
                    | ((int(data[at + 2]) & 0x3F) << 6)
                    | (int(data[at + 3]) & 0x3F)
                )
                size = 4
            begun, begins = begins, False
            if old >= _TABLE:
                if old < _CASELESS:
                    others[row] = True
                    break
                for byte in range(4):
                    made[to + byte] = data[at + byte]
                to += 4
                at += 4
                continue
            point = int(first[old] if begun else rest[old])
            if point < 0:
                others[row] = True
                break
            at += size
            if point < 0x80:
                made[to] = point
                to += 1
            elif point < 0x800:
                made[to] = 0xC0 | (point >> 6)
                made[to + 1] = 0x80 | (point & 0x3F)
                to += 2
            else:
                made[to] = 0xE0 | (point >> 12)
                made[to + 1] = 0x80 | ((point >> 6) & 0x3F)
                made[to + 2] = 0x80 | (point & 0x3F)
                to += 3
        offsets[row + 1] = to


def warm() -> None:
    """Compile this module's kernels."""
    lowered(pa.array(["Ä"], pa.string()))
