"""Every query over one stream alone: one grouped filter for all of them (CACQ).

A body sits in a slot of the stream's grouped filter. A packet goes through the filter once; what comes out says for each
slot which tuples it wants, and nothing is done for a slot that wants none.

    three bodies  light < 200 | light < 200 AND occupied | room = '1.07'
    packet        (150, true, '1.01')  (150, false, '1.07')  (400, true, '1.02')
    found         seat 0: rows 0, 1    seat 1: row 0         seat 2: row 1
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.normal import NEVER
from cqc.runtime.columns.columns import take
from cqc.runtime.filter.grouped_filter import StreamFilter
from cqc.runtime.filter.visit_order import FilterRoute
from cqc.runtime.lineage.bitmaps import transpose_into, words_for
from cqc.runtime.lineage.matches import Matches, RowSlots, SlotRows
from cqc.runtime.metrics.operators import FilterMetrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import Body
    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.lineage.bitmaps import Lineage
    from cqc.runtime.lineage.matches import Seat


_MANY_SLOTS = 4096  # bits for so many are not made where one would do


@dataclass(slots=True, eq=False)
class SelectionSeat:
    """A body's slot in the stream's grouped filter."""

    body: Body
    slot: int
    counts: SlotCounts

    @property
    def results(self) -> int:
        return self.counts.of(self.slot)

    @property
    def source(self) -> SlotCounts:
        return self.counts

    @property
    def key(self) -> int:
        return self.slot

    @property
    def seconds(self) -> float:
        """Always 0: a filter works for all bodies at once, and their cost is estimated from their results."""
        return 0.0

    @property
    def slot_number(self) -> int:
        return self.slot


class SlotCounts:
    """Results by slot, in one array so that counting a packet is one addition."""

    def __init__(self) -> None:
        self._counts = np.zeros(64, dtype=np.int64)

    def add(self, counts: NDArray[np.int64]) -> None:
        self.reserve(len(counts))
        self._counts[: len(counts)] += counts

    def reserve(self, length: int) -> None:
        if length > len(self._counts):
            grown = np.zeros(max(length, 2 * len(self._counts)), dtype=np.int64)
            grown[: len(self._counts)] = self._counts
            self._counts = grown

    def of(self, slot: int) -> int:
        return int(self._counts[slot])

    def clear(self, slot: int) -> None:
        self.reserve(slot + 1)
        self._counts[slot] = 0


class Selections:
    """The single-stream bodies of one stream."""

    def __init__(self, relation: Relation, routing: str = "selectivity") -> None:
        self.relation = relation
        types = tuple(column.type for column in relation.columns)
        self._filter = StreamFilter(types, route=FilterRoute(routing))
        self._seats: list[SelectionSeat | None] = []
        self._free: list[int] = []
        self._counts = SlotCounts()
        self._tuples_in = 0
        self._tuples_out = 0
        self._seconds = 0.0

    def __len__(self) -> int:
        return len(self._seats) - len(self._free)

    def add(self, body: Body) -> SelectionSeat:
        """Serve a body from now on; a freed slot is used again."""
        if self._free:
            slot = self._free.pop()
        else:
            slot = len(self._seats)
            self._seats.append(None)
        self._counts.clear(slot)
        self._filter.add(slot, body.filters[0])
        seat = SelectionSeat(body, slot, self._counts)
        self._seats[slot] = seat
        return seat

    def remove(self, seat: SelectionSeat) -> None:
        """Stop serving a body and free its slot."""
        self._filter.remove(seat.slot)
        self._seats[seat.slot] = None
        self._free.append(seat.slot)

    def holds(self, seat: SelectionSeat) -> bool:
        """Whether the seat is one of these."""
        return seat.slot < len(self._seats) and self._seats[seat.slot] is seat

    def suspend(self, seat: SelectionSeat) -> None:
        """Find nothing for a body until `resume`; it keeps its slot."""
        self._filter.remove(seat.slot)
        self._filter.add(seat.slot, NEVER)

    def resume(self, seat: SelectionSeat) -> None:
        """Serve a suspended body again."""
        self._filter.remove(seat.slot)
        self._filter.add(seat.slot, seat.body.filters[0])

    def process(self, packet: Packet, first: int) -> SelectionFound:
        """Filter one packet; `first` is where its tuples begin in the shared state (-1 when they are not kept)."""
        started = perf_counter()
        lineage = self._filter.match(packet)
        counts = lineage.counts()
        self._counts.add(counts)
        self._tuples_in += len(packet)
        self._tuples_out += int(counts.sum())
        self._seconds += perf_counter() - started
        return SelectionFound(packet, first, lineage, counts, self._seats, self._counts)

    def past(self, seat: Seat, packet: Packet, first: int) -> SelectionFound:
        """What a body finds in tuples that were there before it: its own filter over them."""
        own = StreamFilter(tuple(column.type for column in self.relation.columns))
        own.add(0, seat.body.filters[0])
        lineage = own.match(packet)
        only = SelectionSeat(seat.body, 0, SlotCounts())
        return SelectionFound(packet, first, lineage, lineage.counts(), [only], only.counts)

    def columns_read(self) -> set[int]:
        """The columns that conditions speak of."""
        return self._filter.columns_read()

    @property
    def failures(self) -> int:
        """Evaluations that gave NULL where Spark's ANSI mode would have failed."""
        return self._filter.failures

    def measure(self) -> FilterMetrics:
        """What the grouped filters of the stream did."""
        name = f"filters({self.relation.name})"
        return FilterMetrics(
            name=name,
            tuples_in=self._tuples_in,
            tuples_out=self._tuples_out,
            seconds=self._seconds,
            bytes=self._filter.measure().bytes,
            decisions=self._filter.decisions(name, self.relation),
            slots=len(self),
            visits=self._filter.visits(self.relation),
        )


