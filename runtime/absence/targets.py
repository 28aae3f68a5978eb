"""Who wants what operators find for patterns: from slots of operators to rules of absence nodes.

A seat of a pattern may serve several rules, and the rules of a node are numbered in another order than the slots of an operator. For each
operator and each place of a node there is a table from slots to rules. With it a finding is handed over at once: as bits, each row
once for all rules (`waiting_bits`), or, where few rules want a row among very many, as rows of one rule each.

    slots 0, 1, 2 of a filter        rules 0 and 2 sit at slot 0, rule 1 at slot 2
    row with slots 101               row with rules 111
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.absence.waiting_bits import pairs_of
from cqc.runtime.kernel import njit
from cqc.runtime.lineage.bit_rows import lowest_bit
from cqc.runtime.lineage.rank_lineage import WORD_BITS, word_count

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from cqc.runtime.absence.absence_node import AbsenceNode
    from cqc.runtime.lineage.matches import Found, Seat, SlotRows


_WORDS_FOR_A_PAIR = 32  # a row of one rule costs about as much as so many words


@dataclass(slots=True, eq=False)
class Target:
    """Who wants what a seat finds: a place of a node, for a rule; `order` are the items among those of the seat."""

    node: AbsenceNode
    place: int
    rule: int
    order: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Route:
    """What an operator finds for one place of a node: the rules of slot k are rules[starts[k]:starts[k + 1]]."""

    node: AbsenceNode
    place: int
    order: tuple[int, ...]
    starts: NDArray[np.int64]
    rules: NDArray[np.int64]
    words: int
    is_same: bool  # slots and rules have the same numbers

    @staticmethod
    def of(targets: list[tuple[int, Target]]) -> Route:
        """Of slots with their targets, all at one place."""
        _, first = targets[0]
        slots = np.array([slot for slot, _ in targets], np.int64)
        rules = np.array([target.rule for _, target in targets], np.int64)
        order = np.argsort(slots, kind="stable")
        starts = np.searchsorted(slots[order], np.arange(int(slots.max()) + 2))
        words = word_count(int(rules.max()) + 1)
        is_same = bool((rules == slots).all())
        return Route(first.node, first.place, first.order, starts, rules[order], words, is_same)

    def take_bits(self, found: Found, bits: NDArray[np.uint64]) -> None:
        """Hand over the rows of a finding, whose slots are bits."""
        rows, own = self._own(bits)
        if len(rows):
            positions, taken = found.positions, slice(None) if len(rows) == len(bits) else rows
            own_positions = [positions[at][taken] for at in self.order]
            self.node.find_bits(self.place, own_positions, own, found.ts_us[taken])

    def take_stored(self, first: int, bits: NDArray[np.uint64]) -> None:
        """Hand over tuples that were stored from position `first` on; bits are the slots that want them."""
        rows, own = self._own(bits)
        if not len(rows):
            return
        positions = rows + first
        if own.size > _WORDS_FOR_A_PAIR * len(rows):
            pairs, rules = pairs_of(own)
            if own.size > _WORDS_FOR_A_PAIR * len(pairs):
                self.node.find(self.place, rules, [positions[pairs]])
                return
        self.node.find_bits(self.place, [positions], own)

    def _own(self, bits: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """The rows that some rule wants, and the rules of each as bits."""
        found: tuple[NDArray[np.int64], NDArray[np.uint64]]
        if self.is_same:
            found = the_same(bits, self.starts, self.words)
        else:
            found = to_rules(bits, self.starts, self.rules, self.words)
        return found

    def take_rows(self, found: Found, by_slot: SlotRows) -> None:
        """Hand over the rows of a finding slot by slot."""
        known = by_slot.slots < len(self.starts) - 1
        slots = by_slot.slots[known]
        begins, lengths = by_slot.begins[known], (by_slot.ends - by_slot.begins)[known]
        rules_each = self.starts[slots + 1] - self.starts[slots]
        rules = self.rules[_ranges(self.starts[slots], rules_each)]
        lengths = np.repeat(lengths, rules_each)
        rows = by_slot.rows[_ranges(np.repeat(begins, rules_each), lengths)]
        if len(rows):
            positions = [found.positions[at][rows] for at in self.order]
            self.node.find(self.place, np.repeat(rules, lengths), positions)


@dataclass(slots=True, eq=False)
class _Operator:
    """The seats of patterns at one operator, and the routes made of them while its slots keep their numbers."""

    targets: dict[Seat, list[Target]] = field(default_factory=dict)
    table: object = None
    routes: list[Route] = field(default_factory=list)

    def routes_for(self, table: object) -> list[Route]:
        if self.table is not table:
            self.table = table
            by_place: dict[Hashable, list[tuple[int, Target]]] = {}
            for seat, targets in self.targets.items():
                for each in targets:
                    key = id(each.node), each.place, each.order
                    by_place.setdefault(key, []).append((seat.slot_number, each))
            self.routes = [Route.of(each) for each in by_place.values()]
        return self.routes


class Targets:
    """All seats of patterns, by operator."""

    def __init__(self) -> None:
        self._operators: dict[Hashable, _Operator] = {}

    def listen(self, seat: Seat, target: Target) -> None:
        """Hand what a seat finds to a target from now on."""
        operator = self._operators.setdefault(seat.source, _Operator())
        operator.targets.setdefault(seat, []).append(target)
        operator.table = None

    def unlisten(self, seat: Seat, target: Target) -> None:
        """Stop that."""
        operator = self._operators[seat.source]
        operator.table = None
        operator.targets[seat].remove(target)
        if not operator.targets[seat]:
            del operator.targets[seat]
        if not operator.targets:
            del self._operators[seat.source]

    def listens(self, source: Hashable) -> bool:
        """Whether somebody wants what a source finds."""
        return source in self._operators

    def receive_stored(
        self, source: Hashable, table: object, first: int, bits: NDArray[np.uint64]
    ) -> None:
        """Note tuples that were stored from position `first` on, of which an item of a join was asked for (`item_seats`)."""
        for route in self._operators[source].routes_for(table):
            route.take_stored(first, bits)

    def receive(self, found: Found) -> None:
        """Note what an operator has found for patterns."""
        operator = self._operators.get(found.source)
        if operator is None:
            return
        by_row = found.by_row()
        if by_row is not None:
            routes = operator.routes_for(by_row.table)
            words = sum(each.words for each in routes)
            if len(found) * words <= _WORDS_FOR_A_PAIR * by_row.pairs:
                bits = by_row.bits()
                for route in routes:
                    route.take_bits(found, bits)
                return
        by_slot = found.by_slot()
        for route in operator.routes_for(by_slot.table):
            route.take_rows(found, by_slot)
        self._take_members(operator, found, by_slot)

    def _take_members(self, operator: _Operator, found: Found, by_slot: SlotRows) -> None:
        """Seats that share a slot without sharing its rows."""
        for seat, begin, end in by_slot.members:
            rows = by_slot.rows[begin:end]
            for each in operator.targets.get(seat, ()):
                taken = [found.positions[at][rows] for at in each.order]
                each.node.find(each.place, each.rule, taken)


def _ranges(begins: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of several stretches, one after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    numbers: NDArray[np.int64] = np.arange(total) + np.repeat(begins - (ends - lengths), lengths)
    return numbers


@njit(cache=True, nogil=True)
def to_rules(bits, starts, rules, words):  # type: ignore[no-untyped-def]
    """(rows that a rule wants, the rules of each as bits), of rows whose slots are bits."""
    count = bits.shape[0]
    rows, own = np.empty(count, np.int64), np.zeros((count, words), np.uint64)
    used = 0
    for row in range(count):
        is_wanted = False
        for word in range(bits.shape[1]):
            left = bits[row, word]
            while left:
                slot = word * WORD_BITS + lowest_bit(left)
                left &= left - np.uint64(1)
                if slot + 1 >= len(starts):
                    continue
                for at in range(starts[slot], starts[slot + 1]):
                    rule = rules[at]
                    own[used, rule >> 6] |= np.uint64(1) << np.uint64(rule & 63)
                    is_wanted = True
        if is_wanted:
            rows[used] = row
            used += 1
    return rows[:used], own[:used]


@njit(cache=True, nogil=True)
def the_same(bits, starts, words):  # type: ignore[no-untyped-def]
    """The same where a slot has the number of its rule."""
    mask = np.zeros(words, np.uint64)
    for slot in range(len(starts) - 1):
        if starts[slot] < starts[slot + 1]:
            mask[slot >> 6] |= np.uint64(1) << np.uint64(slot & 63)
    count, width = bits.shape[0], min(words, bits.shape[1])
    rows, own = np.empty(count, np.int64), np.zeros((count, words), np.uint64)
    used = 0
    for row in range(count):
        any_left = np.uint64(0)
        for word in range(width):
            own[used, word] = bits[row, word] & mask[word]
            any_left |= own[used, word]
        if any_left:
            rows[used] = row
            used += 1
    return rows[:used], own[:used]


def warm() -> None:
    """Compile this module's kernels."""
    the_same(np.ones((1, 1), np.uint64), np.arange(2), 1)
    to_rules(np.ones((1, 1), np.uint64), np.arange(2), np.zeros(1, np.int64), 1)
