"""The queries of a filter in the form that kernels read: conjunctions by length, and programs.

Both are dense arrays. A query that goes leaves its place to the last one, so adding and removing cost what the query itself
needs. Code of removed programs stays until it is half of all code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.columns.growing_array import Growing
from cqc.runtime.filter.bits.bit_sweep import (
    EVERY_TUPLE,
    MOST_PAIRS,
    NO_TUPLE,
    Conjunctions,
    Programs,
)
from cqc.runtime.filter.bits.formula_bits import MOST_ACCESS_PAIRS, Code, Conjunction
from cqc.runtime.filter.linked_lists import AtomLists

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_ABSENT = -1
# Groups: conjunctions of 1, 2, .. pairs; those of them with an access predicate; programs.
_WIDTHS = (*range(1, MOST_PAIRS + 1), *range(1, MOST_ACCESS_PAIRS + 1))
_PROGRAM = len(_WIDTHS)
_NO_LINKS = np.empty((0, 2), np.int32)


class QueryStore:
    """Queries by slot."""

    def __init__(self) -> None:
        self._rows = [Growing(np.int32, 2 * width) for width in _WIDTHS]
        self._slots = [Growing(np.int32) for _ in _WIDTHS]
        self._place = Growing(np.int32, 2)  # by slot: group and position
        self.programs = ProgramStore()
        self._views: Conjunctions | None = None  # of all conjunctions, until something changes
        self.conjunction_count = 0

    def __len__(self) -> int:
        return self.conjunction_count + len(self.programs)

    @property
    def accessible_count(self) -> int:
        """Conjunctions with an access predicate."""
        return sum(map(len, self._slots[MOST_PAIRS:]))

    @property
    def slot_count(self) -> int:
        """One more than the largest slot ever used."""
        return len(self._place)

    @property
    def nbytes(self) -> int:
        arrays = (*self._rows, *self._slots, self._place)
        return sum(array.nbytes for array in arrays) + self.programs.nbytes

    def add(self, slot: int, query: Conjunction | Code) -> None:
        """Put a query into a slot that is free."""
        self._views = None
        while slot >= len(self._place):
            self._place.append((_ABSENT, 0))
        if isinstance(query, Conjunction):
            group = len(query.pairs) - 1 + (MOST_PAIRS if query.access else 0)
            self._rows[group].append([row for pair in query.pairs for row in pair])
            place = (group, self._slots[group].append(slot))
            self.conjunction_count += 1
        else:
            place = (_PROGRAM, self.programs.add(slot, query))
        self._place.view()[slot] = place

    def remove(self, slot: int) -> Iterable[int]:
        """Take out a query; returns the row ids that it used, each as often as it did."""
        self._views = None
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
            self.conjunction_count -= 1
        if moved is not None:
            places[moved, 1] = position
        return ids

    def conjunctions(self) -> Conjunctions:
        """All conjunctions."""
        if self._views is None:
            self._views = Conjunctions(
                tuple(rows.view() for rows in self._rows),
                tuple(slots.view() for slots in self._slots),
            )
        return self._views

    def accessible(self, others: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Rows and slots of conjunctions with an access predicate, which is first, and so many other pairs."""
        return self._rows[MOST_PAIRS + others].view(), self._slots[MOST_PAIRS + others].view()

    def conjunctions_but(self, listed: NDArray[np.int32]) -> Conjunctions:
        """All conjunctions but those of slots with an entry in lists (`listed[slot]` is not negative)."""
        every = self.conjunctions()
        rows, slots = list(every.rows), list(every.slots)
        for group in range(MOST_PAIRS, _PROGRAM):
            known = slots[group] < len(listed)
            known[known] = listed[slots[group][known]] >= 0
            rows[group], slots[group] = rows[group][~known], slots[group][~known]
        return Conjunctions(tuple(rows), tuple(slots))

    def select(self, slots: NDArray[np.int64]) -> tuple[Conjunctions, Programs]:
        """The queries of some slots, renumbered 0, 1, .. in the order given."""
        places = self._place.view()[slots]
        rows, numbers = [], []
        for group in range(_PROGRAM):
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
        self._begin = Growing(np.int64)
        self._end = Growing(np.int64)
        self._slots = Growing(np.int32)
        self._guards: list[tuple[int, ...] | None] = []
        self._firm: list[tuple[tuple[int, int], ...]] = []
        self._guarded = AtomLists()  # by row id, the programs that it guards
        self._always = Growing(np.int32)
        self._place_in_always: dict[int, int] = {}
        self._dead_code = 0
        self._depth = 1
        self._all: Programs | None = None  # all of them, until something changes
        self._ids = -1  # and for how many row ids

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def nbytes(self) -> int:
        arrays = (self._code, self._begin, self._end, self._slots, self._always, self._guarded)
        return sum(array.nbytes for array in arrays) + 100 * len(self)

    def add(self, slot: int, code: Code) -> int:
        """Add a program; returns its number."""
        self._all = None
        self._begin.append(len(self._code))
        self._code.extend(np.array(code.instructions, np.int32))
        self._end.append(len(self._code))
        self._depth = max(self._depth, code.depth)
        self._guards.append(code.guards)
        self._firm.append(code.firm)
        number = self._slots.append(slot)
        self._hook(number)
        return number

    def remove(self, number: int) -> tuple[list[int], int | None]:
        """Remove a program; returns its row ids, and the slot of the program that now has its number."""
        self._all = None
        begin, end = int(self._begin.view()[number]), int(self._end.view()[number])
        ids: list[int] = self._code.view()[begin:end, 1:].ravel().tolist()
        self._dead_code += end - begin
        last = len(self._slots) - 1
        for gone in {number, last}:
            self._unhook(gone)
        self._guards[number], self._firm[number] = self._guards[last], self._firm[last]
        del self._guards[last], self._firm[last]
        for array in (self._begin, self._end, self._slots):
            array.swap_remove(number)
        moved = None
        if number != last:
            self._hook(number)
            moved = int(self._slots.view()[number])
        self._compact()
        return ids, moved

    def firm_pairs(self) -> NDArray[np.int32]:
        """[programs, 2 * MOST_PAIRS]: pairs that hold where the program does, then (every tuple, no tuple)."""
        padded = np.empty((len(self), 2 * MOST_PAIRS), np.int32)
        padded[:, 0::2], padded[:, 1::2] = EVERY_TUPLE, NO_TUPLE
        for number, pairs in enumerate(self._firm):
            padded[number, : 2 * len(pairs)] = [row for pair in pairs for row in pair]
        return padded

    def ids_used(self, bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """For each program the union of the bits, given by row id, over all ids that it uses."""
        code = self._code.view()
        own = bits[code[:, 1]] | bits[code[:, 2]]
        used = [
            np.bitwise_or.reduce(own[begin:end])
            for begin, end in zip(
                self._begin.view().tolist(), self._end.view().tolist(), strict=True
            )
        ]
        return np.array(used, np.uint64)

    def all(self, ids: int) -> Programs:
        """Every program, for a pass over tuples whose hits have ids below `ids`."""
        if self._all is None or self._ids != ids:
            self._guarded.reserve(ids)
            links = self._guarded.links if self._guarded.lists_in_use else _NO_LINKS
            self._all = self._programs(self._slots.view(), self._always.view(), links)
            self._ids = ids
        return self._all

    def select(self, numbers: NDArray[np.int32], slots: NDArray[np.int32]) -> Programs:
        """Some programs, unguarded, with other slots."""
        renumbered = np.zeros(len(self._slots) if len(numbers) else 0, np.int32)
        renumbered[numbers] = slots
        return self._programs(renumbered, np.ascontiguousarray(numbers), _NO_LINKS)

    def _programs(
        self, slots: NDArray[np.int32], always: NDArray[np.int32], links: NDArray[np.int32]
    ) -> Programs:
        return Programs(
            self._code.view(), self._begin.view(), self._end.view(),
            slots, always, self._guarded.heads, links, self._depth,
        )  # fmt: skip

    def _hook(self, number: int) -> None:
        guards = self._guards[number]
        if guards is None:
            self._place_in_always[number] = self._always.append(number)
            return
        if guards:
            self._guarded.reserve(max(guards) + 1)
        for guard in guards:
            self._guarded.add(guard, number)

    def _unhook(self, number: int) -> None:
        guards = self._guards[number]
        if guards is None:
            place = self._place_in_always.pop(number)
            if self._always.swap_remove(place):
                self._place_in_always[int(self._always.view()[place])] = place
            return
        for guard in guards:
            self._guarded.remove(guard, number)

    def _compact(self) -> None:
        """Drop the code of removed programs when it is most of it."""
        if self._dead_code < max(1024, len(self._code) // 2):
            return
        code = self._code.view()
        self._code, self._dead_code = Growing(np.int32, 3), 0
        begin, end = self._begin.view(), self._end.view()
        for number in range(len(begin)):
            kept = code[begin[number] : end[number]]
            begin[number], end[number] = len(self._code), len(self._code) + len(kept)
            self._code.extend(kept)
