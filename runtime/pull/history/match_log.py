"""What an operator found for the bodies of pull queries, until somebody asks for it.

One packet may hold rows for thousands of bodies. Handing each of them its rows would cost more than finding them, so a packet's
findings are noted as a whole: one run, in which the rows of a body lie side by side. A body that is asked takes its rows out
of the runs that came since it last did; when much has come together, every body takes what is its own.

    run 1   body 4: rows a b    body 7: row b      body 7, up to date with run 0, is asked: rows b, d
    run 2   body 7: row d       body 9: row c
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from cqc.compiler.diagnostics.record import record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.runtime.lineage.matches import Matches
    from cqc.runtime.pull.history.result_history import Positions

_MOST_RUNS = 8  # more are put together before somebody looks through them
_MOST_ROWS = 1 << 16
_ROWS_A_BODY = 1024  # so many on average make it worth while to visit every body


class Taker(Protocol):
    """A body that takes what is found for it."""

    log_head: int  # it has taken what was found before

    def note(self, rows: Positions) -> None: ...


@record
class _Run:
    """Rows of several bodies, by the bodies' keys (ascending), and for each body in the order in which they were found."""

    keys: NDArray[np.int64]
    ends: NDArray[np.int64]  # where the rows of each key end
    number: int | NDArray[np.int64]  # of the finding: of all rows, or of each
    positions: Positions

    def numbers(self) -> NDArray[np.int64]:
        """The number of the finding that each row is from."""
        if isinstance(self.number, int):
            return np.full(int(self.ends[-1]), self.number, np.int64)
        return self.number

    def rows(self, key: int, since: int) -> slice:
        """Where the rows of a body from findings numbered `since` or above are."""
        at = int(self.keys.searchsorted(key))
        if at == len(self.keys) or self.keys[at] != key:
            return slice(0, 0)
        begin, end = int(self.ends[at - 1]) if at else 0, int(self.ends[at])
        if isinstance(self.number, int):
            return slice(begin if self.number >= since else end, end)
        return slice(begin + int(self.number[begin:end].searchsorted(since)), end)


class MatchLog:
    """The findings of one operator, numbered as they come."""

    def __init__(self) -> None:
        self.head = 0  # the number of the next finding
        self._runs: list[_Run] = []
        self._rows = 0

    @property
    def nbytes(self) -> int:
        return sum(
            8 * (2 * len(run.keys) + int(run.ends[-1]) * (1 + len(run.positions)))
            for run in self._runs
        )

    def add(self, matches: Matches, positions: Sequence[NDArray[np.int64]]) -> None:
        """Note what was found in one packet; `positions` are where the tuples of each row are, by item."""
        if not len(matches.keys):
            return
        rows = matches.rows
        own = tuple(each[rows] for each in positions)
        self._runs.append(_Run(matches.keys, np.cumsum(matches.counts), self.head, own))
        self._rows += len(rows)
        self.head += 1

    def is_full(self, bodies: int) -> bool:
        """Whether so much was noted that each of so many bodies should take its own."""
        return self._rows > max(_MOST_ROWS, _ROWS_A_BODY * bodies)

    def take(self, key: int, since: int) -> list[Positions]:
        """The rows of a body from findings numbered `since` or above, in the order in which they were found."""
        if len(self._runs) > _MOST_RUNS:
            self._runs = [_joined(self._runs)]
        found = []
        for run in self._runs:
            rows = run.rows(key, since)
            if rows.start < rows.stop:
                found.append(tuple(each[rows] for each in run.positions))
        return found

    def hand_over(self, bodies: Mapping[int, Sequence[Taker]]) -> None:
        """Give every body (by key) what it has not taken yet, and forget it."""
        for run in self._runs:
            ends = run.ends.tolist()
            for key, begin, end in zip(run.keys.tolist(), [0, *ends], ends, strict=False):
                for body in bodies.get(key, ()):
                    if isinstance(run.number, int):
                        rows = slice(begin if run.number >= body.log_head else end, end)
                    else:
                        rows = run.rows(key, body.log_head)
                    if rows.start < rows.stop:
                        body.note(tuple(each[rows] for each in run.positions))
        self._runs, self._rows = [], 0


def _joined(runs: Sequence[_Run]) -> _Run:
    """Runs as one; the sort is stable and finds what is already in order."""
    keys = np.concatenate([np.repeat(run.keys, np.diff(run.ends, prepend=0)) for run in runs])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    ends = np.append(np.flatnonzero(keys[1:] != keys[:-1]) + 1, len(keys))
    numbers = np.concatenate([run.numbers() for run in runs])[order]
    parts = zip(*(run.positions for run in runs), strict=True)
    return _Run(keys[ends - 1], ends, numbers, tuple(np.concatenate(each)[order] for each in parts))
