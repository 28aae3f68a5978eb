"""Equal values kept once, and forgotten with their last user; and dense numbers that are given again once free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from bitarray import bitarray
from bitarray.util import zeros

if TYPE_CHECKING:
    from collections.abc import Hashable

Kept = TypeVar("Kept")


class _Entry(Generic[Kept]):
    __slots__ = ("users", "value")

    def __init__(self, value: Kept) -> None:
        self.value = value
        self.users = 0


class Interner(Generic[Kept]):
    """A pool of equal values. A hundred thousand queries that select the same columns hold one tuple of outputs."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[
            Hashable, _Entry[Kept]
        ] = {}  # one lookup: hashing a key is most of the work

    def take(self, key: Hashable, value: Kept) -> Kept:
        """The value kept under an equal key, this one when there is none; it has one more user now."""
        entry = self._kept.get(key)
        if entry is None:
            entry = self._kept[key] = _Entry(value)
        entry.users += 1
        return entry.value

    def release(self, key: Hashable) -> None:
        """One user less."""
        entry = self._kept[key]
        entry.users -= 1
        if entry.users == 0:
            del self._kept[key]

    def __len__(self) -> int:
        return len(self._kept)


class Numbers:
    """Dense numbers: always the smallest that nobody has.

    One bit a number, and a search that goes by words: as quick as a heap of free numbers, and a number that is claimed when
    a graph is read back costs one bit, where the heap had to be searched.
    """

    __slots__ = ("_all_taken_below", "_taken")

    def __init__(self) -> None:
        self._taken = bitarray()
        self._all_taken_below = 0

    def take(self) -> int:
        number = self._taken.find(0, self._all_taken_below)
        if number < 0:
            number = len(self._taken)
            self._taken.append(1)
        else:
            self._taken[number] = 1
        self._all_taken_below = number + 1
        return number

    def take_exactly(self, number: int) -> None:
        """Claim one number, for a graph that is read back."""
        if number >= len(self._taken):
            self._taken.extend(zeros(number + 1 - len(self._taken)))
        self._taken[number] = 1

    def release(self, number: int) -> None:
        self._taken[number] = 0
        self._all_taken_below = min(self._all_taken_below, number)
