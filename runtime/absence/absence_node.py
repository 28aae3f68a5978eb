"""All queries with outer joins or EXISTS that have the same shape, decided together.

Such queries (rules) differ only in the constants of their filters and windows. Grouped filters and joins take care of these; here every
row carries the number of its rule, and each step is done for the rows of all rules at once. What operators find for a pattern is noted
as it comes. After a micro-batch the patterns are taken in turn, each before those whose guards it marks, and what passes is delivered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cqc.compiler.meaning.absence import all_patterns, decode_us
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.absence.decided_rows import DecidedRows, DecidedSeat
from cqc.runtime.absence.pattern_rows import PatternRows
from cqc.runtime.absence.tuple_bits import TupleBits
from cqc.runtime.absence.waiting_bits import BitRows
from cqc.runtime.filter.selections import SlotCounts

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from cqc.compiler.meaning.absence import Guard, Pattern
    from cqc.runtime.absence.key_times import KeyTimes
    from cqc.runtime.absence.pattern_rows import RunningGuard
    from cqc.runtime.absence.waiting_bits import Passed
    from cqc.runtime.state.shared_state import SharedState


def shape_of(patterns: Iterable[Pattern]) -> Hashable:
    """Equal for queries that share a node."""
    return tuple(
        (
            tuple(fold(item.relation.name) for item in pattern.query.items),
            pattern.items,
            tuple(_guard_shape(guard) for guard in pattern.guards),
        )
        for pattern in patterns
    )


def _guard_shape(guard: Guard) -> Hashable:
    rest = (guard.negated, guard.over, guard.streams, len(guard.reach), guard.is_join)
    own = (guard.ends, guard.keys)
    return *rest, *own, shape_of(guard.marks)


@dataclass(slots=True, eq=False)
class _Place:
    """A pattern of the node: its rows, the guards that it marks, or the seats of those to whom its rows are delivered."""

    rows: PatternRows
    marks: list[tuple[RunningGuard, tuple[int, ...]]] = field(default_factory=list)
    keys_of: list[KeyTimes] = field(default_factory=list)  # of guards that want times by key
    seats: dict[int, DecidedSeat] = field(default_factory=dict)
    counts: SlotCounts = field(default_factory=SlotCounts)  # what was delivered, by rule
    is_delivered: bool = False
    # Guards whose missing rows these would be the partners of, with the positions of what they watch.
    partners_of: list[tuple[RunningGuard, tuple[int, ...]]] = field(default_factory=list)


class AbsenceNode:
    """One node. Rules come and go between micro-batches."""

    def __init__(self, patterns: tuple[Pattern, ...], states: Mapping[str, SharedState]) -> None:
        self.places = [
            _Place(PatternRows.of(pattern, _states_of(pattern, states)))
            for pattern in all_patterns(patterns)
        ]
        self.streams = sorted(
            {
                fold(relation.name)
                for place in self.places
                for relation in (item.relation for item in place.rows.pattern.query.items)
                if relation.is_stream
            }
        )
        self._connect(patterns, iter(self.places))
        self._spans: dict[int, int | None] = {}  # by rule
        self._most_span: int | None = 0  # of all rules
        self._free: list[int] = []
        self._has_sealed = False

    def __len__(self) -> int:
        return len(self._spans)

    def _connect(self, patterns: tuple[Pattern, ...], places: Iterable[_Place]) -> list[_Place]:
        """Tell marks which guards are theirs. Returns the places of the patterns, in the order of `all_patterns`."""
        places = iter(places)
        own: list[_Place] = []
        for pattern in patterns:
            marking = [self._connect(guard.marks, places) for guard in pattern.guards]
            place = next(places)
            own.append(place)
            for running, among in zip(place.rows.guards, marking, strict=True):
                watched = [pattern.items[at] for at in running.guard.over]
                if running.keys is not None:
                    (mark,) = among
                    mark.keys_of.append(running.keys)
                    continue
                for mark in among:
                    items = mark.rows.pattern.items
                    mark.marks.append((running, tuple(items.index(at) for at in watched)))
        return own

    def add_rule(self, patterns: tuple[Pattern, ...]) -> int:
        """Answer one more query. Returns its number."""
        rule = self._free.pop() if self._free else len(self._spans)
        for place, pattern in zip(self.places, all_patterns(patterns), strict=True):
            for running, guard in zip(place.rows.guards, pattern.guards, strict=True):
                running.set_rule(rule, guard)
            place.rows.widen()
        self._spans[rule] = _most(_span_us(pattern) for pattern in patterns)
        self._most_span = _most((self._most_span, self._spans[rule]))
        return rule

    def deliver(self, place: int, seat: DecidedSeat) -> None:
        """Deliver the rows that pass at a place to a seat."""
        own = self.places[place]
        own.seats[seat.rule] = seat
        own.is_delivered = True
        self._find_partners()

    def _find_partners(self) -> None:
        """Which delivered rows are partners of rows that others would deliver as missing."""
        delivered = [place for place in self.places if place.is_delivered]
        for place in delivered:
            items = place.rows.pattern.items
            place.partners_of = []
            for other in delivered:
                for running in other.rows.guards:
                    guard = running.guard
                    watched = [other.rows.pattern.items[at] for at in guard.over]
                    inside = {at for mark in guard.marks for at in mark.items} - set(watched)
                    if guard.is_join and set(watched) <= set(items) and inside & set(items):
                        positions = tuple(items.index(at) for at in watched)
                        place.partners_of.append((running, positions))

    def remove_rule(self, rule: int) -> None:
        """Forget a query."""
        for place in self.places:
            place.rows.drop_rule(rule)
            place.seats.pop(rule, None)
        gone = self._spans.pop(rule)
        if gone == self._most_span:
            self._most_span = _most(self._spans.values())
        self._free.append(rule)

    def find(
        self,
        place: int,
        rule: int | NDArray[np.int64],
        positions: Sequence[NDArray[np.int64]],
    ) -> None:
        """Note combinations that an operator has found for a pattern of a rule, or of the rule of each."""
        self.places[place].rows.find(rule, positions)

    def find_bits(
        self,
        place: int,
        positions: Sequence[NDArray[np.int64]],
        bits: NDArray[np.uint64],
        times_us: NDArray[np.int64] | None = None,
    ) -> None:
        """Note combinations that an operator has found for a pattern of many rules: [row, word]; `times_us`: their latest event times."""
        self.places[place].rows.find_bits(positions, bits, times_us)

    def advance(self, watermarks: Mapping[str, int], *, at_end: bool) -> list[DecidedRows]:
        """What is decided after a micro-batch, or at the end of the input."""
        decided: list[DecidedRows] = []
        for place in self.places:
            place.rows.take_in()
        for place in self.places:
            passed = place.rows.pass_on(watermarks, at_end=at_end)
            if passed is None:
                continue
            for running, items in place.marks:
                self._mark(place.rows, running, items, passed)
            for keys in place.keys_of:
                own = passed.by_rule()
                keys.take(own.rules, place.rows.fetch(own), own.times_us)
            if place.is_delivered:
                found = self._delivered(place, passed.by_rule())
                if len(found):
                    found.count(place.counts)
                    decided.append(found)
        self._has_sealed |= at_end
        return decided

    def _mark(
        self,
        rows: PatternRows,
        running: RunningGuard,
        items: tuple[int, ...],
        marks: Passed | BitRows,
    ) -> None:
        entries = running.entries
        if isinstance(marks, BitRows) and isinstance(entries, TupleBits):
            positions = marks.positions[items[0]]
            if running.marks_add and len(positions):
                entries.have(positions)
            entries.mark_rows(positions, marks.bits)
            return
        self._mark_by_rule(rows, running, items, marks.by_rule())

    def _mark_by_rule(
        self, rows: PatternRows, running: RunningGuard, items: tuple[int, ...], passed: Passed
    ) -> None:
        keys = rows.reach_of(passed, items)
        if running.marks_add:
            entries = running.entries.add(keys, rows.latest_of(passed, items))
        else:
            entries = running.entries.find(keys)
        running.entries.mark(entries, passed.times_us)

    def _delivered(self, place: _Place, passed: Passed) -> DecidedRows:
        rules, positions, times_us = passed.rules, passed.positions, passed.times_us
        if self._has_sealed:
            for running, items in place.partners_of:
                entries = running.entries.find(place.rows.reach_of(passed, items))
                kept = ~running.entries.is_sealed(entries)
                if not kept.all():
                    rules, times_us = rules[kept], times_us[kept]
                    positions = [each[kept] for each in positions]
                    passed.rules, passed.positions = rules, positions
                    passed.times_us = times_us
        return DecidedRows(place, place.seats, place.rows.states, rules, positions, times_us)

    def before_us(self, watermarks: Mapping[str, int]) -> int | None:
        """Older tuples are in nothing that is still to be decided; None where every tuple may be."""
        if self._most_span is None:
            return None
        return min(watermarks[name] for name in self.streams) - self._most_span

    def forget(self, watermarks: Mapping[str, int]) -> None:
        """Give up what is past."""
        before = self.before_us(watermarks)
        if before is not None:
            for place in self.places:
                place.rows.forget(before)

    def save(self, rule: int) -> list[str]:
        """What must be remembered of a rule beside its tuples: the times of keys, guard by guard."""
        return [keys.save(rule) for keys in self._keys()]

    def load(self, rule: int, saved: Sequence[str]) -> None:
        """Go on with what `save` returned."""
        for keys, text in zip(self._keys(), saved, strict=True):
            keys.load(rule, text)

    def _keys(self) -> list[KeyTimes]:
        guards = [running for place in self.places for running in place.rows.guards]
        return [running.keys for running in guards if running.keys is not None]

    @property
    def waiting(self) -> int:
        """How many rows wait to be decided."""
        return sum(len(place.rows.pending) + len(place.rows.waiting) for place in self.places)

    @property
    def nbytes(self) -> int:
        """Memory of what waits."""
        return sum(place.rows.nbytes for place in self.places)


def _states_of(pattern: Pattern, states: Mapping[str, SharedState]) -> list[SharedState]:
    return [states[fold(item.relation.name)] for item in pattern.query.items]


def _span_us(pattern: Pattern) -> int | None:
    """How far apart a tuple that waits and those that decide about it can be; None where nothing limits it."""
    own: list[int | None] = [0]
    streams = [at for at, item in enumerate(pattern.query.items) if item.relation.is_stream]
    for one in streams:
        own += [pattern.query.bounds.most_us[one][other] for other in streams]
    inner: list[int | None] = [0]
    for guard in pattern.guards:
        inner += [_span_us(mark) for mark in guard.marks]
        reach = [decode_us(us) for row in guard.reach for us in row if us is not None]
        own.append(_sum(_most(own), max(reach, default=0)))
    return _sum(_most(own), _most(inner))


def _most(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else max([each for each in known if each is not None], default=0)


def _sum(one: int | None, two: int | None) -> int | None:
    return None if one is None or two is None else one + two
