"""Equal values kept once, and forgotten with their last user; and dense numbers that are given again once free."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

Kept = TypeVar("Kept")


class Interner(Generic[Kept]):
    """A pool of equal values. A hundred thousand queries that select the same columns hold one tuple of outputs."""

    __slots__ = ("_kept", "_users")

    def __init__(self) -> None:
        self._kept: dict[Hashable, Kept] = {}
        self._users: dict[Hashable, int] = {}

    def take(self, key: Hashable, value: Kept) -> Kept:
        """The value kept under an equal key, this one when there is none; it has one more user now."""
        self._users[key] = self._users.get(key, 0) + 1
        return self._kept.setdefault(key, value)

    def release(self, key: Hashable) -> None:
        """One user less."""
        self._users[key] -= 1
        if self._users[key] == 0:
            del self._users[key], self._kept[key]

    def __len__(self) -> int:
        return len(self._kept)


class Numbers:
    """Dense numbers: always the smallest that nobody has."""

    __slots__ = ("_free", "_next")

    def __init__(self) -> None:
        self._free: list[int] = []
        self._next = 0

    def take(self) -> int:
        if self._free:
            return heappop(self._free)
        self._next += 1
        return self._next - 1

    def take_exactly(self, number: int) -> None:
        """Claim one number, for a graph that is read back."""
        while self._next <= number:
            heappush(self._free, self._next)
            self._next += 1
        self._free.remove(number)

    def release(self, number: int) -> None:
        heappush(self._free, number)
