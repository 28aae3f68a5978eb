"""The slots of groups against sorted lists, and what whoever follows them must do."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cqc.runtime.pull.aggregate.aggregate_tree import AggregateTree
from cqc.runtime.pull.aggregate.group_slots import GroupSlots
from cqc.runtime.pull.aggregate.partials import COUNT


def numbers(*given: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(given, np.int64)


def test_a_row_out_of_order_moves_only_the_newer_rows_of_its_group() -> None:
    slots = GroupSlots()
    slots.insert(numbers(0, 1, 0, 0), numbers(10, 11, 12, 15), 2)
    other = slots.oldest[slots.first[1] : slots.stop[1]].tolist()
    move = slots.insert(numbers(0), numbers(14), 2)
    assert slots.oldest[slots.first[0] : slots.stop[0]].tolist() == [10, 12, 14, 15]
    assert slots.oldest[slots.first[1] : slots.stop[1]].tolist() == other == [11]
    assert (move.sources - slots.first[0]).tolist() == [2]
    assert (move.targets - slots.first[0]).tolist() == [3]
    assert move.laid_out is None


def test_groups_that_lose_all_rows_are_not_live() -> None:
    slots = GroupSlots()
    slots.insert(numbers(0, 1, 1), numbers(1, 2, 9), 3)
    assert slots.live_groups() == 2
    slots.purge(5)
    assert slots.live_groups() == 1
    window, group, starts, stops = slots.stretches(numbers(0, 0), numbers(100, 8))
    assert (window.tolist(), group.tolist(), (stops - starts).tolist()) == ([0], [1], [1])


@pytest.mark.parametrize("seed", range(6))
def test_rows_of_groups_stay_in_time_order_however_they_arrive(seed: int) -> None:
    rng = Random(seed)
    slots, tree = GroupSlots(), AggregateTree(1024, np.int64)
    expected: dict[int, list[tuple[int, int]]] = {}
    number, before = 0, -(10**9)
    for _ in range(25):
        count = rng.choice([1, 3, 40, 300])
        times = sorted(rng.randint(0, 50) + number // 8 for _ in range(count))
        groups = [rng.randrange(4) for _ in range(count)]
        kept = [(time, group) for time, group in zip(times, groups, strict=True) if time >= before]
        move = slots.insert(
            np.array([group for _, group in kept], np.int64),
            np.array([time for time, _ in kept], np.int64),
            4,
        )
        if move.laid_out is not None:
            tree.relocate(*move.laid_out)
        tree.move(move.sources, move.targets)
        tree.write(move.slots, np.arange(number, number + len(kept)), None)
        tree.refresh(move.blocks)
        for at, (time, group) in enumerate(kept):
            expected.setdefault(group, []).append((time, number + at))
        number += len(kept)
        if rng.random() < 0.2:
            before = max(before, number // 8 - 20)
            slots.purge(before)
        check_slots(slots, tree, expected, before)


def check_slots(
    slots: GroupSlots,
    tree: AggregateTree,
    expected: dict[int, list[tuple[int, int]]],
    before: int,
) -> None:
    for group, rows in expected.items():
        live = sorted(row for row in rows if row[0] >= before)
        stretch = slice(slots.first[group], slots.stop[group])
        assert slots.oldest[stretch].tolist() == [time for time, _ in live]
        assert tree.values[stretch].tolist() == [value for _, value in live]
    begin, end = before + 10, before + 60
    window, group_of, starts, stops = slots.stretches(np.array([begin]), np.array([end]))
    partials = tree.stretches(starts, stops)
    found = dict(zip(group_of.tolist(), partials[:, COUNT].tolist(), strict=True))
    inside = {
        group: sum(1 for time, _ in rows if max(before, begin) <= time <= end)
        for group, rows in expected.items()
    }
    assert found == {group: count for group, count in inside.items() if count}
    assert not window.any()
