"""Tuples by column under growing positions: what is stored can be read, until it is purged."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column, from_python, to_python
from cqc.runtime.columns.packet import Packet
from cqc.runtime.state.hash_chains import KeyKind, keys_of
from cqc.runtime.state.lanes import Lane
from cqc.runtime.state.shared_state import SharedState
from tests.support.relations import relation

_RELATION = relation({"ts": ColumnType.BIGINT, "x": ColumnType.BIGINT, "name": ColumnType.STRING})


def _packet(times: list[int], numbers: list[int | None], names: list[str | None]) -> Packet:
    columns = (
        from_python(ColumnType.BIGINT, times),
        from_python(ColumnType.BIGINT, numbers),
        from_python(ColumnType.STRING, names),
    )
    return Packet(columns, np.array(times, np.int64), np.arange(len(times)))


def _chain(state: SharedState, form: int, key: int) -> list[int]:
    """Positions of a key, walking the chain as the kernels do."""
    chains = state.chains
    found = []
    for bucket in chains.heads[form].tolist():
        position = bucket
        while position >= state.first:
            if chains.links[form, position - state.base, 1] == key:
                found.append(position)
            position = int(chains.links[form, position - state.base, 0])
    return sorted(found)


def test_columns_are_read_back_at_their_positions() -> None:
    state = SharedState(_RELATION)
    assert state.insert(_packet([1, 2], [7, None], ["a", None])) == 0
    assert state.insert(_packet([3], [9], ["ünï"])) == 2
    _, numbers, names = state.rows(np.array([2, 1, 0]))
    assert to_python(numbers) == [9, None, 7]
    assert to_python(names) == ["ünï", None, "a"]
    assert state.ts_at(np.array([2])).tolist() == [3]


@pytest.mark.parametrize("seed", range(3))
def test_random_inserts_and_purges_keep_what_is_young(seed: int) -> None:
    random = Random(seed)
    state = SharedState(_RELATION)
    form = state.key_form(1, KeyKind.PLAIN)
    lane = Lane(np.zeros((state.capacity, 1), np.uint64))
    state.attach(lane)
    kept: dict[int, tuple[int, int | None, str | None]] = {}
    clock = 0
    for _ in range(60):
        count = random.randint(0, 90)
        rows = [
            (
                clock - random.randint(0, 5),
                random.choice((None, 1, 2, 3)),
                random.choice((None, "", "x" * 40)),
            )
            for _ in range(count)
        ]
        first = state.insert(
            _packet(*(list(each) for each in zip(*rows, strict=True)))
            if rows
            else _packet([], [], [])
        )
        kept.update({first + at: row for at, row in enumerate(rows)})
        lane.values[first - state.base : state.head - state.base, 0] = np.arange(first, state.head)
        clock += random.randint(0, 4)
        if random.random() < 0.7:
            before = clock - 30
            state.purge(before)
            assert all(row[0] < before for position, row in kept.items() if position < state.first)
            kept = {position: row for position, row in kept.items() if position >= state.first}
    positions = np.array(sorted(kept), np.int64)
    assert positions.tolist() == list(range(state.first, state.head))
    times, numbers, names = state.rows(positions)
    assert list(zip(*(to_python(each) for each in (times, numbers, names)), strict=True)) == [
        kept[position] for position in positions.tolist()
    ]
    assert lane.values[positions - state.base, 0].tolist() == positions.tolist()
    for key in (1, 2, 3):
        assert _chain(state, form, key) == [at for at, row in kept.items() if row[1] == key]
    assert state.head > state.capacity  # the front was dropped at least once


def test_chains_made_later_hold_what_is_there() -> None:
    state = SharedState(_RELATION)
    state.insert(_packet([1, 2, 3], [7, 8, 7], ["a", "b", "a"]))
    assert _chain(state, state.key_form(1, KeyKind.PLAIN), 7) == [0, 2]


def test_equal_values_have_equal_keys_across_types() -> None:
    doubles = from_python(ColumnType.DOUBLE, [0.0, -0.0, float("nan"), 3.0])
    keys = keys_of(doubles, KeyKind.PLAIN).tolist()
    assert keys[0] == keys[1]
    assert keys_of(from_python(ColumnType.DOUBLE, [-float("nan")]), KeyKind.PLAIN).tolist() == [
        keys[2]
    ]
    assert keys_of(from_python(ColumnType.BIGINT, [0, 3]), KeyKind.AS_DOUBLE).tolist() == [
        keys[0],
        keys[3],
    ]


def test_texts_of_a_sliced_array_are_stored_and_hashed_as_themselves() -> None:
    sliced = pa.array(["zz", "ab", "", "cde"]).slice(1)
    column = Column(ColumnType.STRING, sliced)
    assert keys_of(column, KeyKind.PLAIN).tolist() == [
        int(keys_of(from_python(ColumnType.STRING, [text]), KeyKind.PLAIN)[0])
        for text in ("ab", "", "cde")
    ]
    state = SharedState(relation({"ts": ColumnType.BIGINT, "name": ColumnType.STRING}))
    times = np.arange(3)
    state.insert(Packet((Column(ColumnType.BIGINT, times), column), times, times))
    assert to_python(state.column(1, np.array([2, 0, 1]))) == ["cde", "ab", ""]


def test_memory_is_reported_and_grows_with_what_is_derived() -> None:
    state = SharedState(_RELATION)
    before = state.bytes
    state.key_form(1, KeyKind.PLAIN)
    assert state.bytes > before > 0