class SelectionFound:
    """What the bodies of one stream found in one packet."""

    def __init__(
        self,
        packet: Packet,
        first: int,
        lineage: Lineage,
        counts: NDArray[np.int64],
        seats: Sequence[SelectionSeat | None],
        source: SlotCounts,
    ) -> None:
        self.source = source
        self._packet = packet
        self._first = first
        self._lineage = lineage
        self._counts = counts
        self._seats = seats
        self._kept: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self._packet)

    @property
    def ts_us(self) -> NDArray[np.int64]:
        return self._packet.ts_us

    @cached_property
    def positions(self) -> Sequence[NDArray[np.int64]]:
        if self._kept is not None:
            return (np.where(self._kept, self._first - 1 + np.cumsum(self._kept), -1),)
        return (np.arange(self._first, self._first + len(self._packet), dtype=np.int64),)

    def wanted(self) -> NDArray[np.bool_]:
        """The rows that some body wants."""
        if self._lineage.slots > _MANY_SLOTS:
            return self._lineage.any_tuple()
        return np.asarray(self._bits.any(axis=1))

    def were_kept(self, rows: NDArray[np.bool_]) -> None:
        """Only some tuples of the packet were stored, among them all that a body wants."""
        self._kept = rows

    def hits(self) -> Sequence[SelectionSeat]:
        slots = np.flatnonzero(self._counts).tolist()
        return [seat for slot in slots if (seat := self._seats[slot]) is not None]

    def matches(self, keys: NDArray[np.int64]) -> Matches:
        counts = self._counts[keys]
        some = counts > 0
        slots, counts = keys[some], counts[some]
        rows = self._lineage.source.positions(slots, counts) if len(slots) else slots
        return Matches(slots, counts, rows)

    def count_of(self, keys: NDArray[np.int64]) -> int:
        """How many rows seats with these keys have, all together."""
        return int(self._counts[keys].sum())

    def bits_of(self, keys: NDArray[np.int64]) -> NDArray[np.uint64]:
        """[rows, words]: which of the seats with these keys want a row, as bits in their order."""
        turned = np.zeros((len(self), words_for(len(keys))), np.uint64)
        transpose_into(self._lineage.for_slots(keys), np.arange(len(keys)), turned)
        return turned

    def rows_of(self, seat: Seat) -> NDArray[np.int64]:
        assert isinstance(seat, SelectionSeat)
        return self._lineage.tuples_of(seat.slot)

    def by_slot(self) -> SlotRows:
        slots, rows, ends = self._lineage.by_slot()
        return SlotRows(self._seats, slots, ends - self._counts[slots], ends, rows)

    def by_row(self) -> RowSlots:
        return RowSlots(self._seats, int(self._counts.sum()), lambda: self._bits)

    @cached_property
    def _bits(self) -> NDArray[np.uint64]:
        return self._lineage.by_tuple()

    def seats_at(self, slot: int) -> Sequence[Seat]:
        seat = self._seats[slot]
        return [] if seat is None else [seat]

    def column(self, item: int, column: int, rows: NDArray[np.int64] | None) -> Column:
        del item  # there is only one
        whole = self._packet.columns[column]
        return whole if rows is None else take(whole, rows)
