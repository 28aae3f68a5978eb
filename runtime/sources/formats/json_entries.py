"""The declared columns as a scan of JSON looks for them: keys inside keys.

Each key on the way to a column is an *entry* of the object that it is in (a *node*; 0 is the row itself). Entries are numbered so that
those inside an object follow its own. A path is also found written out as one key of the row, `"Event.System.EventID"`, as flattened exports
have it; what is nested wins.

    id FROM 'Event.System.EventID', name      Event 0 (in node 0, its object is node 1)   System 1 (in 1, is 2)   EventID 2   name 3
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.columns.array_addresses import address
from cqc.runtime.sources.formats import json_scan as scan
from cqc.runtime.sources.formats.json_values import MOST_LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

_CASED = 0x1F000  # no character beyond has a lower case
_FINAL_SIGMA, _SIGMA = 0x3C2, 0x3C3
_DOTTED_I = 0x130
_OTHER_KEYS = 1024  # that nobody declared, and are known all the same


@dataclass(slots=True)
class _Key:
    """A key on the way to some columns."""

    name: str
    columns: list[int] = field(default_factory=list)
    flat: list[int] = field(default_factory=list)  # columns whose whole path it is
    inside: dict[str, _Key] = field(default_factory=dict)


class Entries:
    """The entries of one relation.

    Attributes:
        count: how many there are.
        of_column: by column the entry that holds its value.
        flat_of_column: by column the entry that holds it where its path is one key; -1 where it has no path.
        names: what the kernels of `json_scan` want to know.
        depth: the most objects that are inside each other on the way to a column.
    """

    def __init__(self, paths: Sequence[tuple[str, ...]]) -> None:
        root = _Key("")
        for column, keys in enumerate(paths):
            key = root
            for name in keys:
                key = key.inside.setdefault(_plain_text(fold(name)), _Key(name))
            key.columns.append(column)
            if len(keys) > 1:
                whole = ".".join(keys)
                flat = root.inside.setdefault(_plain_text(fold(whole)), _Key(whole))
                flat.flat.append(column)
        self._texts: list[str] = []
        self._parents: list[int] = []
        self._children: list[int] = []
        self._lasts: list[int] = []
        self._nodes = 1
        self.of_column = np.zeros(len(paths), np.int64)
        self.flat_of_column = np.full(len(paths), -1, np.int64)
        self.depth = max((len(keys) for keys in paths), default=1)
        self._number(root, 0)
        self.count = len(self._texts)
        self.names = self._tables()

    def _number(self, parent: _Key, node: int) -> None:
        for key in parent.inside.values():
            entry = len(self._texts)
            self._texts.append(key.name)
            self._parents.append(node)
            self._children.append(-1)
            self._lasts.append(0)
            self.of_column[key.columns] = entry
            self.flat_of_column[key.flat] = entry
            if key.inside:
                child = self._children[entry] = self._nodes
                self._nodes += 1
                self._number(key, child)
            self._lasts[entry] = len(self._texts)

    def _tables(self) -> tuple[Any, ...]:
        """A table of slots, the folded names, the names as declared, the lower case of letters, and how entries hang together."""
        folded = [_letters([_plain(ord(letter)) for letter in fold(name)]) for name in self._texts]
        exact = [_letters([ord(letter) for letter in name]) for name in self._texts]
        size = 8
        while size < 2 * len(self._texts):
            size *= 2
        slots = np.full(size, -1, np.int32)
        for entry, letters in enumerate(folded):
            slot = scan.slot_of(self._parents[entry], letters, len(letters)) & (size - 1)
            while slots[slot] >= 0:
                slot = (slot + 1) & (size - 1)
            slots[slot] = entry
        links = [np.array(each, np.int64) for each in (self._parents, self._children, self._lasts)]
        return slots, *_joined(folded), *_joined(exact), _lower_letters(), *links

    def unread(self, columns: Iterable[int]) -> NDArray[np.uint8]:
        """Which entries hold nothing but some columns of text, which nobody reads."""
        found = np.zeros(self.count, np.uint8)
        unread = np.zeros(len(self.of_column), np.bool_)
        unread[list(columns)] = True
        unread &= self.flat_of_column < 0
        found[self.of_column[unread]] = 1
        found[self.of_column[~unread]] = 0
        return found

    def room(self, unread: NDArray[np.uint8] | None = None) -> tuple[Any, ...]:
        """What the scan needs beside, which whoever scans has to keep.

        Open brackets; a key as it is and folded; which key each entry has; the objects that are open; what was seen. Then the keys that are
        known: a table of slots; of each key its object, length, place in the bytes, entry, whether it is spelled as declared, the number of
        its own object, where the key is known that came behind it last, and whether it is text that nobody reads (the first of them is no key,
        but what comes before all keys of a row); the bytes; how many of both there are. Then where some of these are in memory, for rows with
        known keys only; in which row each entry came last; last, which entries nobody reads (`unread`).
        """
        longest = int(np.diff(self.names[2]).max())
        keys = 2 * self.count + _OTHER_KEYS  # others are looked up each time
        slots = np.full(1 << (2 * keys).bit_length(), -1, np.int32)
        known, texts = (
            np.empty((keys, 8), np.int64),
            np.empty(32 * keys + 8, np.uint8),
        )  # 8 are read at a time
        known[0] = 0
        levels, opened = (
            np.zeros(MOST_LEVELS, np.uint8),
            np.zeros(2 * self.depth + 2, np.int64),
        )
        seen, stamps = np.zeros(self.count, np.uint8), np.zeros(self.count, np.int64)
        places = (slots, len(slots) - 1, known, texts, levels, opened, seen, stamps)
        return (
            levels,
            np.empty(longest + 1, np.int32),
            np.empty(longest + 2, np.int32),
            np.empty((self.count, 3), np.int64),
            opened,
            seen,
            (slots, known, texts, np.array([1, 0], np.int64)),
            tuple(each if isinstance(each, int) else address(each) for each in places),
            stamps,
            np.zeros(self.count, np.uint8) if unread is None else unread,
        )


def _letters(codes: list[int]) -> NDArray[np.int32]:
    return np.array(codes, np.int32)


def _joined(parts: list[NDArray[np.int32]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return np.concatenate(parts), offsets


def _plain(code: int) -> int:
    # Which of the two a capital sigma becomes depends on what follows it; here they are one.
    return _SIGMA if code == _FINAL_SIGMA else code


def _plain_text(text: str) -> str:
    return text.replace(chr(_FINAL_SIGMA), chr(_SIGMA))


@functools.cache
def _lower_letters() -> NDArray[np.int32]:
    """The lower case of each character that has one of its own."""
    table = np.arange(_CASED, dtype=np.int32)
    table[_DOTTED_I] = 0  # it alone becomes two
    text = table.tobytes().decode("utf-32-le", "surrogatepass").lower()
    table = np.array(np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.int32))
    table[_DOTTED_I] = _DOTTED_I
    table[table == _FINAL_SIGMA] = _SIGMA
    return table
