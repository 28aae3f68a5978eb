"""Gates for pairs: two rows that would join are kept apart while nobody has the composite value that they make together.

This is the paper's Type II, a minimal non-demanded sub-tuple that spans both inputs of its producer. Each of the two is asked
for by somebody, but no tuple of a third item has the values of both. So neither can be parked: the pair is *marked*, by
value, and not made. When a tuple with the value comes the mark goes, and the pairs that were missed are made.

    C join D, and A.x = C.x, A.y = D.y: (c, d) is made when some A has (c.x, d.y)

Exactly once. A gate holds a pair when its value is absent and has been since before the pair came together, which is when the
later of its rows became active. A value that is present and goes (its last tuple is too old) leaves alone what was made until
then: the log of the purges tells when it went. So a pair is made when it comes together and no gate holds it, or when a gate lets
it go and no other gate holds it. A gate asks base tuples only, also those that wait elsewhere: no two gates wait for each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy import uint64

from cqc.runtime.join.step.conditions import meet
from cqc.runtime.join.step.presence import SEED, move_entries
from cqc.runtime.join.tree.tree_kernels import (
    AskedPairs,
    Joined,
    RowIndex,
    TreeRows,
    bucket,
    equal_keys,
    gate_slot,
    is_dead,
    living,
    mixed,
    pair_code,
    place_of,
    windows_between,
    write_keys,
    write_side,
)
from cqc.runtime.kernel import njit
from cqc.runtime.lineage.rank_lineage import BEFORE_ALL_US

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.join.tree.tree_state import KeyColumn, TreeState

_LEAST_ROOM = 1024
_LOG_ROOM = 256
NEVER = -1
ALWAYS = np.iinfo(np.int64).max


class PairGates:
    """The gates of one producer: `left` and `right` are what it joins, each gate asks one leaf."""

    def __init__(self, left: TreeState, right: TreeState) -> None:
        self.left, self.right = left, right
        self.leaves: list[TreeState] = []
        self.held: list[int] = []  # pairs not made, so far
        self.resumed: list[int] = []
        # Of the left state by what a leaf compares there, of the right one by that and what the join compares.
        self.indexes: list[tuple[int, int]] = []
        self._left_columns: list[NDArray[np.int64]] = []
        self._right_columns: list[NDArray[np.int64]] = []
        self._leaf_columns: list[NDArray[np.int64]] = []
        self._noted = 0
        self._room = _LEAST_ROOM
        self._allocate(_LEAST_ROOM)

    def __len__(self) -> int:
        return len(self.leaves)

    def add(
        self,
        leaf: TreeState,
        own: Sequence[KeyColumn],
        there: Sequence[KeyColumn],
        joined: Sequence[KeyColumn],
    ) -> None:
        """Ask a leaf: column `own[k]` of the pair must equal `there[k]`; before there are rows.

        `joined`: what the join compares of the right state.
        """
        at_left = [number for number, each in enumerate(own) if each in self.left.key_columns]
        at_right = [number for number in range(len(own)) if number not in at_left]
        self.leaves.append(leaf)
        self.held.append(0)
        self.resumed.append(0)
        self._left_columns.append(self.left.columns([own[number] for number in at_left]))
        self._right_columns.append(self.right.columns([own[number] for number in at_right]))
        self._leaf_columns.append(leaf.columns([there[number] for number in at_left + at_right]))
        by_both = np.concatenate((self.right.columns(joined), self._right_columns[-1]))
        self.indexes.append(
            (self.left.add_index(self._left_columns[-1]), self.right.add_index(by_both))
        )
        self._allocate(_LEAST_ROOM)

    def sources(self, *, from_left: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where a join from that side finds the composite values, and how many columns each has."""
        widths = np.array([len(each) for each in self._leaf_columns], np.int64)
        sources = np.zeros((len(self), max(widths, default=0)), np.int64)
        for gate, (left, right) in enumerate(
            zip(self._left_columns, self._right_columns, strict=True)
        ):
            near, far = (left, -1 - right) if from_left else (-1 - left, right)
            sources[gate, : widths[gate]] = np.concatenate((near, far))
        return sources, widths

    def note(
        self, gate: int, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows came to the gate's leaf: those whose value was absent, and since when."""
        if 2 * (self._noted + len(rows)) > self._room:
            self._renew(len(rows))
        leaf = self.leaves[gate]
        fresh, since = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        count, new = note_rows(
            rows, leaf.keys, leaf.ts, self._leaf_columns[gate], gate, self.values, self.log, fresh, since
        )  # fmt: skip
        self._noted += int(new)
        return fresh[:count], since[:count]

    @property
    def values(self) -> tuple[Any, ...]:
        """The values that are there: the end of AskedPairs, for kernels."""
        return self.codes, self.newest, self.shift, self.dead_us, self.is_on

    @property
    def log(self) -> tuple[Any, ...]:
        """A GateLog, for kernels."""
        return self.log_clock, self.log_dead_us, self.logged, self.on_from, self.on_until

    def asking(
        self, gate: int, rows: NDArray[np.int64], absent_since: NDArray[np.int64]
    ) -> tuple[Any, ...]:
        """Rows of a gate's leaf whose value came: Asking, for kernels."""
        return (
            gate, rows, absent_since, self.leaves[gate].keys,
            self._leaf_columns[gate], self._left_columns[gate], self._right_columns[gate],
        )  # fmt: skip

    def purged(self, gate: int, before_us: int, clock: int) -> None:
        """Tuples of the gate's leaf that are older went, after everything that came up to `clock`."""
        if before_us <= self.dead_us[gate]:
            return
        if self.logged[gate] == self.log_clock.shape[1]:
            self._renew(0)
        at = self.logged[gate]
        self.log_clock[gate, at] = clock
        self.log_dead_us[gate, at] = before_us
        self.logged[gate] += 1
        self.dead_us[gate] = before_us

    def switch(self, gate: int, clock: int, *, is_on: bool) -> None:
        """Stop or start to hold pairs that come together after `clock`; those that were held are still let go."""
        self.is_on[gate] = is_on
        if not is_on:
            self.on_until[gate] = clock
            return
        left, right = self.indexes[gate]
        self.left.take_index(left)
        self.right.take_index(right)
        self.is_silent[gate] = False
        self.on_from[gate], self.on_until[gate] = clock + 1, ALWAYS
        self.note(gate, np.arange(self.leaves[gate].count))

    def drain(self, gate: int) -> None:
        """Forget a gate that is off, once no pair lives that it may hold: until it is on again nobody need ask."""
        if self.is_on[gate] or self.is_silent[gate]:
            return
        if max(_oldest(self.left), _oldest(self.right)) > self.on_until[gate]:
            self.is_silent[gate] = True
            left, right = self.indexes[gate]
            self.left.release_index(left)
            self.right.release_index(right)
            self.codes[gate] = 0
            self.newest[gate] = BEFORE_ALL_US

    @property
    def nbytes(self) -> int:
        arrays = (self.codes, self.newest, self.log_clock, self.log_dead_us)
        return sum(int(each.nbytes) for each in arrays) if len(self) else 0

    def _allocate(self, room: int) -> None:
        gates = len(self)
        self._room = room
        self.codes = np.zeros((gates, room), np.uint64)
        self.newest = np.full((gates, room), BEFORE_ALL_US, np.int64)
        self.shift = 64 - (room.bit_length() - 1)
        self.dead_us = np.full(gates, BEFORE_ALL_US, np.int64)
        self.log_clock = np.zeros((gates, _LOG_ROOM), np.int64)
        self.log_dead_us = np.zeros((gates, _LOG_ROOM), np.int64)
        self.logged = np.zeros(gates, np.int64)
        # A gate holds pairs that came together from `on_from` to `on_until`, and is on when that has not ended.
        self.on_from = np.zeros(gates, np.int64)
        self.on_until = np.full(gates, ALWAYS, np.int64)
        self.is_on = np.ones(gates, np.bool_)
        self.is_silent = np.zeros(gates, np.bool_)  # off, and nothing is held any more

    def _renew(self, more: int) -> None:
        """Forget the values that went before the oldest pair came together, and the log of that time."""
        floor = max(_oldest(self.left), _oldest(self.right))
        old = self.codes, self.newest, self.log_clock, self.log_dead_us, self.logged
        state = self.dead_us, self.on_from, self.on_until, self.is_on, self.is_silent
        kept, ends = [], []
        for gate in range(len(self)):
            begin = int(np.searchsorted(self.log_clock[gate, : self.logged[gate]], floor))
            ends.append(begin)
            # What went up to the purge before `begin` is older than its bound.
            bound = self.log_dead_us[gate, begin - 1] if begin else BEFORE_ALL_US
            kept.append(np.flatnonzero((self.codes[gate] != 0) & (self.newest[gate] >= bound)))
        room = _LEAST_ROOM
        while room < 4 * (max(map(len, kept), default=0) + more):
            room *= 2
        self._allocate(room)
        self.dead_us, self.on_from, self.on_until, self.is_on, self.is_silent = state
        self._noted = max(map(len, kept), default=0)
        logs = max(
            (int(count) - begin for count, begin in zip(old[4], ends, strict=True)), default=0
        )
        if 2 * logs > _LOG_ROOM:
            self.log_clock = np.zeros((len(self), 2 * logs), np.int64)
            self.log_dead_us = np.zeros((len(self), 2 * logs), np.int64)
        for gate, entries in enumerate(kept):
            places = np.empty(len(entries), np.int64)
            move_entries(
                old[0][gate][entries], old[1][gate][entries],
                self.codes[gate], self.newest[gate], self.shift, places,
            )  # fmt: skip
            stretch = slice(ends[gate], int(old[4][gate]))
            count = self.logged[gate] = stretch.stop - stretch.start
            self.log_clock[gate, :count] = old[2][gate, stretch]
            self.log_dead_us[gate, :count] = old[3][gate, stretch]


def _oldest(state: TreeState) -> int:
    """The earliest time at which a living active row became active."""
    rows = state.active_rows()
    rows = rows[~_dead_rows(state, rows)]
    return int(state.since[rows].min()) if len(rows) else ALWAYS


def _dead_rows(state: TreeState, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    alive = np.zeros(state.count, np.bool_)
    alive[living(state.positions, state.ts, 0, state.count, state.dead)] = True
    dead: NDArray[np.bool_] = ~alive[rows]
    return dead


class GateLog(NamedTuple):
    """When values of each gate went, and when each gate was on."""

    clock: NDArray[np.int64]  # [gate, purge]
    dead_us: NDArray[np.int64]
    length: NDArray[np.int64]  # [gate]
    on_from: NDArray[np.int64]
    on_until: NDArray[np.int64]


class Asking(NamedTuple):
    """Rows of a leaf whose value came, and what must be equal to it."""

    gate: int
    rows: NDArray[np.int64]
    absent_since: NDArray[np.int64]
    keys: NDArray[np.int64]
    columns: NDArray[np.int64]  # of the leaf: those that meet the left state, then the right one
    left_columns: NDArray[np.int64]
    right_columns: NDArray[np.int64]


@njit(cache=True, nogil=True, inline="always")
def went_at(newest_us, gate, log):  # type: ignore[no-untyped-def]
    """The clock of the purge after which a value whose newest tuple is that old was absent."""
    low, count = 0, log.length[gate]
    while count > 0:
        half = count >> 1
        if log.dead_us[gate, low + half] <= newest_us:
            low += half + 1
            count -= half + 1
        else:
            count = half
    return log.clock[gate, low] if low < log.length[gate] else ALWAYS


@njit(cache=True, nogil=True)
def note_rows(rows, keys, ts, columns, gate, values, log, fresh, since):  # type: ignore[no-untyped-def]
    """Enter the values of a leaf's rows; (how many were absent, how many entries are new).

    A tuple that comes late may be dead for the future and still meets what is there: it counts as just alive.
    """
    codes, newest, shift, all_dead_us, _ = values
    log, dead_us = GateLog(*log), all_dead_us[gate]
    count = 0
    new = 0
    for at in range(len(rows)):
        code = mixed(SEED, keys, rows[at], columns) | uint64(1)
        place = gate_slot(codes, gate, code, shift)
        if codes[gate, place] == 0:
            codes[gate, place] = code
            new += 1
            fresh[count] = rows[at]
            since[count] = NEVER
            count += 1
        elif newest[gate, place] < dead_us:
            fresh[count] = rows[at]
            since[count] = went_at(newest[gate, place], gate, log)
            count += 1
        newest[gate, place] = max(newest[gate, place], ts[0, rows[at]], dead_us)
    return count, new


@njit(cache=True, nogil=True)
def held_elsewhere(together, own, row, there, other, gate, asked, log):  # type: ignore[no-untyped-def]
    """Whether another gate holds a pair whose rows came together at a time."""
    for third in range(len(asked.widths)):
        if third == gate or not log.on_from[third] <= together <= log.on_until[third]:
            continue
        code = pair_code(
            own.keys, row, there.keys, other, asked.sources, third, asked.widths[third]
        )
        place = gate_slot(asked.codes, third, code, asked.shift)
        newest_us = asked.newest[third, place]
        if asked.codes[third, place] == 0:
            return True
        if newest_us < asked.dead_us[third] and together > went_at(newest_us, third, log):
            return True
    return False


@njit(cache=True, nogil=True)
def resume_pairs(  # type: ignore[no-untyped-def]
    asking, own, index, there, index_there, columns, windows, asked, log, out, most
):
    """Make the pairs that a gate held because of the values of the rows, unless another gate holds them.

    `index` of the left state by what the leaf compares there, `index_there` of the right one by what the join compares (`columns`)
    and what the leaf compares there. How many were made, and for how many of the rows: not for all when that means to look at
    more than `most` rows.
    """
    asking, own, there = Asking(*asking), TreeRows(*own), TreeRows(*there)
    index, index_there = RowIndex(*index), RowIndex(*index_there)
    asked, log, out = AskedPairs(*asked), GateLog(*log), Joined(*out)
    here, beside, starts, cuts, sets = windows
    join_columns, join_columns_there = columns
    gate, rows = asking.gate, asking.rows
    alive = np.empty(own.lineage.shape[1], np.uint64)
    written = out.begin
    leaf_left = asking.columns[: len(asking.left_columns)]
    leaf_right = asking.columns[len(asking.left_columns) :]
    for at in range(len(rows)):
        if most < 0:
            return written - out.begin, at
        new = rows[at]
        row = index.heads[bucket(asking.keys, new, leaf_left, index.shift)]
        while row >= 0:
            is_met = equal_keys(asking.keys, new, leaf_left, own.keys, row, asking.left_columns)
            if is_met and not is_dead(own.positions, own.ts, row, own.dead):
                code = mixed(SEED, own.keys, row, join_columns)
                code = mixed(code, asking.keys, new, leaf_right)
                other = index_there.heads[place_of(code, index_there.shift)]
                while other >= 0:
                    together = max(own.since[row], there.since[other])
                    ok = (
                        together > asking.absent_since[at]
                        and log.on_from[gate] <= together <= log.on_until[gate]
                        and equal_keys(
                            own.keys, row, join_columns, there.keys, other, join_columns_there
                        )
                        and equal_keys(
                            asking.keys, new, leaf_right, there.keys, other, asking.right_columns
                        )
                        and not is_dead(there.positions, there.ts, other, there.dead)
                        and meet(alive, own.lineage, row, there.lineage, other, alive)
                        and windows_between(
                            alive, here, beside, starts, cuts, sets, own.ts, row, there.ts, other
                        )
                    )
                    if ok and not held_elsewhere(
                        together, own, row, there, other, gate, asked, log
                    ):
                        if written < out.positions.shape[1]:
                            write_side(
                                written,
                                own.positions,
                                own.ts,
                                row,
                                out.places,
                                out.positions,
                                out.ts,
                            )
                            write_side(
                                written, there.positions, there.ts, other, out.places_there, out.positions, out.ts
                            )  # fmt: skip
                            write_keys(
                                written, own.keys, row, there.keys, other, out.key_source, out.keys
                            )
                            out.lineage[written] = alive
                        written += 1
                    other = index_there.following[other, index_there.number]
                    most -= 1
            row = index.following[row, index.number]
            most -= 1
    return written - out.begin, len(rows)
