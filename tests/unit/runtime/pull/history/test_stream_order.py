"""The kept tuples of one stream in event-time order."""

from __future__ import annotations

import numpy as np

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python
from cqc.runtime.columns.packet import Packet
from cqc.runtime.pull.history.stream_order import StreamOrder
from cqc.runtime.state.shared_state import SharedState
from tests.support.relations import relation


def state_with(*times_us: int) -> SharedState:
    state = SharedState(relation({"ts": T.TIMESTAMP}))
    insert(state, *times_us)
    return state


def insert(state: SharedState, *times_us: int) -> None:
    numbers = np.arange(state.head, state.head + len(times_us))
    column = from_python(T.TIMESTAMP, list(times_us))
    state.insert(Packet((column,), np.array(times_us, np.int64), numbers))


def test_the_last_tuples_up_to_an_end_are_found_in_time_order() -> None:
    state = state_with(10, 30, 20, 20)
    order = StreamOrder(state)
    assert order.last(2, 20) == (20, 2)
    assert order.last(3, 20) is None
    insert(state, 15)
    assert order.last(3, 20) == (15, 4)
    assert order.between(11, 25).tolist() == [4, 2, 3]


def test_a_window_of_a_stream_that_came_in_order_has_its_tuples_beside_it() -> None:
    state = state_with(10, 20, 20, 30)
    order = StreamOrder(state)
    positions, packet = order.packet(11, 29)
    assert positions.tolist() == [1, 2]
    assert packet.ts_us.tolist() == packet.columns[0].values.tolist() == [20, 20]
    assert np.shares_memory(packet.ts_us, state.ts)
    insert(state, 15)
    positions, packet = order.packet(11, 29)
    assert (positions.tolist(), packet.ts_us.tolist()) == ([4, 1, 2], [15, 20, 20])


def test_what_is_purged_is_not_counted() -> None:
    order = StreamOrder(state_with(10, 20, 30))
    assert order.count(0, 100) == 3
    order.purge(15)
    assert order.count(0, 100) == 2
    assert order.times().tolist() == [20, 30]
