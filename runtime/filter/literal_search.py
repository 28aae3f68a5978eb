"""Occurrences of many literals in the texts of a column, and what they mean to the patterns that use them.

A literal has a list of atoms for every place at which a pattern wants it (`text_searches.Place`). It is searched for only as its
places ask: anywhere, at the start, at the end (`literal_kernels`). New literals are entered into the tables that are there;
nothing is built anew, so one query more costs its own literals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.adapt import settings
from cqc.runtime.columns.growing_array import Growing
from cqc.runtime.filter.linked_lists import AtomLists
from cqc.runtime.filter.literal_kernels import (
    GRAMS,
    LONGEST_GRAM,
    MOST_HASHED,
    EndTable,
    GramTable,
    Literals,
    Occurrences,
    count_grams,
    enter_ends,
    enter_grams,
    find_ends,
    find_grams,
)
from cqc.runtime.filter.text_searches import Place
from cqc.runtime.state.lanes import text_buffers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from cqc.runtime.filter.point_index import Hits

_PLACES = len(Place)
_INSIDE = (Place.ANYWHERE, Place.CANDIDATE)  # the others are at the start, but for END
_ROOM = 4096  # occurrences that a search has room for at first
_NONE = np.int32(-1)
_LEAST_HEADS = 64


class LiteralSearch:
    """Finds literals; each has a list of atoms for every place."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._lists = AtomLists()
        self._ends = Growing(np.int64)
        self._ends.append(0)
        self._bytes = Growing(np.uint8)
        self._waiting: list[bytes] = []  # literals whose bytes are not yet there
        self._anywhere = [_Grams(size) for size in range(1, LONGEST_GRAM + 1)]
        self._start, self._end = _Ends(backwards=False), _Ends(backwards=True)

    @property
    def nbytes(self) -> int:
        """Memory, about; a literal in the dict is counted as 150 bytes."""
        tables = sum(each.nbytes for each in self._anywhere) + self._start.nbytes + self._end.nbytes
        return self._lists.nbytes + self._bytes.nbytes + tables + 150 * len(self._numbers)

    def add(self, literal: str, place: Place, atom: int) -> None:
        """Report occurrences of the literal at the place as hits of the atom."""
        key = literal.encode()
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._numbers)
            self._waiting.append(key)
            self._lists.reserve((number + 1) * _PLACES)
        self._lists.add(number * _PLACES + place.value, atom)
        if place in _INSIDE:
            self._anywhere[min(len(key), LONGEST_GRAM) - 1].want(number)
        elif place is Place.END:
            self._end.want(number)
        else:
            self._start.want(number)

    def remove(self, literal: str, place: Place, atom: int) -> None:
        """Undo `add`. A literal without atoms stays until there are many of them."""
        self._lists.remove(self._numbers[literal.encode()] * _PLACES + place.value, atom)
        if len(self._numbers) > max(64, 2 * self._lists.lists_in_use):
            self._purge()

    def hits(self, texts: Any) -> tuple[Hits, Hits]:
        """Hits that are certain, and candidates."""
        offsets, data = text_buffers(texts)
        literals = self._literals()
        sure: list[Hits] = []
        maybe: list[Hits] = []
        if not len(data):
            return together(sure), together(maybe)
        for grams in self._anywhere:
            found = grams.find(literals, offsets, data)
            if found is not None and len(found.texts):
                lists = found.literals * np.int32(_PLACES)
                sure.append(self._spread(found.texts, lists, Place.ANYWHERE))
                maybe.append(self._spread(found.texts, lists, Place.CANDIDATE))
        found = self._start.find(literals, offsets, data)
        if found is not None and len(found.texts):
            lists = found.literals * np.int32(_PLACES)
            sure.append(self._spread(found.texts, lists, Place.START))
            lengths = np.diff(self._ends.view())[found.literals]
            whole = lengths == np.diff(offsets)[found.texts]
            sure.append(self._spread(found.texts[whole], lists[whole], Place.WHOLE))
        found = self._end.find(literals, offsets, data)
        if found is not None and len(found.texts):
            lists = found.literals * np.int32(_PLACES)
            sure.append(self._spread(found.texts, lists, Place.END))
        return together(sure), together(maybe)

    def _literals(self) -> Literals:
        """The bytes of all literals, with those of new ones: thousands of queries bring theirs at once."""
        if self._waiting:
            lengths = np.fromiter(map(len, self._waiting), np.int64, len(self._waiting))
            self._ends.extend(len(self._bytes) + np.cumsum(lengths))
            self._bytes.extend(np.frombuffer(b"".join(self._waiting), np.uint8))
            self._waiting = []
        return Literals(self._ends.view(), self._bytes.view())

    def _spread(self, texts: NDArray[np.int32], lists: NDArray[np.int32], place: Place) -> Hits:
        return self._lists.spread(texts, lists + np.int32(place.value))

    def _purge(self) -> None:
        """Start again with the literals that have atoms."""
        kept = [
            (text, place, self._lists.members(number * _PLACES + place.value))
            for text, number in self._numbers.items()
            for place in Place
        ]
        self.__init__()  # type: ignore[misc]  # the empty state
        for text, place, atoms in kept:
            for atom in atoms:
                self.add(text.decode(), place, atom)


class _Entered:
    """Which literals are in a table, and which wait for the next search."""

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._waiting: list[int] = []

    def want(self, number: int) -> None:
        """Have the literal in the table from the next search on."""
        if number not in self._known:
            self._known.add(number)
            self._waiting.append(number)

    def _take_waiting(self) -> NDArray[np.int32]:
        numbers, self._waiting = np.array(self._waiting, np.int32), []
        return numbers


