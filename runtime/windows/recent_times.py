"""The event times of the last rows of each rule and key, as far back as the rule's frame reaches. How many there are is a sliding count.

Times of one rule and key are a ring in one long array; a ring that is full moves to a larger place. A rule that only asks whether there
are n rows keeps n times of a key and no more: the frame has n rows exactly when the n-th last row is in it.

    RANGE 5 PRECEDING, at least 3:   times 1 4 6, then 9: the ring holds 4 6 9, and 4 is inside 9 - 5
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SMALLEST = 1_024
_RING = 4
NEVER = 2**62  # no KEY_IDLE
NO_MOST = 2**62
# How far a frame reaches when it begins with the first row of a key: such a rule has a number of each key and no times. By ROWS, rows of
# one instant do not see those that came after them.
FROM_FIRST, FROM_FIRST_BY_ROWS = NEVER, NEVER + 1

# By group: where its ring is, how long that is, where its first time is in it, how many times it has, its last time, and
# the number of the instant at which it was last looked at.
_BASE, _ROOM, _HEAD, _COUNT, _LAST = range(5)
_FIELDS = 6


class RecentTimes:
    """All rings."""

    def __init__(self) -> None:
        self._lay_out(_SMALLEST, _SMALLEST * _RING)

    def _lay_out(self, groups: int, times: int) -> None:
        self._rules = np.zeros(groups, np.int64)
        self._keys = np.zeros(groups, np.int64)
        self._rings = np.zeros((groups, _FIELDS), np.int64)
        self._times = np.zeros(times, np.int64)
        self._table = np.full(2 * groups, -1, np.int64)
        # Groups, times, instants; and the groups and times that there was no room for.
        self._used = np.zeros(5, np.int64)

    def __len__(self) -> int:
        return int(self._used[0])

    @property
    def nbytes(self) -> int:
        """Memory of the rings."""
        arrays = (self._rules, self._keys, self._rings, self._times, self._table)
        return sum(int(each.nbytes) for each in arrays)

    def slide(
        self,
        rules: NDArray[np.int64],
        keys: NDArray[np.int64],
        ts_us: NDArray[np.int64],
        reach_us: NDArray[np.int64],
        most: NDArray[np.int64],
        idle_us: int,
    ) -> NDArray[np.int64]:
        """The count of each row: those of its rule and key up to its event time, equal ones included. Rows are in time order.

        `reach_us` and `most` say for each rule how long its frame is, and how many rows are worth counting. A key starts anew after
        `idle_us` without a row.
        """
        counts = np.zeros(len(rules), np.int64)
        begin = 0
        while True:
            begin = slide(
                rules,
                keys,
                ts_us,
                reach_us,
                most,
                idle_us,
                counts,
                begin,
                (self._rules, self._keys, self._rings, self._times, self._table, self._used),
            )
            if begin >= len(rules):
                return counts
            self._make_room(int(ts_us[begin]), np.minimum(reach_us, idle_us))

    def _make_room(self, now_us: int, reach_us: NDArray[np.int64]) -> None:
        """Forget groups whose times no row can reach any more, and give the others twice the room."""
        used, groups, times = (int(self._used[at]) for at in (0, 3, 4))
        rules, keys, rings = self._rules[:used], self._keys[:used], self._rings[:used]
        alive = np.flatnonzero(rings[:, _LAST] >= now_us - reach_us[rules])
        self._take(rules[alive], keys[alive], rings[alive], self._times, groups, times)

    def _take(
        self,
        rules: NDArray[np.int64],
        keys: NDArray[np.int64],
        rings: NDArray[np.int64],
        times: NDArray[np.int64],
        more_groups: int = 0,
        more_times: int = 0,
    ) -> None:
        rooms = np.where(rings[:, _ROOM] > 0, np.maximum(rings[:, _COUNT] * 2, _RING), 0)
        groups = max(_SMALLEST, 3 * len(rules) + more_groups)
        size = 2 * int(rooms.sum()) + _RING * groups + more_times
        self._lay_out(1 << (groups - 1).bit_length(), size)
        move(
            rules,
            keys,
            rings,
            times,
            rooms,
            (self._rules, self._keys, self._rings, self._times, self._table, self._used),
        )

    def forget_rule(self, rule: int) -> None:
        """Give up the rings of a rule."""
        self.keep(self._rules[: len(self)] != rule)

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Give up all other groups."""
        used = len(self)
        at = np.flatnonzero(kept)
        self._take(
            self._rules[:used][at], self._keys[:used][at], self._rings[:used][at], self._times
        )

    def live(self, now_us: int, reach_us: NDArray[np.int64]) -> NDArray[np.int64]:
        """The keys that some row from now on can reach, each once; others are forgotten."""
        used = len(self)
        self.keep(self._rings[:used, _LAST] >= now_us - reach_us[self._rules[:used]])
        return np.unique(self._keys[: len(self)])

    def rename(self, numbers: NDArray[np.int64]) -> None:
        """Let keys have other numbers, by their old ones."""
        used = len(self)
        keys = numbers[self._keys[:used]]
        self._take(self._rules[:used].copy(), keys, self._rings[:used].copy(), self._times)

    def numbers_of(self, rule: int) -> tuple[NDArray[np.int64], ...]:
        """The keys of a rule whose frame begins with the first row, how many rows each has, and its last time."""
        used = len(self)
        groups = np.flatnonzero(self._rules[:used] == rule)
        return self._keys[groups], self._rings[groups, _COUNT], self._rings[groups, _LAST]

    def set_numbers(
        self,
        rule: int,
        keys: NDArray[np.int64],
        counts: NDArray[np.int64],
        lasts: NDArray[np.int64],
    ) -> None:
        """Let the keys of such a rule have so many rows."""
        used = len(self)
        rings = np.zeros((len(keys), _FIELDS), np.int64)
        rings[:, _COUNT], rings[:, _LAST] = counts, lasts
        rules = np.concatenate((self._rules[:used], np.full(len(keys), rule)))
        keys = np.concatenate((self._keys[:used], keys))
        self._take(rules, keys, np.concatenate((self._rings[:used], rings)), self._times)

    def of_rule(self, rule: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The keys and times of a rule, those of a key side by side and in order."""
        used = len(self)
        groups = np.flatnonzero(self._rules[:used] == rule)
        counts = self._rings[groups, _COUNT]
        keys = np.repeat(self._keys[groups], counts)
        begins = np.repeat(np.cumsum(counts) - counts, counts)
        offsets = np.arange(len(keys)) - begins
        base, room, head = (
            np.repeat(self._rings[groups, at], counts) for at in (_BASE, _ROOM, _HEAD)
        )
        return keys, self._times[base + (head + offsets) % np.maximum(room, 1)]


@njit(cache=True, nogil=True)
def _slot_of(rule, key, rules, keys, table):  # type: ignore[no-untyped-def]
    """Where a group is in the table, or an empty place."""
    mask = np.uint64(len(table) - 1)
    value = (np.uint64(rule) * np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(key)
    value = (value ^ (value >> np.uint64(32))) * np.uint64(0xBF58476D1CE4E5B9)
    slot = (value ^ (value >> np.uint64(29))) & mask
    while True:
        group = table[slot]
        if group < 0 or (rules[group] == rule and keys[group] == key):
            return slot
        slot = (slot + np.uint64(1)) & mask


@njit(cache=True, nogil=True)
def slide(rules, keys, ts, reach, most, idle, counts, begin, state):  # type: ignore[no-untyped-def]
    """Take rows from `begin` on and count. Returns the row to go on with: when there is no room, the first row of the instant that did not fit."""
    own_rules, own_keys, rings, times, table, used = state
    groups = np.empty(len(rules), np.int64)
    row = begin
    while row < len(rules):
        stop = row
        while stop < len(rules) and ts[stop] == ts[row]:
            stop += 1
        # Room for a whole instant: nothing is half done when more has to be found.
        used[3], used[4] = stop - row, 0
        if used[0] + (stop - row) > len(own_rules):
            return row
        used[2] += 1
        needed = 0
        for at in range(row, stop):
            slot = _slot_of(rules[at], keys[at], own_rules, own_keys, table)
            group = table[slot]
            if group < 0:
                group = used[0]
                used[0] += 1
                table[slot] = group
                own_rules[group], own_keys[group] = rules[at], keys[at]
                rings[group, 1] = rings[group, 2] = rings[group, 3] = 0
                rings[group, 4] = ts[at]
            groups[at] = group
            if reach[rules[at]] < 2**62:
                needed += 8
                if rings[group, 5] != used[2]:
                    rings[group, 5] = used[2]
                    needed += 4 * rings[group, 3]
        if used[1] + needed > len(times):
            used[4] = needed
            return row
        for at in range(row, stop):
            ring = rings[groups[at]]
            now, rule = ts[at], rules[at]
            if now - ring[4] > idle:
                ring[2] = ring[3] = 0
            if reach[rule] >= 2**62:
                ring[3] += 1
                ring[4] = now
                counts[at] = ring[3]
                continue
            while ring[3] > 0 and times[ring[0] + ring[2]] < now - reach[rule]:
                ring[2] = (ring[2] + 1) % ring[1]
                ring[3] -= 1
            if ring[3] >= most[rule]:
                ring[2] = (ring[2] + 1) % ring[1]
                ring[3] -= 1
            if ring[3] == ring[1]:
                room = max(2 * ring[1], 4)
                place = used[1]
                used[1] += room
                for number in range(ring[3]):
                    times[place + number] = times[ring[0] + (ring[2] + number) % ring[1]]
                ring[0], ring[1], ring[2] = place, room, 0
            times[ring[0] + (ring[2] + ring[3]) % ring[1]] = now
            ring[3] += 1
            ring[4] = now
        for at in range(row, stop):
            if reach[rules[at]] <= 2**62:
                counts[at] = rings[groups[at], 3]
        row = stop
    return row


@njit(cache=True, nogil=True)
def move(rules, keys, old, old_times, rooms, state):  # type: ignore[no-untyped-def]
    """Lay groups out anew."""
    own_rules, own_keys, rings, times, table, used = state
    for at in range(len(rules)):
        slot = _slot_of(rules[at], keys[at], own_rules, own_keys, table)
        group = used[0]
        used[0] += 1
        table[slot] = group
        own_rules[group], own_keys[group] = rules[at], keys[at]
        ring = rings[group]
        ring[0], ring[1], ring[2], ring[3] = used[1], rooms[at], 0, old[at, 3]
        ring[4] = old[at, 4]
        used[1] += rooms[at]
        for number in range(ring[3] if rooms[at] else 0):
            times[ring[0] + number] = old_times[old[at, 0] + (old[at, 2] + number) % old[at, 1]]


def warm() -> None:
    """Compile this module's kernels."""
    recent, one = RecentTimes(), np.ones(1, np.int64)
    recent.slide(one - 1, one, one, one, one, NEVER)
    recent.forget_rule(0)
