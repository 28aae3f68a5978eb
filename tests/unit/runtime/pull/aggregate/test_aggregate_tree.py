"""The aggregate tree against folding the slots one by one, and the slots of groups against sorted lists."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest

from cqc.runtime.pull.aggregate.aggregate_tree import FAN, AggregateTree, level_offsets
from cqc.runtime.pull.aggregate.group_slots import GroupSlots
from cqc.runtime.pull.aggregate.partials import (
    COUNT,
    DOUBLE_LEAST,
    DOUBLE_MOST,
    HIGH,
    LOW,
    REST,
    SUM,
)


def filled(values: list[float], dtype: type) -> AggregateTree:
    tree = AggregateTree(5000, dtype)
    slots = np.arange(len(values))
    tree.write(slots, np.array(values, dtype), None)
    tree.refresh(np.unique(slots // FAN))
    return tree


def test_a_capacity_of_few_slots_has_one_level() -> None:
    assert level_offsets(100).tolist() == [0, 7]


@pytest.mark.parametrize("seed", range(5))
def test_totals_of_whole_numbers_are_exact_for_any_stretch(seed: int) -> None:
    rng = Random(seed)
    values = [rng.choice([2**63 - 1, -(2**63), rng.randint(-5, 5)]) for _ in range(4321)]
    tree = filled(values, np.int64)
    stretches = [sorted(rng.sample(range(len(values) + 1), 2)) for _ in range(50)]
    starts, stops = (np.array(edge) for edge in zip(*stretches, strict=True))
    partials = tree.stretches(starts, stops)
    for (start, stop), partial in zip(stretches, partials.tolist(), strict=True):
        part = values[start:stop]
        assert (partial[HIGH] << 32) + partial[LOW] == sum(part)
        assert partial[COUNT] == stop - start
        assert partial[3:] == [min(part), max(part)]


def test_totals_of_doubles_are_rounded_once() -> None:
    rng = Random(1)
    values = [rng.uniform(-1, 1) * 10.0 ** rng.randint(-8, 8) for _ in range(3000)]
    tree = filled(values, np.float64)
    (partial,) = tree.stretches(np.array([7]), np.array([2900]))
    assert partial[SUM] + partial[REST] == math.fsum(values[7:2900])


def test_nan_is_greater_than_every_number() -> None:
    tree = filled([math.nan, 2.0, math.inf, 1.0], np.float64)
    partials = tree.stretches(np.array([0, 1, 0]), np.array([4, 4, 1]))
    assert partials[:2, DOUBLE_LEAST].tolist() == [1.0, 1.0]
    assert math.isnan(partials[2, DOUBLE_LEAST])
    assert math.isnan(partials[0, DOUBLE_MOST])
    assert partials[1, DOUBLE_MOST] == math.inf


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
