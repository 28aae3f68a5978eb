"""The elements of a JSON array as they were written, one line each, without an object for any value in them."""

from __future__ import annotations

import numpy as np

from cqc.runtime.columns.array_addresses import address
from cqc.runtime.sources.formats import json_values as values
from cqc.runtime.sources.formats.json_rows import JsonError, as_utf8, what_is_wrong

_OPEN, _OPEN_LIST, _CLOSE_LIST, _COMMA = b"{[],"
_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")  # inside of texts they cannot stand


class TooManyRowsError(ValueError):
    """An array with more elements than it may have."""


def lines_of_array(text: bytes, most: int) -> bytes:
    """The objects of an array, or one object, each on a line of its own.

    Raises:
        JsonError: when the text is not JSON.
        TypeError: when it is something else than an object or an array of objects.
        TooManyRowsError: when there are more than `most`.
    """
    text = as_utf8(text)
    data = np.frombuffer(text, np.uint8)
    place, stop = address(data), len(data)
    levels = np.zeros(values.MOST_LEVELS, np.uint8)
    room = address(levels)

    def after_white(at: int) -> int:
        return int(values.skip_white(place, at, stop))

    def at_end(at: int) -> int:
        return int(data[at]) if at < stop else -1

    def element(at: int) -> int:
        """Where the value at a place ends."""
        end, kind = values.scan_one(place, at, stop, room)
        if kind < 0:
            raise JsonError(what_is_wrong(data, end, kind))
        if data[at] != _OPEN:
            raise TypeError("not an object")
        return int(end)

    spans: list[tuple[int, int]] = []
    at = after_white(0)
    is_array = at_end(at) == _OPEN_LIST
    if is_array:
        at = after_white(at + 1)
    while not (is_array and not spans and at_end(at) == _CLOSE_LIST):
        if len(spans) == most:
            raise TooManyRowsError
        spans.append((at, element(at)))
        at = after_white(spans[-1][1])
        if not is_array or at_end(at) != _COMMA:
            break
        at = after_white(at + 1)
    if is_array:
        if at_end(at) != _CLOSE_LIST:
            raise JsonError(what_is_wrong(data, at, values.UNEXPECTED))
        at = after_white(at + 1)
    if at < stop:
        raise JsonError(f"it should end at byte {at:,}, and goes on")
    lines = [text[begin:end].translate(_ONE_LINE) for begin, end in spans]
    return b"".join(line + b"\n" for line in lines)
