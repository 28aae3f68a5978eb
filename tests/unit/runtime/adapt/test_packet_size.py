"""Packets: fixed sizes cut evenly, the threshold follows how much waits."""

from __future__ import annotations

import numpy as np

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.adapt.packet_size import Packets
from cqc.runtime.adapt.settings import PACKETS
from cqc.runtime.columns.columns import Column
from cqc.runtime.columns.packet import Packet


def packet_of(count: int) -> Packet:
    numbers = np.arange(count)
    return Packet((Column(ColumnType.BIGINT, numbers),), numbers, numbers)


def test_a_fixed_size_cuts_a_micro_batch_in_order() -> None:
    parts = list(Packets(3).split(packet_of(7)))
    assert [part.arrival.tolist() for part, _ in parts] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [more for _, more in parts] == [True, True, False]


def test_a_micro_batch_within_the_threshold_is_handed_on_as_it_is() -> None:
    packet = packet_of(10)
    assert list(Packets(None).split(packet)) == [(packet, False)]


def test_the_threshold_doubles_while_twice_as_much_waits() -> None:
    packets = Packets(None)
    first = packets.threshold
    sizes = [len(part) for part, _ in packets.split(packet_of(10 * first))]
    assert sizes[:2] == [2 * first, 4 * first]
    assert sum(sizes) == 10 * first


def test_the_threshold_halves_when_it_is_starved_again_and_again() -> None:
    packets = Packets(None)
    list(packets.split(packet_of(10 * packets.threshold)))
    grown = packets.threshold
    for _ in range(100):
        list(packets.split(packet_of(5)))
    assert packets.threshold == PACKETS.least < grown


def test_an_empty_micro_batch_has_no_packets() -> None:
    assert list(Packets(4).split(packet_of(0))) == []
