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

from typing import TYPE_CHECKING

import numpy as np
from numba import njit, uint64

from cqc.runtime.join.step.presence import SEED, move_entries
from cqc.runtime.join.tree.tree_kernels import (
    bucket,
    equal_keys,
    gate_slot,
    is_dead,
    living,
    mixed,
    pair_code,
    place_of,
    windows_allow,
    write_joined,
)
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
            rows, leaf.keys, leaf.ts, self._leaf_columns[gate], gate, self.codes, self.newest, self.shift,
            self.dead_us[gate], self.log_clock, self.log_dead_us, self.logged, fresh, since,
        )  # fmt: skip
        self._noted += int(new)
        return fresh[:count], since[:count]

    def resume_arguments(self, gate: int) -> tuple[NDArray[np.int64], ...]:
        """The key columns that the leaf, the left and the right row must agree in."""
        return self._leaf_columns[gate], self._left_columns[gate], self._right_columns[gate]

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


@njit(cache=True, nogil=True, inline="always")
def went_at(newest_us, gate, log_clock, log_dead_us, logged):  # type: ignore[no-untyped-def]
    """The clock of the purge after which a value whose newest tuple is that old was absent."""
    low, count = 0, logged[gate]
    while count > 0:
        half = count >> 1
        if log_dead_us[gate, low + half] <= newest_us:
            low += half + 1
            count -= half + 1
        else:
            count = half
    return log_clock[gate, low] if low < logged[gate] else ALWAYS


@njit(cache=True, nogil=True)
def note_rows(  # type: ignore[no-untyped-def]
    rows, keys, ts, columns, gate, codes, newest, shift, dead_us, log_clock, log_dead_us, logged, fresh, since
):  # fmt: skip
    """Enter the values of a leaf's rows; (how many were absent, how many entries are new).

    A tuple that comes late may be dead for the future and still meets what is there: it counts as just alive.
    """
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
            since[count] = went_at(newest[gate, place], gate, log_clock, log_dead_us, logged)
            count += 1
        newest[gate, place] = max(newest[gate, place], ts[0, rows[at]], dead_us)
    return count, new


@njit(cache=True, nogil=True)
def resume_pairs(  # type: ignore[no-untyped-def]
    rows, absent_since, gate, leaf_keys, leaf_columns, left_columns, right_columns,  # whose value came
    positions, ts, lineage, keys, since, dead, heads, following, index, shift,  # the left state, by that value
    join_columns, positions_there, ts_there, lineage_there, keys_there, since_there, dead_there,  # the right one, by the join
    join_columns_there, heads_there, following_there, index_there, shift_there,
    pair_here, pair_there, cut_starts, cuts, window_sets,
    sources, widths, codes, newest, code_shift, gate_dead, log_clock, log_dead_us, logged, on_from, on_until,
    out_positions, out_ts, out_lineage, out_keys, begin, places, places_there, key_source, most,
):  # fmt: skip
    """Make the pairs that a gate held because of the values of the rows, unless another gate holds them.

    How many, and for how many of the rows: not for all when that means to look at more than `most` rows.
    """
    alive = np.empty(lineage.shape[1], np.uint64)
    written = begin
    leaf_left = leaf_columns[: len(left_columns)]
    leaf_right = leaf_columns[len(left_columns) :]
    for at in range(len(rows)):
        if most < 0:
            return written - begin, at
        asking = rows[at]
        row = heads[index, bucket(leaf_keys, asking, leaf_left, shift)]
        while row >= 0:
            if equal_keys(leaf_keys, asking, leaf_left, keys, row, left_columns) and not is_dead(
                positions, ts, row, dead
            ):
                code = mixed(SEED, keys, row, join_columns)
                code = mixed(code, leaf_keys, asking, leaf_right)
                other = heads_there[index_there, place_of(code, shift_there)]
                while other >= 0:
                    together = max(since[row], since_there[other])
                    ok = (
                        together > absent_since[at]
                        and on_from[gate] <= together <= on_until[gate]
                        and equal_keys(
                            keys, row, join_columns, keys_there, other, join_columns_there
                        )
                        and equal_keys(
                            leaf_keys,
                            asking,
                            leaf_right,
                            keys_there,
                            other,
                            right_columns,
                        )
                        and not is_dead(positions_there, ts_there, other, dead_there)
                    )
                    if ok:
                        left = np.uint64(0)
                        for word in range(len(alive)):
                            alive[word] = lineage[row, word] & lineage_there[other, word]
                            left |= alive[word]
                        ok = left != 0 and windows_allow(
                            alive, ts, row, ts_there, other, pair_here, pair_there, cut_starts, cuts, window_sets
                        )  # fmt: skip
                    third = 0
                    while ok and third < len(widths):
                        if third != gate and on_from[third] <= together <= on_until[third]:
                            code = pair_code(
                                keys, row, keys_there, other, sources, third, widths[third]
                            )
                            place = gate_slot(codes, third, code, code_shift)
                            if codes[third, place] == 0:
                                ok = False
                            elif newest[third, place] < gate_dead[third]:
                                ok = together <= went_at(
                                    newest[third, place], third, log_clock, log_dead_us, logged
                                )  # fmt: skip
                        third += 1
                    if ok:
                        written = write_joined(
                            written, alive, row, positions, ts, keys, other, positions_there, ts_there, keys_there,
                            out_positions, out_ts, out_lineage, out_keys, places, places_there, key_source,
                        )  # fmt: skip
                    other = following_there[other, index_there]
                    most -= 1
            row = following[row, index]
            most -= 1
    return written - begin, len(rows)