class _Grams(_Entered):
    """Literals that may be anywhere."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size
        self._wait = 0  # searches before the grams may be chosen anew
        self._bits = np.zeros(0, np.uint64)
        self._heads = np.zeros(0, np.int32)
        self._links = np.zeros(0, np.int32)
        self._gram_at = np.zeros(0, np.int32)

    @property
    def nbytes(self) -> int:
        arrays = (self._bits, self._heads, self._links, self._gram_at)
        return sum(each.nbytes for each in arrays) + 60 * len(self._known)

    def find(
        self, literals: Literals, offsets: NDArray[np.int64], data: NDArray[np.uint8]
    ) -> Occurrences | None:
        """Where the literals are; None where there are none to look for."""
        if not self._known:
            return None
        if self._waiting:
            self._enter(literals, data)
        table = GramTable(self._size, self._bits, self._heads, self._links, self._gram_at)
        found, compared = _search(find_grams, offsets, data, literals, table)
        self._wait = max(self._wait - 1, 0)
        if settings.GRAMS_DEAR * compared > len(data) + GRAMS and not self._wait:
            self._wait = (
                settings.GRAMS_PATIENCE
            )  # the texts are not like those that the grams were chosen by
            self._enter_all(literals, data)
        return found

    def _enter(self, literals: Literals, data: NDArray[np.uint8]) -> None:
        if 2 * len(self._known) > len(self._heads):
            size = 1 << (4 * len(self._known) - 1).bit_length()
            self._heads = np.zeros(min(max(size, _LEAST_HEADS), GRAMS), np.int32)
            self._enter_all(literals, data)
        else:
            self._enter_waiting(literals, data)

    def _enter_all(self, literals: Literals, data: NDArray[np.uint8]) -> None:
        """Begin with an empty table."""
        self._bits = np.zeros(GRAMS // 64, np.uint64)
        self._heads[:] = _NONE
        self._waiting = sorted(self._known)
        self._enter_waiting(literals, data)

    def _enter_waiting(self, literals: Literals, data: NDArray[np.uint8]) -> None:
        count = len(literals.ends) - 1
        self._links, self._gram_at = _longer(self._links, count), _longer(self._gram_at, count)
        table = GramTable(self._size, self._bits, self._heads, self._links, self._gram_at)
        enter_grams(literals, self._take_waiting(), table, self._common(data))

    def _common(self, data: NDArray[np.uint8]) -> NDArray[np.int32]:
        """How often each gram is in some stretches of the texts."""
        counts, step = np.zeros(GRAMS, np.int32), max(len(data) // 16, 1)
        for begin in range(0, len(data), step):
            count_grams(
                data[begin : begin + settings.GRAMS_SAMPLED_BYTES // 16], self._size, counts
            )
        return counts


class _Ends(_Entered):
    """Literals at one end of a text."""

    def __init__(self, *, backwards: bool) -> None:
        super().__init__()
        self._backwards = backwards
        self._lengths = np.zeros(MOST_HASHED + 1, np.bool_)
        self._heads = np.zeros(0, np.int32)
        self._links = np.zeros(0, np.int32)
        self._hashes = np.zeros(0, np.uint64)

    @property
    def nbytes(self) -> int:
        arrays = (self._lengths, self._heads, self._links, self._hashes)
        return sum(each.nbytes for each in arrays) + 60 * len(self._known)

    def find(
        self, literals: Literals, offsets: NDArray[np.int64], data: NDArray[np.uint8]
    ) -> Occurrences | None:
        """Where the literals are; None where there are none to look for."""
        if not self._known:
            return None
        if self._waiting:
            self._enter(literals)
        return _search(find_ends, offsets, data, literals, self._table())[0]

    def _table(self) -> EndTable:
        return EndTable(self._backwards, self._lengths, self._heads, self._links, self._hashes)

    def _enter(self, literals: Literals) -> None:
        count = len(literals.ends) - 1
        if 2 * len(self._known) > len(self._heads):
            self._heads = np.full(1 << (4 * len(self._known)).bit_length(), _NONE, np.int32)
            self._waiting = sorted(self._known)
        self._links, self._hashes = _longer(self._links, count), _longer(self._hashes, count)
        enter_ends(literals, self._take_waiting(), self._table())


def _search(
    kernel: Callable[..., tuple[int, int, int]],
    offsets: NDArray[np.int64],
    data: NDArray[np.uint8],
    literals: Literals,
    table: GramTable | EndTable,
) -> tuple[Occurrences, int]:
    """All occurrences, by as many calls as there is room for in each; and how many comparisons it took."""
    parts, text, compared, room = [], 0, 0, _ROOM
    while True:
        found = Occurrences(np.empty(room, np.int32), np.empty(room, np.int32))
        count, text, more = kernel(offsets, data, literals, table, text, found)
        compared += more
        parts.append((found.texts[:count], found.literals[:count]))
        if text == len(offsets) - 1:
            break
        room *= 4
    return Occurrences(*together(parts)), compared


def _longer(array: NDArray[Any], length: int) -> NDArray[Any]:
    """The array with room for so many."""
    if len(array) >= length:
        return array
    grown = np.zeros(max(length, 2 * len(array)), array.dtype)
    grown[: len(array)] = array
    return grown


def together(hits: Iterable[Hits]) -> Hits:
    """Hits of several searches as one."""
    every = list(hits)
    if not every:
        return np.empty(0, np.int32), np.empty(0, np.int32)
    if len(every) == 1:
        return every[0]
    return np.concatenate([each[0] for each in every]), np.concatenate([each[1] for each in every])


def warm() -> None:
    """Compile the kernels."""
    import pyarrow as pa

    search = LiteralSearch()
    for place in Place:
        for literal in ("a", "ab", "abc", "abcd"):
            search.add(literal, place, 2)
    search.hits(pa.array(["abcd", "xabcd", None]))
