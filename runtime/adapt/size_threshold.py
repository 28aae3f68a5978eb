"""How many rows go together: a threshold that doubles when twice as many wait, and halves when too few come again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cqc.runtime.adapt.settings import Sizes


class SizeThreshold:
    """A number of rows between the bounds of its sizes, or one that is `fixed`."""

    __slots__ = ("_adapts", "_sizes", "changes", "starved", "value")

    def __init__(self, sizes: Sizes, fixed: int | None = None) -> None:
        self._sizes = sizes
        self._adapts = fixed is None
        self.value = sizes.first if fixed is None else fixed
        self.starved = 0  # times in a row that too few were there
        self.changes = 0

    def saw(self, waiting: int) -> None:
        """So many wait: double where they are twice as many."""
        if self._adapts and waiting >= 2 * self.value:
            self._set(min(2 * self.value, self._sizes.most))

    def starve(self) -> None:
        """Too few were there once more: halve when that happens too often."""
        self.starved += 1
        if self.starved >= self._sizes.starved:
            self.halve(self.value)

    def halve(self, value: int) -> None:
        """Go down to half of a number."""
        if self._adapts:
            self._set(max(value // 2, self._sizes.least))

    def _set(self, value: int) -> None:
        self.changes += value != self.value
        self.value = value
        self.starved = 0
