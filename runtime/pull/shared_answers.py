"""What is made of rows with audiences for all queries of one kind at once: groups, and the first rows of each partition.

rows a b c for {0, 1}, {1}, {0, 1}, a and b in one group     groups: ab for {0}: a, for {1}: a b
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.columns.columns import take
from cqc.runtime.pull.aggregate.aggregates import count_column
from cqc.runtime.pull.aggregate.grouping import number_rows
from cqc.runtime.pull.aggregate.partial_groups import Groups, PartialGroups, taken_groups
from cqc.runtime.state.audiences import Audiences

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column
    from cqc.runtime.pull.over.over_plan import Sorting
    from cqc.runtime.pull.pull_plan import Answer, PullPlan
    from cqc.runtime.pull.shared_rows import SharedRows

    Numbers = NDArray[np.int64]
    Fetch = Callable[[int, int], Column]


class SharedGroups:
    """The groups of rows with audiences: of each group one for each of its audiences.

    Where every group has one audience, because the conditions look at what is grouped by, its aggregates are the same for all; else
    those of a query are put together from the parts that it wants.
    """

    def __init__(self, plan: PullPlan, fetch: Fetch, audiences: Numbers) -> None:
        none = np.zeros(len(audiences), np.int64)
        part = plan.partial_groups(none, fetch, count_column(audiences))
        self.audiences = part.keys[-1].values
        self._parts = PartialGroups(part.window, part.keys[:-1], part.lanes)
        _, count = number_rows([count_column(part.window), *part.keys[:-1]], len(part.window))
        self._whole = plan.merged([self._parts]) if count == len(part.window) else None

    def answer(self, plan: PullPlan, wanted: NDArray[np.bool_]) -> Answer:
        """The answer from the groups whose audience has a query."""
        rows = np.flatnonzero(wanted)
        none = np.zeros(len(rows), np.int64)
        if self._whole is None:
            groups = plan.merged([taken_groups(self._parts, rows, none)])
        elif len(rows) == len(wanted):
            groups = self._whole
        else:
            groups = Groups(
                none,
                tuple(take(key, rows) for key in self._whole.keys),
                tuple(take(each, rows) for each in self._whole.aggregates),
            )
        return plan.answer_groups(groups, 1)


class SharedFirsts:
    """Of rows with audiences those that are among the first of their partition, for each query."""

    def __init__(self, rows: Numbers, members: Numbers) -> None:
        order = np.lexsort((rows, members))
        self._rows, self._members = rows[order], members[order]

    def of(self, member: int) -> Numbers:
        """Those of one query, ascending."""
        begin, end = np.searchsorted(self._members, (member, member + 1))
        found: Numbers = self._rows[begin:end]
        return found


def firsts_alone(sorting: Sorting, first: tuple[int, int], fetch: Fetch, count: int) -> Numbers:
    """Of so many rows of one query those that are among the first of their partition, ascending."""
    partitions = sorting.arranged(None, fetch, count)
    everybody = Audiences()
    one = np.ones(1, np.int64)
    everybody.add(one, one - 1)
    none = np.zeros(count, np.int64)
    places, _ = everybody.top(none, partitions.first, partitions.peer_first, *first)
    return np.sort(partitions.rows[places])


def shared_firsts(
    sorting: Sorting, first: tuple[int, int], fetch: Fetch, shared: SharedRows, audiences: Numbers
) -> SharedFirsts:
    """The first rows of each partition for all queries; `first` says how they are counted, and how many are taken."""
    partitions = sorting.arranged(None, fetch, len(audiences))
    places, members = shared.top(
        audiences[partitions.rows], partitions.first, partitions.peer_first, *first
    )
    return SharedFirsts(partitions.rows[places], members)
