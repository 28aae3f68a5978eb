"""Predicate lists: similar theta conditions ordered by coverage (Juggler), answered together by rank.

Conditions of one shape that differ in one parameter only are a list, sorted by that parameter. For a given pair of tuples
raising the parameter can change the condition once at most, so the members that hold are a prefix or a suffix of the list.
Which of the two it is, even the sign of a column, shows at the two ends; where the change is, a binary search with the
conditions themselves finds. The slots of every prefix and suffix are bitmaps made beforehand.

    T.fluct < k * B.pressure     k = 0.25 | 0.5 | 0.7 | 0.9     slots 3 | 0 | 2 | 1
    fluct 60, pressure 100:      FALSE FALSE TRUE TRUE          suffix from 2: slots {1, 2}
    fluct -60, pressure -100:    TRUE TRUE FALSE FALSE          prefix of 2: slots {0, 3}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.bound import ComparisonOp
from cqc.runtime.kernel import njit
from cqc.runtime.lineage.rank_lineage import bitmap, set_bits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.join.step.theta_forms import Parameters, ThetaShape

OP_CODES = {
    ComparisonOp.LT: 0,
    ComparisonOp.LE: 1,
    ComparisonOp.GT: 2,
    ComparisonOp.GE: 3,
    ComparisonOp.EQ: 4,
    ComparisonOp.NE: 5,
}
SUM, WIDE, FLIPPED = (
    8,
    16,
    32,
)  # flags beside the operator; FLIPPED: the probing tuple is the right side
_SLACK = 1e-12


def code_of(shape: ThetaShape, probing_item: int) -> int:
    """The shape as one number for the kernels."""
    code = OP_CODES[shape.op]
    code |= SUM if shape.is_sum else 0
    code |= WIDE if shape.wide else 0
    return code | (FLIPPED if probing_item == shape.right_item else 0)


@record
class PredicateList:
    """Conditions in the order of their varying parameter.

    `sets[p]` for p in 0..n are the slots that survive when the first p conditions hold, `sets[n + 1 + p]` when those from
    p on hold; slots without a condition in the list are in all of them. `members` are the slots that have one.
    """

    shape: ThetaShape
    parameters: NDArray[np.float64]  # [n, 4]
    sets: NDArray[np.uint64]  # [2 * (n + 1), words]
    members: NDArray[np.uint64]


def varying_parameters(shape: ThetaShape) -> tuple[int, ...]:
    """Which of the four parameters may tell the members of a list apart."""
    if not shape.is_monotone:
        return ()
    return (3, 2, 0) if shape.is_sum else (3, 2, 1, 0)


@record
class Condition:
    """A slot's condition: one set of parameters, or the two ends of a family, which differ in parameter `varying`."""

    slot: int
    shape: ThetaShape
    ends: tuple[Parameters, ...]
    varying: int = -1


_Group = tuple[
    "ThetaShape", int, tuple[float, ...]
]  # shape, varying parameter, the other parameters


def predicate_lists(
    conditions: Sequence[Condition], words: int, slots: Sequence[int]
) -> list[PredicateList]:
    """Few lists that hold all conditions; `slots` are all slots of the host."""
    groups: dict[_Group, list[Condition]] = {}
    for condition in conditions:
        if len(condition.ends) > 1:
            groups.setdefault(_group(condition, condition.varying), []).append(condition)
    single = [condition for condition in conditions if len(condition.ends) == 1]
    sizes: dict[_Group, int] = {
        group: len(conditions) for group in groups
    }  # one that is there already wins
    for condition in single:
        for group in _possible_groups(condition):
            sizes[group] = sizes.get(group, 0) + 1
    for condition in single:
        largest = max(_possible_groups(condition), key=lambda group: sizes[group])
        groups.setdefault(largest, []).append(condition)
    lists: list[PredicateList] = []
    for (shape, varying, _), members in groups.items():
        lists += [make_list(shape, varying, layer, words, slots) for layer in _layers(members)]
    return lists


def _group(condition: Condition, varying: int) -> _Group:
    own = condition.ends[0]
    others = own if varying < 0 else own[:varying] + own[varying + 1 :]
    return condition.shape, varying, others


def _possible_groups(condition: Condition) -> list[_Group]:
    return [_group(condition, varying) for varying in (*varying_parameters(condition.shape), -1)]


def _layers(conditions: list[Condition]) -> list[list[Condition]]:
    """A slot with several conditions in one list needs all of them: its second one goes to another layer."""
    layers: list[list[Condition]] = []
    used: dict[int, int] = {}
    for condition in conditions:
        level = used.get(condition.slot, 0)
        used[condition.slot] = level + 1
        if level == len(layers):
            layers.append([])
        layers[level].append(condition)
    return layers


