"""Characters of texts put in the place of others, over whole columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cqc.runtime.columns.bytes.byte_columns import bytes_of, texts_of
from cqc.runtime.kernel import njit

_SAME = -1


def translated_texts(texts: pa.StringArray, search: str, put: str) -> pa.StringArray:
    """Each character of `search` becomes the one at its place in `put`, or nothing where that is shorter; the first of equal ones counts."""
    places = {character: at for at, character in reversed([*enumerate(search)])}
    table = np.full(0x80, _SAME, np.int64)
    others = sorted(ord(each) for each in places if ord(each) >= 0x80)
    points = np.array(others, np.int64)
    for character, at in places.items():
        if ord(character) < 0x80:
            table[ord(character)] = at
    which = np.array([places[chr(point)] for point in others], np.int64)
    parts = [put[at].encode() if at < len(put) else b"" for at in range(len(search))]
    begins = np.zeros(len(parts) + 1, np.int64)
    begins[1:] = np.cumsum([len(part) for part in parts])
    data, starts = bytes_of(texts)
    offsets = np.zeros(len(starts), np.int64)
    widest = max(map(len, parts), default=1)
    made = np.empty(len(data) * max(widest, 1), np.uint8)
    given = np.frombuffer(b"".join(parts) or b"\0", np.uint8).copy()
    _translate(data, starts, table, (points, which), (given, begins), offsets, made)
    return texts_of(offsets, made[: offsets[-1]], texts)


@njit(cache=True, nogil=True)
def _translate(data, starts, table, beyond, puts, offsets, made):  # type: ignore[no-untyped-def]
    points, which = beyond
    given, begins = puts
    to = 0
    for row in range(len(starts) - 1):
        at, end = starts[row], starts[row + 1]
        while at < end:
            lead = int(data[at])
            size, place = 1, np.int64(_SAME)
            if lead < 0x80:
                place = table[lead]
            else:
                size = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
                if len(points):
                    point = lead & (0x7F >> size)
                    for byte in range(1, size):
                        point = (point << 6) | (int(data[at + byte]) & 0x3F)
                    found = np.searchsorted(points, point)
                    if found < len(points) and points[found] == point:
                        place = which[found]
            if place < 0:
                for byte in range(size):
                    made[to + byte] = data[at + byte]
                to += size
            else:
                for byte in range(begins[place], begins[place + 1]):
                    made[to] = given[byte]
                    to += 1
            at += size
        offsets[row + 1] = to


def warm() -> None:
    """Compile this module's kernels."""
    translated_texts(pa.array(["aé"], pa.string()), "é", "e")
