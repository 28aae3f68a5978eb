"""How many new tuples enter the operators together (Teddies' packets; partial combinations have `join/execute/metaqueues`).

A micro-batch waits in line; packets are taken from its front until nothing is left. With a fixed size every packet has so
many tuples. Otherwise a threshold adapts: it doubles when twice as many tuples wait, halves when the line is starved, and
stays where calls cost little beside the work and a packet still fits the caches of what it meets. What is left goes with the last packet
where it is less than half of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.adapt import settings
from cqc.runtime.adapt.decision import Decision, counted
from cqc.runtime.adapt.size_threshold import SizeThreshold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cqc.runtime.columns.packet import Packet


class Packets:
    """Cuts the micro-batches of one stream into packets."""

    def __init__(self, size: int | None) -> None:
        """`size` None: the threshold adapts."""
        self._adapts = size is None
        self._size = SizeThreshold(settings.PACKETS, size)
        self.packets = 0
        self.tuples = 0

    @property
    def threshold(self) -> int:
        """How many tuples make a packet now."""
        return self._size.value

    def decision(self, about: str) -> Decision | None:
        """How large packets are and why; None where it is fixed or never changed."""
        if not self._adapts or not self._size.changes:
            return None
        note = f"{counted(self._size.changes, 'change')}, as more or fewer waited"
        return Decision(about, f"is cut into packets of up to {self.threshold:,} tuples", note=note)

    def split(self, packet: Packet) -> Iterable[tuple[Packet, bool]]:
        """The packets of a micro-batch, in order, each with whether more follow."""
        count = len(packet.ts_us)
        self.tuples += count
        if not count:
            return ()
        if self._adapts:
            self._adapt(count, is_first=True)
        if (
            count <= self._most
        ):  # nearly always: packets may be small, and this is asked for every one
            self.packets += 1
            return ((packet, False),)
        return self._cut(packet, count)

    def _cut(self, packet: Packet, count: int) -> Iterator[tuple[Packet, bool]]:
        begin = 0
        while begin < count:
            if self._adapts and begin:
                self._adapt(count - begin, is_first=False)
            end = count if count - begin <= self._most else begin + self.threshold
            self.packets += 1
            part = packet if end - begin == count else packet.cut(begin, end)
            yield part, end < count
            begin = end

    @property
    def _most(self) -> int:
        """How many tuples are not cut: a small rest would cost nearly as many calls as a whole packet."""
        size = self._size.value
        return size + size // 2 if self._adapts else size

    def _adapt(self, waiting: int, *, is_first: bool) -> None:
        self._size.saw(waiting)
        if is_first and 2 * waiting < self._size.value:
            self._size.starve()
