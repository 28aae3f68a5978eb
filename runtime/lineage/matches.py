"""What an operator found in one packet, for all the bodies it serves at once.

Single-stream filters and joins hand their findings on in this one form, so delivery and kept histories do not care which
of them it was. Rows are numbered within the finding; `positions` say where their tuples are in the shared state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from cqc.compiler.diagnostics.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import Body
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.columns.packet import Packet


class Seat(Protocol):
    """A body's place at an operator; `results` counts what was found for it so far, `seconds` what it took."""

    @property
    def body(self) -> Body: ...

    @property
    def results(self) -> int: ...

    @property
    def seconds(self) -> float:
        """Work that was credited to it so far."""

    @property
    def source(self) -> Hashable:
        """The same for all seats at one operator."""

    @property
    def key(self) -> int:
        """Tells the seats at one operator apart; two share it where all their rows are the same."""

    @property
    def slot_number(self) -> int:
        """The slot it is at, among those of its operator."""


@record
class Matches:
    """The rows of many seats: by key, ascending, so many rows of each, one seat after the other and each in order."""

    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    rows: NDArray[np.int64]


@record
class SlotRows:
    """The rows of all seats at once: those of the seats at `slots[k]` are `rows[begins[k]:ends[k]]`.

    `members` are seats that share a slot without sharing its rows, each with where its rows begin and end. `table` says whose
    slots these are: one object for every finding of an operator, as long as its slots keep their numbers.
    """

    table: object
    slots: NDArray[np.int64]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    rows: NDArray[np.int64]
    members: Sequence[tuple[Seat, int, int]] = ()
    times_us: NDArray[np.int64] | None = (
        None  # of the rows, where those of each slot are in their order
    )


@record
class RowSlots:
    """The slots of all rows at once: `bits` makes [row, word] with bit k of a row for slot k; `pairs` of them are set."""

    table: object  # as in `SlotRows`
    pairs: int
    bits: Callable[[], NDArray[np.uint64]]


class Found(Protocol):
    """The findings of one packet."""

    @property
    def ts_us(self) -> NDArray[np.int64]:
        """The result time of each row."""

    @property
    def positions(self) -> Sequence[NDArray[np.int64]]:
        """For each item, in host order, where the row's tuple is in the shared state."""

    def __len__(self) -> int: ...

    @property
    def source(self) -> Hashable:
        """That of the seats at the operator that found it."""

    def hits(self) -> Sequence[Seat]:
        """The seats with at least one row."""

    def matches(self, keys: NDArray[np.int64]) -> Matches:
        """The rows of all seats with one of these keys (ascending)."""

    def rows_of(self, seat: Seat) -> NDArray[np.int64]:
        """The rows of a seat."""

    def by_slot(self) -> SlotRows:
        """The rows of all seats at once, for those who want them all."""

    def by_row(self) -> RowSlots | None:
        """The slots of all rows as bits; None where seats share a slot without sharing its rows."""

    def seats_at(self, slot: int) -> Sequence[Seat]:
        """The seats at a slot (none when its bodies have left)."""

    def column(self, item: int, column: int, rows: NDArray[np.int64] | None) -> Column:
        """Values of one item's column for the rows (None: all rows)."""


class PacketJoin(Protocol):
    """A join as a packet meets it: first it says which tuples it wants, then it joins those that were stored.

    Where it is the only join of a relation it may do everything itself.
    """

    def take_packet(
        self, relation: str, packet: Packet, *, keep_all: bool
    ) -> Sequence[Found] | None:
        """Filter, store and join a packet; None when nothing was done and the others of these methods are to be called."""

    def admit(self, relation: str, packet: Packet, *, whole: bool = False) -> NDArray[np.bool_]:
        """Which tuples of a packet some body wants; with `whole` even if they have no value to join by."""

    def process(
        self,
        relation: str,
        packet: Packet,
        first: int,
        rows: NDArray[np.int64] | None = None,
        *,
        more: bool = False,
    ) -> Sequence[Found]:
        """Join tuples that were stored from position `first` on; `rows` are their rows in the packet admitted.

        With `more` the next packet is of the same relation, and what is found may wait for it.
        """
