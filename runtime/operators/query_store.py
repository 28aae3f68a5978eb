"""The queries of a filter in the form that kernels read: conjunctions by length, and programs.

Both are dense arrays. A query that goes leaves its place to the last one, so adding and removing cost what the query itself
needs. Code of removed programs stays until it is half of all code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.operators.bit_sweep import MOST_PAIRS, Conjunctions, Programs
from cqc.runtime.operators.growing import Growing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from cqc.runtime.operators.formula_bits import Code, Pair

_ABSENT = -1
_PROGRAM = MOST_PAIRS  # the group number of programs
_NO_LINKS = np.empty((0, 2), np.int32)


class QueryStore:
    """Queries by slot."""

    def __init__(self) -> None:
        self._rows = [Growing(np.int32, 2 * (group + 1)) for group in range(MOST_PAIRS)]
        self._slots = [Growing(np.int32) for _ in range(MOST_PAIRS)]
        self._place = Growing(np.int32, 2)  # by slot: group and position
        self.programs = ProgramStore()

    def __len__(self) -> int:
        return sum(map(len, self._slots)) + len(self.programs)

    @property
    def slot_count(self) -> int:
        """One more than the largest slot ever used."""
        return len(self._place)

    @property
    def nbytes(self) -> int:
        arrays = (*self._rows, *self._slots, self._place)
        return sum(array.nbytes for array in arrays) + self.programs.nbytes

    def add(self, slot: int, query: tuple[Pair, ...] | Code) -> None:
        """Put a query into a slot that is free."""
        while slot >= len(self._place):
            self._place.append((_ABSENT, 0))
        if isinstance(query, tuple):
            group = len(query) - 1
            self._rows[group].append([row for pair in query for row in pair])
            place = (group, self._slots[group].append(slot))
        else:
            place = (_PROGRAM, self.programs.add(slot, query))
        self._place.view()[slot] = place

    def remove(self, slot: int) -> Iterable[int]:
        """Take out a query; returns the row ids that it used, each as often as it did."""
        places = self._place.view()
        group, position = (int(part) for part in places[slot])
        places[slot] = (_ABSENT, 0)
        if group == _PROGRAM:
            ids, moved = self.programs.remove(position)
        else:
            rows, slots = self._rows[group], self._slots[group]
            ids = rows.view()[position].tolist()
            rows.swap_remove(position)
            moved = int(slots.view()[position]) if slots.swap_remove(position) else None
        if moved is not None:
            places[moved, 1] = position
        return ids

    def conjunctions(self) -> Conjunctions:
        """All conjunctions."""
        return Conjunctions(
            tuple(rows.view() for rows in self._rows), tuple(slots.view() for slots in self._slots)
        )

    def select(self, slots: NDArray[np.int64]) -> tuple[Conjunctions, Programs]:
        """The queries of some slots, renumbered 0, 1, .. in the order given."""
        places = self._place.view()[slots]
        rows, numbers = [], []
        for group in range(MOST_PAIRS):
            chosen = np.flatnonzero(places[:, 0] == group)
            rows.append(self._rows[group].view()[places[chosen, 1]])
            numbers.append(chosen.astype(np.int32))
        chosen = np.flatnonzero(places[:, 0] == _PROGRAM)
        return (
            Conjunctions(tuple(rows), tuple(numbers)),
            self.programs.select(places[chosen, 1], chosen.astype(np.int32)),
        )


class ProgramStore:
    """Queries as code, with guards."""

    def __init__(self) -> None:
        self._code = Growing(np.int32, 3)
        self._bounds = Growing(np.int64, 2)
        self._slots = Growing(np.int32)
        self._always_place = Growing(np.int32)  # by program: position in `_always`, or -1 if guarded
        self._always = Growing(np.int32)
        self._links = Growing(np.int32, 2)
        self._heads = Growing(np.int32)  # by row id
        self._free_links: list[int] = []
        self._guards: list[tuple[int, ...] | None] = []
        self._dead_code = 0
        self._depth = 1

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def nbytes(self) -> int:
        arrays = (self._code, self._bounds, self._slots, self._always, self._links, self._heads)
        return sum(array.nbytes for array in arrays) + 80 * len(self)

    def add(self, slot: int, code: Code) -> int:
        """Add a program; returns its number."""
        begin = len(self._code)
        self._code.extend(np.array(code.instructions, np.int32))
        self._bounds.append((begin, len(self._code)))
        self._depth = max(self._depth, code.depth)
        self._guards.append(code.guards)
        number = self._slots.append(slot)
        self._hook(number)
        return number

    def remove(self, number: int) -> tuple[list[int], int | None]:
        """Remove a program; returns its row ids, and the slot of the program that now has its number."""
        begin, end = (int(bound) for bound in self._bounds.view()[number])
        ids: list[int] = self._code.view()[begin:end, 1:].ravel().tolist()
        self._dead_code += end - begin
        self._unhook(number)
        last = len(self._slots) - 1
        if number != last:
            self._unhook(last)
        self._bounds.swap_remove(number)
        moved = self._slots.swap_remove(number)
        self._guards[number] = self._guards[-1]
        self._guards.pop()
        self._always_place.swap_remove(last)
        if moved:
            self._hook(number)
        self._compact()
        return ids, int(self._slots.view()[number]) if moved else None

    def all(self, ids: int) -> Programs:
        """Every program, for a pass over tuples whose hits have ids below `ids`."""
        while len(self._heads) < ids:
            self._heads.append(_ABSENT)
        guarded = len(self._slots) > len(self._always)
        return self._programs(
            self._slots.view(), self._always.view(), self._links.view() if guarded else _NO_LINKS
        )

    def select(self, numbers: NDArray[np.int32], slots: NDArray[np.int32]) -> Programs:
        """Some programs, unguarded, with other slots."""
        renumbered = np.zeros(len(self._slots) if len(numbers) else 0, np.int32)
        renumbered[numbers] = slots
        return self._programs(renumbered, numbers, _NO_LINKS)

    def _programs(
        self, slots: NDArray[np.int32], always: NDArray[np.int32], links: NDArray[np.int32]
    ) -> Programs:
        begin, end = np.ascontiguousarray(self._bounds.view().T)
        return Programs(
            self._code.view(), begin, end, slots, always, self._heads.view(), links, self._depth
        )

    def _hook(self, number: int) -> None:
        guards = self._guards[number]
        if number == len(self._always_place):
            self._always_place.append(_ABSENT)
        if guards is None:
            self._always_place.view()[number] = self._always.append(number)
            return
        for guard in guards:
            while guard >= len(self._heads):
                self._heads.append(_ABSENT)
            heads = self._heads.view()
            link = (number, int(heads[guard]))
            if self._free_links:
                place = self._free_links.pop()
                self._links.view()[place] = link
            else:
                place = self._links.append(link)
            heads[guard] = place

    def _unhook(self, number: int) -> None:
        guards = self._guards[number]
        if guards is None:
            place = int(self._always_place.view()[number])
            if self._always.swap_remove(place):
                self._always_place.view()[self._always.view()[place]] = place
            self._always_place.view()[number] = _ABSENT
            return
        heads, links = self._heads.view(), self._links.view()
        for guard in guards:
            before, link = _ABSENT, int(heads[guard])
            while links[link, 0] != number:
                before, link = link, int(links[link, 1])
            if before == _ABSENT:
                heads[guard] = links[link, 1]
            else:
                links[before, 1] = links[link, 1]
            self._free_links.append(link)

    def _compact(self) -> None:
        """Drop the code of removed programs when it is most of it."""
        if self._dead_code < max(1024, len(self._code) // 2):
            return
        code, bounds = self._code.view().copy(), self._bounds.view()
        self._code, self._dead_code = Growing(np.int32, 3), 0
        for number in range(len(bounds)):
            begin, end = bounds[number]
            bounds[number] = (len(self._code), len(self._code) + end - begin)
            self._code.extend(code[begin:end])
