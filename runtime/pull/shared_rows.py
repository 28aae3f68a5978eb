"""What bodies over one join have found, each row once, with its audience: which of the bodies want it.

Queries that differ in their conditions on single streams find mostly the same combinations. A copy of them for each body, with
aggregates of its own, costs as often what it costs one; here a row is noted once, and whoever asks takes the rows that have it in
their audience. What is made of the rows of a window for one of them (groups, the first rows of each partition) is made for all at
once as soon as others ask for the same: the groups have audiences then.

    queries {0, 1} want row a, {1} wants b      asked for 0: a      asked for 1: a b

That is worth it while rows are wanted by many. Where they are not, or an operator cannot say who wants a row, every body keeps
what is its own (`is_worth_it`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from cqc.runtime.pull.history.result_history import History
from cqc.runtime.state.audiences import Audiences, KnownSets

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    from cqc.runtime.lineage.matches import Found
    from cqc.runtime.pull.history.result_history import Positions
    from cqc.runtime.state.shared_state import SharedState

    Numbers = NDArray[np.int64]

_Made = TypeVar("_Made")

_LOOKED_AT = 1 << 14  # rows after which it is known whether rows are wanted by many
_A_BODY_IN = 50  # they are, when one body in so many wants a row, and at least
_AT_LEAST = 4
_ANSWERS = 8  # that are kept, of windows that were asked for last
_BESIDE = 16  # looking whether a row is wanted costs as much as the work on so many less


class SharedRows:
    """The rows of all bodies at one join that have not asked to have their own."""

    def __init__(self, states: Sequence[SharedState]) -> None:
        self._states = states
        self.history = History(states, beside=1)
        self._before_us: int | None = None
        self._audiences = Audiences()
        self._keys: dict[int, int] = {}  # of the members' seats
        self._free: list[int] = []
        self._known: _KnownSlots | None = None
        self._rows_noted = 0
        self._pairs_noted = 0
        self._answers: dict[Hashable, Any] = {}
        self._spent: dict[Hashable, int] = {}
        self._since: tuple[tuple[int, int, int], Positions, Numbers] | None = None
        self._most = 0  # members, since rows were last looked through

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def nbytes(self) -> int:
        """Memory of the rows and their audiences."""
        return self.history.nbytes + self._audiences.nbytes

    @property
    def is_worth_it(self) -> bool:
        """Whether rows are wanted by many, as far as that is known."""
        if self._rows_noted < _LOOKED_AT:
            return True
        many = max(_AT_LEAST, len(self) / _A_BODY_IN)
        return self._pairs_noted >= many * self._rows_noted

    # Bodies come and go

    def add(self, key: int) -> int:
        """One body more, at a seat with this key, which has found nothing yet; its number."""
        number = self._free.pop() if self._free else len(self._keys)
        self._keys[number] = key
        self._known = None
        self._most = max(self._most, len(self))
        return number

    def remove(self, number: int) -> None:
        """Forget a body."""
        self.settle()
        del self._keys[number]
        self._free.append(number)
        self._audiences.forget(number)
        self._known = None
        self._forget_answers()
        if 2 * len(self) <= self._most:
            self._drop_unwanted()

    # Rows come and go

    def receive(self, found: Found) -> bool:
        """Note what was found in a packet; False when the operator cannot say who wants a row, and nothing was noted."""
        slots = found.by_row()
        if slots is None:
            return False
        bits = slots.bits()
        known = self._known
        if known is None or known.table is not slots.table or known.words != bits.shape[1]:
            known = self._known = _KnownSlots(
                found, slots.table, bits.shape[1], self._keys, self._audiences
            )
        rows, audiences = known.audiences_of(bits)
        if len(rows):
            self._rows_noted += len(rows)
            self._pairs_noted += int(self._audiences.lengths()[audiences].sum())
            self.history.append((*(each[rows] for each in found.positions), audiences))
            if self.history.is_full:
                self.settle()
            self._forget_answers()
        return True

    def settle(self) -> None:
        """Merge what was noted into the order, and give up rows and sets that nobody has any more."""
        if self.history.has_pending:
            self.history.settle()
        if self._audiences.are_many:
            numbers = self.history.everything().positions[-1]
            renamed = self._audiences.keep(np.unique(numbers))
            self.history.replace_beside(renamed[numbers])
            self._known = None
            self._forget_answers()

    def purge(self, before_us: int) -> None:
        """Forget rows that began before an instant."""
        self._before_us = before_us
        self.history.purge(before_us)
        self._forget_answers()

    # Asking

    def rows(self, number: int, begin_us: int, end_us: int) -> Positions:
        """The rows of one body inside a window, in the order of their oldest event time."""
        return self.own(number, self.history.window(begin_us, end_us))

    def window_since(
        self,
        oldest_us: int,
        begin_us: int,
        end_us: int,
        since: Callable[[Positions], tuple[Positions, Numbers]],
    ) -> tuple[Positions, Numbers]:
        """All rows that began inside a window, as far as `since` leaves them, with what it says beside; kept for the next who asks."""
        key = (oldest_us, begin_us, end_us)
        if self._since is None or self._since[0] != key:
            self._since = (key, *since(self.history.window(oldest_us, end_us)))
        return self._since[1:]

    def own(self, number: int, rows: Positions) -> Positions:
        """Those of some rows with audiences that a body wants."""
        wanted = self.wanted(number, rows[-1])
        if wanted.all():
            return rows[:-1]
        return tuple(each[wanted] for each in rows[:-1])

    def wanted(self, number: int, audiences: Numbers) -> NDArray[np.bool_]:
        """For each of some audiences whether a body is in it."""
        wanted: NDArray[np.bool_] = self._audiences.having(number)[audiences]
        return wanted

    def count(self, number: int) -> int:
        """How many rows a body has."""
        self.settle()
        return int(self.wanted(number, self.history.everything().positions[-1]).sum())

    def top(self, audiences: Numbers, *places: Any) -> tuple[Numbers, Numbers]:
        """As `Audiences.top`."""
        return self._audiences.top(audiences, *places)

    def together(
        self, number: int, key: Hashable, rows: Numbers, make: Callable[[], _Made]
    ) -> _Made | None:
        """What is made of rows with these audiences for all bodies; None where it is cheaper to make it for this one alone.

        It is made once those who asked for the same have looked at as many rows alone. `key` says what is made, of which rows.
        """
        made: _Made | None = self._answers.get(key)
        if made is not None:
            return made
        spent = self._spent.get(key, 0)
        if spent < len(rows) or not len(rows):
            own = int(self.wanted(number, rows).sum())
            self._spent[key] = spent + own + len(rows) // _BESIDE + 1
            return None
        made = make()
        if len(self._answers) >= _ANSWERS:
            del self._answers[next(iter(self._answers))]
        self._answers[key] = made
        return made

    def _drop_unwanted(self) -> None:
        """Give up rows that nobody wants any more."""
        self._most = len(self)
        rows = self.history.everything().positions
        wanted = self._audiences.lengths()[rows[-1]] > 0
        if wanted.all():
            return
        self.history = History(self._states, beside=1)
        if self._before_us is not None:
            self.history.purge(self._before_us)
        self.history.append(tuple(each[wanted] for each in rows))
        self.history.settle()
        self._forget_answers()

    def _forget_answers(self) -> None:
        self._answers.clear()
        self._spent.clear()
        self._since = None


class _KnownSlots:
    """Which slots of a join want rows for which bodies, while the slots keep their numbers."""

    def __init__(
        self, found: Found, table: object, words: int, keys: dict[int, int], audiences: Audiences
    ) -> None:
        self.table = table
        self.words = words
        numbers: dict[int, list[int]] = {}
        for number, key in keys.items():
            numbers.setdefault(key, []).append(number)
        own: list[list[int]] = []
        for slot in range(64 * words):
            seated = dict.fromkeys(seat.key for seat in found.seats_at(slot))
            own.append(sorted(each for key in seated for each in numbers.get(key, ())))
        counts = np.array([len(each) for each in own], np.int64)
        members = np.array([number for each in own for number in each], np.int64)
        used = np.zeros(64 * words, np.uint8)
        used[counts > 0] = 1
        self._mask = np.packbits(used, bitorder="little").view(np.uint64)
        self._sets = KnownSets(audiences, words, counts, np.cumsum(counts) - counts, members)

    def audiences_of(self, bits: NDArray[np.uint64]) -> tuple[Numbers, Numbers]:
        """The rows that some body wants, and the audience of each."""
        bits = bits & self._mask
        rows = np.flatnonzero(bits.any(axis=1))
        if len(rows) < len(bits):
            bits = bits[rows]
        if not len(rows):
            return rows, rows
        return rows, self._sets.of(cast("Numbers", np.ascontiguousarray(bits).view(np.int64)))
