"""The aggregate tree against folding the slots one by one."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest

from cqc.runtime.pull.aggregate.aggregate_tree import FAN, AggregateTree, level_offsets
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
