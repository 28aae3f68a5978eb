"""A packet: tuples by column, picked and put together with their event times and arrival numbers."""

from __future__ import annotations

import numpy as np

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import from_python, to_python
from cqc.runtime.columns.packet import Packet


def packet(times: list[int], texts: list[str | None], first: int) -> Packet:
    columns = (from_python(ColumnType.BIGINT, times), from_python(ColumnType.STRING, texts))
    return Packet(columns, np.array(times, np.int64), np.arange(first, first + len(times)))


def test_what_is_taken_keeps_its_time_and_its_number() -> None:
    taken = packet([5, 3, 4], ["a", None, "c"], first=10).take(np.array([2, 0, 2]))
    assert len(taken) == 3
    assert [to_python(column) for column in taken.columns] == [[4, 5, 4], ["c", "a", "c"]]
    assert (taken.ts_us.tolist(), taken.arrival.tolist()) == ([4, 5, 4], [12, 10, 12])


def test_packets_are_joined_in_their_order() -> None:
    one, two = packet([1, 2], ["a", None], first=0), packet([0], ["c"], first=2)
    joined = one.joined([two, packet([], [], first=3)])
    assert [to_python(column) for column in joined.columns] == [[1, 2, 0], ["a", None, "c"]]
    assert (joined.ts_us.tolist(), joined.arrival.tolist()) == ([1, 2, 0], [0, 1, 2])
    assert one.joined([]) is one
