"""The combinations of one pattern at run time: what was found, what waits, and what its guards let pass.

A row without guards passes as soon as it is found. Others wait. A negated guard lets a row pass when no mark has reached it and none can
come any more: the watermark is past the last instant at which one could. Any other guard lets it pass when a mark has reached it and none
with a smaller time can come. The result time of a row is the latest of three: the event times of its tuples, the last instants of what was
missing, and the times of the marks that it needed.

Rows come for one rule each, or as bits for many rules at once (`waiting_bits`), which stay together where the guards allow it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.absence.guard_entries import GuardEntries
from cqc.runtime.absence.key_times import KeyTimes
from cqc.runtime.absence.pending_rows import Chunk, PendingRows, together
from cqc.runtime.absence.tuple_bits import TupleBits
from cqc.runtime.absence.tuple_entries import TupleCells, TupleEntries
from cqc.runtime.absence.waiting_bits import BitRows, Passed, WaitingBits
from cqc.runtime.absence.waiting_bits import together as all_together
from cqc.runtime.columns.event_time import instants

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.absence import Guard, Pattern
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.state.shared_state import SharedState

_NO_BOUND = 2**62  # farther than any watermark
_MOST = 2**63 - 1


@dataclass(slots=True, eq=False)
class RunningGuard:
    """A guard of a pattern, for all rules. `reach` is [rule, item inside, watched tuple]."""

    guard: Guard
    entries: GuardEntries | TupleEntries | TupleBits
    reach: NDArray[np.int64]
    marks_add: bool  # marks may come before the rows that they are for
    keys: KeyTimes | None = None  # where entries are found by keys, not by tuples

    def set_rule(self, rule: int, guard: Guard) -> None:
        """Take the bounds of one more rule."""
        rows = [[_NO_BOUND if us is None else us for us in row] for row in guard.reach]
        own = np.array(rows, np.int64).reshape(1, len(guard.reach), len(guard.over))
        if rule == len(self.reach):
            self.reach = np.concatenate((self.reach, own))
        else:
            self.reach[rule] = own[0]

    def lasts(
        self,
        rules: NDArray[np.int64],
        times: Sequence[NDArray[np.int64] | None],
        value: Callable[[int, int], NDArray[np.int64]],
    ) -> NDArray[np.int64]:
        """The last instants of rows, as in `Guard.reach`; `times` are those of the watched tuples (None: of a table).

        `value` gives the instants in a window column of a watched tuple.
        """
        if self.reach.shape[1:] == (1, 1) and not any(self.guard.ends) and times[0] is not None:
            own = self.reach[:, 0, 0]
            if own.max(initial=-_MOST) < _NO_BOUND:  # one bound for each rule: nothing to compare
                return own[rules] + 2 * times[0]
        found = np.full(len(rules), -_MOST)
        for item in range(self.reach.shape[1]):
            least = np.full(len(rules), _MOST)
            for at, ts_us in enumerate(times):
                if ts_us is not None:
                    reach = self.reach[rules, item, at]
                    least = np.minimum(least, np.where(reach < _NO_BOUND, 2 * ts_us + reach, _MOST))
            for at, column, us in self.guard.ends[item] if self.guard.ends else ():
                least = np.minimum(least, 2 * value(at, column) + us)
            found = np.maximum(found, least)
        return found

    @property
    def is_plain(self) -> bool:
        """Whether it watches one tuple, for which nothing of one item inside may come in time."""
        guard = self.guard
        one = len(guard.over) == 1 and len(guard.reach) == 1 and not any(guard.ends)
        return guard.negated and one and isinstance(self.entries, TupleBits)

    @property
    def nbytes(self) -> int:
        """Memory of the entries."""
        return self.entries.nbytes if self.keys is None else self.keys.nbytes

    def watermark(self, watermarks: Mapping[str, int]) -> int:
        """That of the streams inside; a guard over tables alone waits for nobody."""
        return min([watermarks[name] for name in self.guard.streams], default=_MOST)


@dataclass(slots=True, eq=False)
class PatternRows:
    """One pattern for all rules of a node."""

    pattern: Pattern  # of any rule: all are alike but for their constants
    states: Sequence[SharedState]  # by item
    guards: list[RunningGuard]
    waiting: WaitingBits  # rows of many rules
    pending: PendingRows = field(default_factory=PendingRows)
    found: list[Passed | BitRows] = field(default_factory=list)  # since the last micro-batch
    fresh: Passed | BitRows | None = None  # rows without guards that were found in this one

    @staticmethod
    def of(pattern: Pattern, states: Sequence[SharedState]) -> PatternRows:
        guards = []
        for guard in pattern.guards:
            empty = np.zeros((0, len(guard.reach), len(guard.over)), np.int64)
            marks_add = len(guard.over) < len(pattern.items)
            keys = None if guard.keys is None else KeyTimes(guard.keys)
            entries: GuardEntries | TupleEntries | TupleBits = GuardEntries(len(guard.over))
            if keys is not None:
                entries = keys.entries
            elif len(guard.over) == 1:
                entries = TupleBits() if guard.negated else TupleEntries()
            guards.append(RunningGuard(guard, entries, empty, marks_add, keys))
        return PatternRows(
            pattern, states, guards, WaitingBits([g.over[0] for g in pattern.guards])
        )

    def find(self, rule: int | NDArray[np.int64], positions: Sequence[NDArray[np.int64]]) -> None:
        """Note combinations that were found for a rule, or for the rule of each."""
        rules = np.full(len(positions[0]), rule, np.int64) if isinstance(rule, int) else rule
        self.found.append(Passed(rules, positions, self._latest(positions)))

    def find_bits(
        self,
        positions: Sequence[NDArray[np.int64]],
        bits: NDArray[np.uint64],
        times_us: NDArray[np.int64] | None = None,
    ) -> None:
        """Note combinations that were found for many rules: [row, word], which become this pattern's own.

        `times_us`: their latest event times, where the operator knows them.
        """
        latest = self._latest(positions) if times_us is None else times_us
        self.found.append(BitRows(positions, latest, bits))

    def take_in(self) -> None:
        """Let what was found wait for its guards."""
        self.fresh = None
        if not self.found:
            return
        found, self.found = _joined(self.found), []
        if not self.guards:
            self.fresh = found
            return
        for at, running in enumerate(self.guards):
            self._settle(at, running)
        if isinstance(found, BitRows) and self._waits_as_bits():
            self._let_bits_wait(found)
        else:
            self._let_wait(found.by_rule())

    def _waits_as_bits(self) -> bool:
        """Whether rows of many rules can stay together."""
        watched = [self.states[running.guard.over[0]] for running in self.guards]
        return all(running.is_plain for running in self.guards) and all(
            state.relation.is_stream for state in watched
        )

    def _let_bits_wait(self, found: BitRows) -> None:
        watched = []
        for running in self.guards:
            positions = found.positions[running.guard.over[0]]
            cells = running.entries
            assert isinstance(cells, TupleBits)
            cells.have(positions)
            watched.append(self.states[running.guard.over[0]].ts_at(positions))
        self.waiting.append(found, np.stack(watched))

    def _let_wait(self, found: Passed) -> None:
        entries, lasts = [], []
        for running in self.guards:
            over = running.guard.over
            watched = [found.positions[at] for at in over]
            times = [self._times(at, found.positions[at]) for at in over]
            if running.keys is None:
                keys = np.stack((found.rules, *watched), axis=1)
            else:
                keys = running.keys.outer(found.rules, self.fetch(found))
            known = [ts_us for ts_us in times if ts_us is not None]
            latest = np.maximum.reduce(known) if known else found.times_us
            entries.append(running.entries.add(keys, latest))
            value = partial(self._instants, over, found.positions)
            lasts.append(running.lasts(found.rules, times, value))
        self.pending.append(Chunk(found.rules, found.positions, found.times_us, entries, lasts))

    def pass_on(self, watermarks: Mapping[str, int], *, at_end: bool) -> Passed | BitRows | None:
        """The rows that pass now; those that never will are forgotten."""
        if not self.guards:
            return self.fresh
        limits = [running.watermark(watermarks) for running in self.guards]
        passed: list[Chunk] = []
        left: list[Chunk] = []
        for chunk in self.pending.chunks:
            if self._may_decide(chunk, limits):
                passes, dead = self._judge(chunk, limits)
                if passes.any():
                    passed.append(chunk.take(passes))
                rest = ~(passes | dead)
                left.append(chunk if rest.all() else chunk.take(rest))
            else:
                left.append(chunk)
        self.pending.leave(left)
        found = self._pass_bits(limits)
        if passed:
            rows = together(passed)
            found.append(Passed(rows.rules, rows.positions, self._result_times(rows)))
        if not found:
            return None
        all_found = _joined(found).by_rule()
        if at_end:
            self._seal(all_found)
        return all_found

    def _pass_bits(self, limits: Sequence[int]) -> list[Passed | BitRows]:
        if not self.waiting.chunks:
            return []
        entries = [each.entries for each in self.guards if isinstance(each.entries, TupleBits)]
        reach = np.stack([each.reach[:, 0, 0] for each in self.guards])
        twice = np.array([_twice(limit) for limit in limits])
        return [*self.waiting.decide(entries, reach, twice)]

    def reach_of(self, rules: Passed, items: Sequence[int]) -> NDArray[np.int64]:
        """The keys of some items of rows, for a guard that watches them."""
        return np.stack((rules.rules, *(rules.positions[at] for at in items)), axis=1)

    def fetch(self, rows: Passed) -> Callable[[int, int], Column]:
        """The columns of rows, by item and number."""
        return lambda item, column: self.states[item].column(column, rows.positions[item])

    def latest_of(self, rows: Passed, items: Sequence[int]) -> NDArray[np.int64]:
        """The latest event time among some items of rows."""
        times = [self._times(at, rows.positions[at]) for at in items]
        known = [ts_us for ts_us in times if ts_us is not None]
        return np.maximum.reduce(known) if known else rows.times_us

    def forget(self, before_us: int) -> None:
        """Give up entries of tuples that are past for everybody."""
        for at, running in enumerate(self.guards):
            if isinstance(running.entries, TupleCells):
                running.entries.forget(before_us, self._watched(running))
                continue
            moved = running.entries.forget(before_us)
            if moved is not None:
                self.pending.follow(at, moved.__getitem__)

    def widen(self) -> None:
        """Make room for all rules that the guards have."""
        for at, running in enumerate(self.guards):
            if isinstance(running.entries, TupleCells):
                change = running.entries.widen(len(running.reach))
                if change is not None:
                    self.pending.follow(at, change)

    def _settle(self, at: int, running: RunningGuard) -> None:
        """Change to entries that are found by hashing, where tuples lie too far apart for cells side by side."""
        if not isinstance(running.entries, TupleCells) or not running.entries.is_large:
            return
        for rows in self.waiting.take_all():
            self._let_wait(rows.by_rule())
        hashed = running.entries.hashed(self._watched(running))
        for chunk in self.pending.chunks:
            watched = chunk.positions[running.guard.over[0]]
            keys = np.stack((chunk.rules, watched), axis=1)
            entries = list(chunk.entries)
            entries[at] = hashed.add(keys, chunk.times_us)
            chunk.entries = entries
        running.entries = hashed

    def _watched(self, running: RunningGuard) -> SharedState:
        return self.states[running.guard.over[0]]

    def drop_rule(self, rule: int) -> None:
        """Forget a rule that has left."""
        self.pending.drop_rule(rule)
        self.waiting.drop_rule(rule)
        for at, running in enumerate(self.guards):
            if running.keys is not None:
                moved = running.keys.entries.drop_rule(rule)
                self.pending.follow(at, moved.__getitem__)

    @property
    def nbytes(self) -> int:
        """Memory of what waits."""
        waiting = self.pending.nbytes + self.waiting.nbytes
        return waiting + sum(each.nbytes for each in self.guards)

    def _may_decide(self, chunk: Chunk, limits: Sequence[int]) -> bool:
        """Whether a row of the chunk can be decided: one guard that asks for something may be answered at any time."""
        for running, limit, soonest in zip(self.guards, limits, chunk.soonest, strict=True):
            if running.guard.negated and soonest >= _twice(limit):
                return False
        return True

    def _judge(
        self, chunk: Chunk, limits: Sequence[int]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        passes, dead = np.ones(len(chunk), np.bool_), np.zeros(len(chunk), np.bool_)
        for at, (running, limit) in enumerate(zip(self.guards, limits, strict=True)):
            entries = chunk.entries[at]
            is_reached = running.entries.is_reached(entries)
            if running.keys is not None:
                # The smallest time of a key is a partner's where it lies before the bound.
                is_reached &= _best_of(running, entries) <= chunk.lasts[at] >> 1
            is_over = chunk.lasts[at] < _twice(limit)
            if running.guard.negated:
                passes &= is_over & ~is_reached
                dead |= is_reached
            else:
                best = _best_of(running, entries)
                passes &= is_reached & ((best <= chunk.times_us) | (best <= limit))
                dead |= is_over & ~is_reached
        return passes & ~dead, dead

    def _result_times(self, rows: Chunk) -> NDArray[np.int64]:
        times: NDArray[np.int64] = rows.times_us
        for at, running in enumerate(self.guards):
            if running.guard.negated:
                last = rows.lasts[at]
                times = np.maximum(times, np.where(last > -_MOST, (last + 1) >> 1, times))
            else:
                times = np.maximum(times, _best_of(running, rows.entries[at]))
        return times

    def _seal(self, rows: Passed) -> None:
        """Remember what was delivered as missing because the input had ended: it gets no partner later."""
        for running in self.guards:
            if running.guard.negated and running.guard.is_join:
                keys = self.reach_of(rows, running.guard.over)
                running.entries.seal(running.entries.find(keys))

    def _instants(
        self,
        over: Sequence[int],
        positions: Sequence[NDArray[np.int64]],
        at: int,
        column: int,
    ) -> NDArray[np.int64]:
        """The instants in a window column of the watched tuples of a guard."""
        item = over[at]
        return instants(self.states[item].column(column, positions[item]))[0]

    def _times(self, item: int, positions: NDArray[np.int64]) -> NDArray[np.int64] | None:
        state = self.states[item]
        return state.ts_at(positions) if state.relation.is_stream else None

    def _latest(self, positions: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        times = [self._times(at, each) for at, each in enumerate(positions)]
        latest: NDArray[np.int64] = np.maximum.reduce([each for each in times if each is not None])
        return latest


def _best_of(running: RunningGuard, entries: NDArray[np.int64]) -> NDArray[np.int64]:
    """The smallest times of marks, of a guard that needs them."""
    assert not isinstance(running.entries, TupleBits)
    return running.entries.best_of(entries)


def _joined(found: Sequence[Passed | BitRows]) -> Passed | BitRows:
    """Everything that was found, as one; rows of many rules stay together where all are such."""
    bits = [each for each in found if isinstance(each, BitRows)]
    if len(bits) == len(found):
        return all_together(bits)
    if len(found) == 1:
        return found[0]
    own = [each.by_rule() for each in found]
    columns = zip(*(each.positions for each in own), strict=True)
    positions = [np.concatenate(parts) for parts in columns]
    rules, times_us = [each.rules for each in own], [each.times_us for each in own]
    return Passed(np.concatenate(rules), positions, np.concatenate(times_us))


def _twice(watermark_us: int) -> int:
    """A watermark as `Guard.reach` counts, within 64 bits."""
    return max(-_MOST, min(2 * watermark_us, _MOST))
