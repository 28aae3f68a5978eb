"""Lanes: what is written beside a tuple is read at its place, wherever the lane was moved to, and memory goes with the tuples."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import cut, from_python, to_python
from cqc.runtime.columns.repeated_text import repeated_text
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


@pytest.mark.parametrize("seed", range(8))
def test_texts_of_large_packets_wait_to_be_read_and_are_read_wherever_the_lane_was_moved(
    seed: int,
) -> None:
    random, capacity = Random(seed), 4096
    lane, values = TextLane(capacity), list[Any]()
    some = (None, "", "a", "ü" * 90)
    for _ in range(40):
        more = [random.choice(some) for _ in range(random.choice((3, 256, 700)))]
        if len(values) + len(more) > capacity:
            start = random.randint(len(values) + len(more) - capacity, len(values))
            values = values[start:]
            lane.relocate(start, len(values), capacity)
        column = from_python(T.STRING, more)
        if random.random() < 0.5 and len(more) > 3:
            by_codes = repeated_text(column.values.dictionary_encode())
            assert by_codes is not None
            column = by_codes
        if random.random() < 0.2:  # tuples that do not come to count
            lane.write(len(values), len(values) + len(more), column)
        lane.write(len(values), len(values) + len(more), column)
        values += more
        if random.random() < 0.3:
            first = random.randint(0, len(values))
            assert to_python(lane.read(slice(first, len(values)))) == values[first:]
    assert to_python(lane.read(slice(0, len(values)))) == values


def test_a_slice_of_much_is_copied_at_once() -> None:
    whole = from_python(T.STRING, [str(number) for number in range(100_000)])
    lane = TextLane(1024)
    lane.write(0, 300, cut(whole, 5, 305))
    assert lane.nbytes < 100_000
    assert to_python(lane.read(slice(0, 300))) == [str(number) for number in range(5, 305)]


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


def test_a_column_that_nobody_reads_has_no_arrays_until_somebody_does() -> None:
    lane, texts = TextLane(1024), [f"text {number}" for number in range(700)]
    column = from_python(T.STRING, texts)
    empty = lane.nbytes
    lane.write(0, 700, column)
    lane.relocate(300, 400, 2048)
    lane.write(400, 1100, column)
    assert lane.nbytes - empty == 2 * column.nbytes - cut(column, 0, 300).nbytes
    assert to_python(lane.read(slice(0, 1100))) == texts[300:] + texts
    lane.relocate(1100, 0, 1024)
    lane.write(0, 700, column)
    assert to_python(lane.read(np.array([699, 0]))) == ["text 699", "text 0"]
