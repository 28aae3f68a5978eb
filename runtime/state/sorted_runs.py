"""The tuples of a state in the order of a value or of event time: a way to reach them that hash chains do not offer.

Juggler's exploitation structures: the join's (tuples by the value that a comparison asks for) and the window's (tuples by
time). Tuples come in runs, sorted one by one; a run is merged with the one before it when that is not much larger, so there
are few runs, and a tuple is merged a logarithm of times. Tuples that the state forgot go when their run is merged.

    runs of 5 and 2 tuples, one more of 2 comes: the last two become one of 4, then that and the first one of 9

Who looks something up first brings the runs up to the head of the state: nothing has to be told when tuples arrive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cqc.runtime.state.lanes import Lane
    from cqc.runtime.state.shared_state import SharedState

_MUCH_LARGER = 2


class SortedRuns:
    """Sorted stretches of one state's tuples: (keys, positions) each."""

    def __init__(
        self,
        state: SharedState,
        keys: Callable[[slice], NDArray[np.float64]],
        lineage: Lane | None = None,
    ) -> None:
        """`keys` of a slice of the state's lanes. `lineage`: only the tuples that some slot wants; it gains none while this is used."""
        self._state = state
        self._keys = keys
        self._lineage = lineage
        self._next = state.first
        self.runs: list[tuple[NDArray[np.float64], NDArray[np.int64]]] = []

    @classmethod
    def by_time(cls, state: SharedState, lineage: Lane | None = None) -> SortedRuns:
        """In the order of event time, which as doubles may be off by less than the slack that look-ups add."""
        return cls(state, lambda at: state.ts[at].astype(np.float64), lineage)

    @classmethod
    def by_value(cls, state: SharedState, number: int, lineage: Lane | None = None) -> SortedRuns:
        """In the order of a value column; NaN is last."""
        return cls(state, lambda at: state.values[at, number].copy(), lineage)

    @property
    def nbytes(self) -> int:
        return sum(keys.nbytes + positions.nbytes for keys, positions in self.runs)

    def catch_up(self) -> None:
        """Take in what has arrived since."""
        state = self._state
        first = max(self._next, state.first)
        if first < state.head:
            part = slice(first - state.base, state.head - state.base)
            keys, positions = self._keys(part), np.arange(first, state.head, dtype=np.int64)
            if self._lineage is not None:
                wanted = self._lineage.values[part].any(axis=1)
                if not wanted.all():
                    keys, positions = keys[wanted], positions[wanted]
            if len(keys):
                self._append(keys, positions, is_sorted=False)
        self._next = state.head
        while self.runs and self.runs[0][1].max() < state.first:
            del self.runs[0]

    def _append(
        self, keys: NDArray[np.float64], positions: NDArray[np.int64], *, is_sorted: bool
    ) -> None:
        if not is_sorted:
            order = np.argsort(keys, kind="stable")
            keys, positions = keys[order], positions[order]
        self.runs.append((keys, positions))
        while len(self.runs) > 1 and len(self.runs[-2][0]) <= _MUCH_LARGER * len(self.runs[-1][0]):
            self._merge_last()

    def _merge_last(self) -> None:
        (keys, positions), (more, later) = self.runs[-2:]
        keys, positions = np.concatenate((keys, more)), np.concatenate((positions, later))
        kept = positions >= self._state.first
        if not kept.all():
            keys, positions = keys[kept], positions[kept]
        order = np.argsort(keys, kind="stable")  # two sorted stretches: one pass
        self.runs[-2:] = [(keys[order], positions[order])]