def make_list(
    shape: ThetaShape,
    varying: int,
    conditions: Sequence[Condition],
    words: int,
    slots: Sequence[int],
) -> PredicateList:
    """One list; a slot with two ends survives when either holds, for then some member of its family does."""
    order = sorted({end for each in conditions for end in each.ends}, key=lambda end: end[varying])
    place = {end: index for index, end in enumerate(order)}
    entries = [(place[end], each.slot) for each in conditions for end in each.ends]
    own = [slot for _, slot in entries]
    members = bitmap(own, words)
    others = bitmap(list(slots), words) & ~members
    count = len(order)
    rows = np.zeros((count, words), np.uint64)
    set_bits(rows, np.array([at for at, _ in entries], np.int64), own)
    sets = np.zeros((2 * (count + 1), words), np.uint64)
    sets[1 : count + 1] = np.bitwise_or.accumulate(rows, axis=0)
    sets[count + 1 : -1] = np.bitwise_or.accumulate(rows[::-1], axis=0)[::-1]
    return PredicateList(shape, np.array(order, np.float64), sets | others, members)


@njit(cache=True, nogil=True, inline="always")
def less(x, y):  # type: ignore[no-untyped-def]
    """`x < y` where NaN is the greatest number."""
    return x < y or (y != y and x == x)


@njit(cache=True, nogil=True, inline="always")
def holds(code, probing, target, parameters, at):  # type: ignore[no-untyped-def]
    """Whether the condition with the parameters at a place is TRUE for the values of the probing and of the target tuple.

    Inlined down to numbers: handing the array on to a function that is called for each value made lists 1.1 times as slow.
    """
    return holds_for(
        code, probing, target,
        parameters[at, 0], parameters[at, 1], parameters[at, 2], parameters[at, 3],
    )  # fmt: skip


@njit(cache=True, nogil=True)
def holds_for(code, probing, target, a, b, c, d):  # type: ignore[no-untyped-def]
    """The same with the parameters themselves."""
    if code & 32:
        left, right = target, probing
    else:
        left, right = probing, target
    if code & 8:
        x = a * left + c * right
        y = d
    else:
        x = a * left + b
        y = c * right + d
    op = code & 7
    if code & 16:
        return nearly_holds(op, x, y, abs(a * left) + abs(b) + abs(c * right) + abs(d))
    if op == 0:
        return less(x, y)
    if op == 1:
        return not less(y, x)
    if op == 2:
        return less(y, x)
    if op == 3:
        return not less(x, y)
    equal = x == y or (x != x and y != y)
    return equal == (op == 4)


@njit(cache=True, nogil=True)
def nearly_holds(op, x, y, magnitude):  # type: ignore[no-untyped-def]
    """Whether the condition may hold when x and y are only nearly right; TRUE when in doubt."""
    slack = magnitude * _SLACK + 1e-300
    if not slack < np.inf or x != x or y != y:
        return True
    if op <= 1:
        return x <= y + slack
    if op <= 3:
        return x >= y - slack
    return op == 5 or abs(x - y) <= slack


@njit(cache=True, nogil=True)
def rank(code, probing, target, parameters, start, stop):  # type: ignore[no-untyped-def]
    """Which conditions parameters[start:stop] hold, as a row of `PredicateList.sets`.

    p: the first p of the n; n + 1 + p: those from p on.
    """
    n = stop - start
    low = holds(code, probing, target, parameters, start)
    if n == 1:
        return 1 if low else 0
    last = stop - 1
    high = holds(code, probing, target, parameters, last)
    if low == high:
        return n if low else 0
    left, right = (
        0,
        n - 1,
    )  # the condition at left is as at the low end, at right as at the high end
    while right - left > 1:
        middle = (left + right) >> 1
        at = start + middle
        if holds(code, probing, target, parameters, at) == low:
            left = middle
        else:
            right = middle
    return right if low else n + 1 + right


@njit(cache=True, nogil=True)
def member_ranges(code, probing, target, parameters, lower, upper):  # type: ignore[no-untyped-def]
    """For each pair of values the members of a family that hold: lower[i] <= member < upper[i]."""
    n = len(parameters)
    for row in range(len(probing)):
        place = rank(code, probing[row], target[row], parameters, 0, n)
        if place <= n:
            lower[row], upper[row] = 0, place
        else:
            lower[row], upper[row] = place - n - 1, n


@njit(cache=True, nogil=True)
def count_members(lower, upper, counts):  # type: ignore[no-untyped-def]
    """counts[m] = how many ranges hold member m: a histogram of the ends and a running sum."""
    counts[:] = 0
    n = len(counts)
    for row in range(len(lower)):
        if lower[row] < upper[row]:
            counts[lower[row]] += 1
            if upper[row] < n:
                counts[upper[row]] -= 1
    for member in range(1, n):
        counts[member] += counts[member - 1]


def warm() -> None:
    """Compile this module's kernels."""
    value, ends = np.zeros(1), np.zeros(1, np.int64)
    parameters = np.zeros((2, 4))
    member_ranges(0, value, value, parameters, ends, ends)
    count_members(ends, ends, ends.copy())
