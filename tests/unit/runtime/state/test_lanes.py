"""Lanes: what is written beside a tuple is read at its place, wherever the lane was moved to, and memory goes with the tuples."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python, to_python
from cqc.runtime.state.lanes import Lane, NumberBlock, NumberLane, TextLane, text_buffers, writable


def number_lane(capacity: int) -> tuple[NumberLane, list[Any]]:
    block = NumberBlock(np.dtype(np.int64))
    lane = NumberLane(T.BIGINT, block)
    block.allocate(capacity)
    return lane, [block, lane]


def text_lane(capacity: int) -> tuple[TextLane, list[Any]]:
    lane = TextLane(capacity)
    return lane, [lane]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["numbers", "text"])
def test_a_lane_is_a_list_whose_front_goes(kind: str, seed: int) -> None:
    random = Random(seed)
    capacity = 32
    lane, moved = number_lane(capacity) if kind == "numbers" else text_lane(capacity)
    type_ = T.BIGINT if kind == "numbers" else T.STRING
    some = (None, 1, 2) if kind == "numbers" else (None, "", "a", "ü" * 900)
    values: list[Any] = []
    for _ in range(60):
        more = [random.choice(some) for _ in range(random.randint(0, 9))]
        if len(values) + len(more) > capacity:
            start = random.randint(0, len(values))
            values = values[start:]
            needed = len(values) + len(more)
            capacity = max(32, needed * random.choice((1, 2)))
            for each in moved:
                each.relocate(start, len(values), capacity)
        lane.write(len(values), len(values) + len(more), from_python(type_, more))
        values += more
        assert to_python(lane.read(slice(0, len(values)))) == values
    if values:
        picked = [random.randrange(len(values)) for _ in range(20)]
        assert to_python(lane.read(np.array(picked))) == [values[at] for at in picked]


def test_a_lane_of_rows_moves_with_the_tuples() -> None:
    lane = Lane(np.arange(8).reshape(4, 2))
    lane.relocate(1, 2, 6)
    assert lane.values.tolist() == [[2, 3], [4, 5], [0, 0], [0, 0], [0, 0], [0, 0]]


def test_the_bytes_of_long_texts_are_given_back() -> None:
    lane = TextLane(4)
    lane.write(0, 2, from_python(T.STRING, ["x" * 1_000_000, "y"]))
    full = lane.nbytes
    lane.relocate(1, 1, 4)
    assert to_python(lane.read(slice(0, 1))) == ["y"]
    assert lane.nbytes < full / 100


def test_text_buffers_are_those_of_the_part_that_is_asked_for() -> None:
    offsets, data = text_buffers(pa.array(["ab", None, "c", ""])[1:])
    assert (offsets.tolist(), data.tobytes()) == ([0, 0, 1, 1], b"c")
    offsets, data = text_buffers(pa.nulls(2, pa.string()))
    assert (offsets.tolist(), len(data)) == ([0, 0, 0], 0)


def test_kernels_get_arrays_that_they_may_write_to() -> None:
    mine = np.zeros(2)
    assert writable(mine) is mine
    shared = np.frombuffer(b"\x00" * 8, np.uint8)
    assert writable(shared).flags.writeable
