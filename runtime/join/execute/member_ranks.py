"""Which members of a family a join result belongs to.

The join found a result for a whole family. Its values' rank among the members' constants gives the range of members for
which the ranked condition holds; counting a range for ten thousand members is one step at each of its ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.join.execute.results import MemberRanges, rows_with
from cqc.runtime.join.step.theta_lists import code_of, count_members, member_ranges

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.runtime.join.membership.host import HostAtNode
    from cqc.runtime.join.membership.residual_checks import JoinChecks
    from cqc.runtime.join.membership.slots import Slot, SlotTable
    from cqc.runtime.join.plan.join_plan import JoinPlan
    from cqc.runtime.state.shared_state import SharedState


def rank_members(
    plan: JoinPlan,
    table: SlotTable,
    part: HostAtNode,
    positions: NDArray[np.int64],
    lineage: NDArray[np.uint64],
    counts: NDArray[np.int64],
) -> Mapping[int, MemberRanges]:
    """Count the results for every slot and member; the members of each row, for slots that are families."""
    table.totals.add(counts)
    found: dict[int, MemberRanges] = {}
    if not len(plan.families):
        return found
    for number in plan.families[counts[plan.families] > 0].tolist():
        slot = table.slots[number]
        rows = rows_with(lineage, number)
        if number in plan.inexact_families:
            ranges = _ranges_by_expression(slot, part.checks, positions, rows)
        else:
            ranges = _ranges_by_value(slot, part.states, positions, rows)
        slot.counts += ranges.counts
        found[number] = ranges
    return found


def _ranges_by_value(
    slot: Slot,
    states: Sequence[SharedState],
    positions: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> MemberRanges:
    shape = slot.shape
    assert shape is not None
    left = _values(states[shape.left_item], shape.left_column, positions[shape.left_item, rows])
    right = _values(states[shape.right_item], shape.right_column, positions[shape.right_item, rows])
    lower, upper = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    member_ranges(code_of(shape, shape.left_item), left, right, slot.parameters, lower, upper)
    return _counted(slot, rows, lower, upper)


def _values(state: SharedState, column: int, positions: NDArray[np.int64]) -> NDArray[np.float64]:
    values: NDArray[np.float64] = state.values[positions - state.base, state.value_column(column)]
    return values


def _ranges_by_expression(
    slot: Slot, checks: JoinChecks, positions: NDArray[np.int64], rows: NDArray[np.int64]
) -> MemberRanges:
    """Numbers too large for doubles: ask each member's own condition. Members that hold are side by side."""
    count = len(slot.members)
    holds = np.zeros((count + 1, len(rows)), np.bool_)
    for at, member in enumerate(slot.members):
        if member.theta is not None:
            holds[at] = checks.is_true(member.theta.expression, positions[:, rows])
    lower = np.argmax(holds, axis=0)
    upper = lower + np.count_nonzero(holds, axis=0)
    return _counted(slot, rows, lower, upper)


def _counted(
    slot: Slot, rows: NDArray[np.int64], lower: NDArray[np.int64], upper: NDArray[np.int64]
) -> MemberRanges:
    counts = np.zeros(len(slot.members), np.int64)
    count_members(lower, upper, counts)
    return MemberRanges(rows, lower, upper, counts)
