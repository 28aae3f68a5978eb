"""How many new tuples enter the operators together (Teddies' packets; partial combinations have `join/execute/metaqueues`).

A micro-batch waits in line; packets are taken from its front until nothing is left. With a fixed size every packet has so
many tuples. Otherwise a threshold adapts: it doubles when twice as many tuples wait, halves when the line is starved, and
stays where calls cost little beside the work and a packet still fits the caches of what it meets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cqc.runtime.columns.packet import Packet

LEAST = 8_192
MOST = 1 << 20
_STARVED = 4  # so many micro-batches in a row below half the threshold


class Packets:
    """Cuts the micro-batches of one stream into packets."""

    def __init__(self, size: int | None) -> None:
        """`size` None: the threshold adapts."""
        self._adapts = size is None
        self.threshold = 2 * LEAST if size is None else size
        self.starved = 0
        self.packets = 0
        self.tuples = 0

    def split(self, packet: Packet) -> Iterator[tuple[Packet, bool]]:
        """The packets of a micro-batch, in order, each with whether more follow."""
        begin, count = 0, len(packet)
        self.tuples += count
        while begin < count:
            if self._adapts:
                self._adapt(count - begin, is_first=begin == 0)
            end = min(count, begin + self.threshold)
            self.packets += 1
            part = packet if end - begin == count else packet.take(np.arange(begin, end))
            yield part, end < count
            begin = end

    def _adapt(self, waiting: int, *, is_first: bool) -> None:
        if waiting >= 2 * self.threshold:
            self.threshold = min(2 * self.threshold, MOST)
            self.starved = 0
        elif is_first and 2 * waiting < self.threshold:
            self.starved += 1
            if self.starved >= _STARVED:
                self.threshold = max(self.threshold // 2, LEAST)
                self.starved = 0
