"""How many tuples the items of a join have and how many of two items agree, from some that are there now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.graph.lower import classes_of
from cqc.runtime.adapt import settings
from cqc.runtime.join.choice.shape_costs import Statistics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.join.membership.host import HostAtNode
    from cqc.runtime.join.membership.slots import Slot

_OBJECT = np.dtype(object)


def sample_join(part: HostAtNode, slots: Sequence[Slot]) -> Statistics:
    """Statistics of a host that is alone at its node."""
    count = len(part.inputs)
    positions = [_wanted(part, item) for item in range(count)]
    sizes = np.array([max(len(each), 1) for each in positions], np.float64)
    came = np.array([_came(part, item, len(each)) for item, each in enumerate(positions)])
    pairs = [
        ((edge.left_item, edge.left_column), (edge.right_item, edge.right_column))
        for edge in part.equi_joins
    ]
    classes = classes_of(pairs)
    equal: dict[tuple[int, int], dict[int, float]] = {}
    rest = np.ones((count, count))
    has_theta = np.zeros((count, count), np.bool_)
    for one in range(count):
        for two in range(one + 1, count):
            few, many = (
                _some(positions[one], settings.SHAPE_FEW_TUPLES),
                _some(positions[two], settings.SHAPE_MANY_TUPLES),
            )
            if not len(few) or not len(many):
                continue
            same = np.ones((len(few), len(many)), np.bool_)
            shares: dict[int, float] = {}
            for number, places in enumerate(classes):
                columns = dict(places)
                if one in columns and two in columns:
                    agree = _equal(part, (one, columns[one], few), (two, columns[two], many))
                    shares[number] = max(float(agree.mean()), 0.5 / agree.size)
                    same &= agree
            equal[one, two] = equal[two, one] = shares
            if not same.any():
                same[:] = True
            at_one, at_two = (_some(at, settings.SHAPE_MOST_PAIRS) for at in np.nonzero(same))
            share = _agree(
                part, slots[: settings.SHAPE_MOST_SLOTS], (one, few[at_one]), (two, many[at_two])
            )
            rest[one, two] = rest[two, one] = share
            has_theta[one, two] = has_theta[two, one] = any(
                {theta.left_item, theta.right_item} == {one, two}
                for slot in slots[: settings.SHAPE_MOST_SLOTS]
                for theta in slot.body.theta_joins
            )
    return Statistics(sizes, came, equal, rest, has_theta)


def _wanted(part: HostAtNode, item: int) -> NDArray[np.int64]:
    """The positions of the tuples that some slot wants."""
    each = part.inputs[item]
    state = each.state
    live = each.lineage.values[state.first - state.base : state.head - state.base]
    found: NDArray[np.int64] = np.flatnonzero(live.any(axis=1)) + state.first
    return found


def _came(part: HostAtNode, item: int, wanted: int) -> float:
    """How many tuples came that some slot wants, as far as those that are there tell."""
    state = part.inputs[item].state
    if not state.relation.is_stream:
        return 0.0
    return state.head * (max(wanted, 1) / max(len(state), 1))


def _some(positions: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    if len(positions) <= most:
        return positions
    return positions[np.linspace(0, len(positions) - 1, most).astype(np.int64)]


def _equal(
    part: HostAtNode,
    left: tuple[int, int, NDArray[np.int64]],
    right: tuple[int, int, NDArray[np.int64]],
) -> NDArray[np.bool_]:
    one, two = (_values(part, *side) for side in (left, right))
    agree: NDArray[np.bool_] = np.asarray(one[:, None] == two[None, :], np.bool_)
    return agree


def _values(part: HostAtNode, item: int, column: int, positions: NDArray[np.int64]) -> NDArray:  # type: ignore[type-arg]  # numbers, or texts as objects
    values = part.inputs[item].state.column(column, positions).values
    if isinstance(values, np.ndarray):
        return values
    return np.array(values.to_pylist(), _OBJECT)


def _agree(
    part: HostAtNode,
    slots: Sequence[Slot],
    left: tuple[int, NDArray[np.int64]],
    right: tuple[int, NDArray[np.int64]],
) -> float:
    """The share of pairs that windows, theta conditions and filters of some slot allow."""
    (one, at_one), (two, at_two) = left, right
    if not slots:
        return 1.0
    positions = np.zeros((len(part.inputs), len(at_one)), np.int64)
    positions[one], positions[two] = at_one, at_two
    inputs = part.inputs[one], part.inputs[two]
    times = [
        each.state.ts[at - each.state.base] if each.state.relation.is_stream else None
        for each, at in zip(inputs, (at_one, at_two), strict=True)
    ]
    allowed = np.zeros(len(at_one), np.bool_)
    evaluated = part.checks.evaluated
    for slot in slots:
        ok = np.ones(len(at_one), np.bool_)
        for each, at in zip(inputs, (at_one, at_two), strict=True):
            word, bit = divmod(slot.number, 64)
            lineage = each.lineage.values[at - each.state.base, word]
            ok &= (lineage >> np.uint64(bit) & np.uint64(1)).astype(np.bool_)
        if times[0] is not None and times[1] is not None:
            later = times[1] - times[0]
            ok &= (later <= slot.most_us[one, two]) & (-later <= slot.most_us[two, one])
        for theta in slot.body.theta_joins:
            if {theta.left_item, theta.right_item} == {one, two}:
                ok &= part.checks.is_true(theta.expression, positions)
        allowed |= ok
    part.checks.evaluated = evaluated
    return max(float(allowed.mean()), 0.5 / max(len(allowed), 1))
