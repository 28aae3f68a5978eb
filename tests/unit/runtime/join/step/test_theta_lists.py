"""Predicate lists: ranks against the conditions themselves, and bounds that never lose a value."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cqc.compiler.meaning.bound import ComparisonOp
from cqc.runtime.join.step.scan_kernels import ranges_of_list
from cqc.runtime.join.step.theta_forms import Parameters, ThetaShape
from cqc.runtime.join.step.theta_lists import (
    Condition,
    code_of,
    count_members,
    holds,
    member_ranges,
    predicate_lists,
    rank,
)
from cqc.runtime.lineage.rank_lineage import bitmap

_VALUES = (0.0, -0.0, 1.0, -2.5, 7.0, float("inf"), float("-inf"), float("nan"), 1e300)


def _judge(shape: ThetaShape, parameters: Parameters, left: float, right: float) -> bool:
    a, b, c, d = parameters
    with np.errstate(all="ignore"):
        x = (
            np.float64(a) * left + c * np.float64(right)
            if shape.is_sum
            else np.float64(a) * left + b
        )
        y = np.float64(d) if shape.is_sum else c * np.float64(right) + d
    order = [(bool(np.isnan(each)), 0.0 if np.isnan(each) else float(each)) for each in (x, y)]
    match shape.op:
        case ComparisonOp.LT:
            return order[0] < order[1]
        case ComparisonOp.LE:
            return order[0] <= order[1]
        case ComparisonOp.GT:
            return order[0] > order[1]
        case ComparisonOp.GE:
            return order[0] >= order[1]
        case ComparisonOp.EQ:
            return order[0] == order[1]
        case _:
            return order[0] != order[1]


def _shape(random: Random) -> ThetaShape:
    op = random.choice(list(ComparisonOp))
    return ThetaShape(0, 1, 1, 1, op, is_sum=random.random() < 0.4, wide=False)


def _conditions(random: Random, shape: ThetaShape, count: int) -> list[Condition]:
    varying = random.choice((0, 2, 3))
    base = [
        random.choice((1.0, -0.5, 2.0)),
        0.0 if shape.is_sum else 1.0,
        random.choice((1.0, -3.0)),
        0.5,
    ]
    conditions = []
    for slot in range(count):
        own = list(base)
        own[varying] = random.choice((-2.0, -1.0, 0.25, 0.5, 1.5, 4.0))
        conditions.append(Condition(slot, shape, ((own[0], own[1], own[2], own[3]),)))
    return conditions


@pytest.mark.parametrize("seed", range(30))
def test_ranks_give_the_slots_whose_conditions_hold(seed: int) -> None:
    random = Random(seed)
    shape = _shape(random)
    conditions = _conditions(random, shape, 7)
    lists = predicate_lists(conditions, 1, range(9))
    for left in _VALUES:
        for right in _VALUES:
            alive = bitmap(range(9), 1)
            for each in lists:
                place = rank(
                    code_of(shape, 0), left, right, each.parameters, 0, len(each.parameters)
                )
                assert place == rank(
                    code_of(shape, 1), right, left, each.parameters, 0, len(each.parameters)
                )
                alive = alive & each.sets[place]
            wanted = [each.slot for each in conditions if _judge(shape, each.ends[0], left, right)]
            assert alive.tolist() == bitmap([*wanted, 7, 8], 1).tolist(), (left, right)


@pytest.mark.parametrize("seed", range(30))
def test_a_value_outside_the_accepted_range_meets_no_condition_and_a_sure_one_all(
    seed: int,
) -> None:
    random = Random(seed)
    shape = _shape(random)
    for each in predicate_lists(_conditions(random, shape, 5), 1, range(5)):
        for probing in _VALUES:
            for item in (0, 1):
                code = code_of(shape, item)
                low, high, sure_low, sure_high = ranges_of_list(
                    code, probing, each.parameters, 0, len(each.parameters)
                )
                ends = (low, high, sure_low, sure_high)
                near = [np.nextafter(end, way) for end in ends for way in (-np.inf, np.inf)]
                for value in (*_VALUES, *ends, *near):
                    found = [
                        holds(code, probing, value, each.parameters, at)
                        for at in range(len(each.parameters))
                    ]
                    assert not any(found) or not (value < low or value > high)
                    assert all(found) or not sure_low <= value <= sure_high


def test_conditions_that_differ_in_one_parameter_are_one_list() -> None:
    shape = ThetaShape(0, 1, 1, 1, ComparisonOp.LT, is_sum=False, wide=False)
    conditions = [Condition(slot, shape, ((1.0, 0.0, 0.5 + slot, 0.0),)) for slot in range(6)]
    conditions.append(Condition(6, shape, ((2.0, 1.0, 0.5, 0.0),)))
    assert sorted(len(each.parameters) for each in predicate_lists(conditions, 1, range(7))) == [
        1,
        6,
    ]


def test_a_slot_with_two_conditions_of_one_shape_needs_both() -> None:
    shape = ThetaShape(0, 1, 1, 1, ComparisonOp.LT, is_sum=False, wide=False)
    conditions = [Condition(0, shape, ((1.0, 0.0, 1.0, offset),)) for offset in (0.0, 5.0)]
    lists = predicate_lists(conditions, 1, [0])
    alive = [each.sets[rank(0, 3.0, 1.0, each.parameters, 0, 1)].tolist() for each in lists]
    assert sorted(alive) == [[0], [1]]


def test_members_are_counted_by_the_ends_of_their_ranges() -> None:
    parameters = np.array([[1.0, 0.0, scale, 0.0] for scale in (0.5, 1.0, 2.0)])
    left, right = np.array([1.0, 1.0, -1.0]), np.array([1.5, 0.1, -1.0])
    lower, upper, counts = np.zeros(3, np.int64), np.zeros(3, np.int64), np.zeros(3, np.int64)
    member_ranges(0, left, right, parameters, lower, upper)  # left < scale * right
    count_members(lower, upper, counts)
    wanted = [
        sum(a < scale * b for a, b in zip(left, right, strict=True)) for scale in (0.5, 1.0, 2.0)
    ]
    assert counts.tolist() == wanted
