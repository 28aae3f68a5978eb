"""From whole combinations to results: the last conditions, the ranks within families, and what is counted for whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.join.execute.member_ranks import rank_members
from cqc.runtime.join.execute.results import JoinResults
from cqc.runtime.join.step.row_kernels import (
    count_slots,
    count_slots_of,
    finish_rows,
    finish_whole,
    keep_rows,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cqc.runtime.join.execute.executor import NodeContext
    from cqc.runtime.join.membership.host import HostAtNode
    from cqc.runtime.join.plan.routes import Exit
    from cqc.runtime.join.step.probe_step import Rows


class ResultMaker:
    """Makes the results of one node."""

    def __init__(self, context: NodeContext, *, counts_only: bool = False) -> None:
        """`counts_only`: nobody asks for rows, only how many there are."""
        self._plan = context.plan
        self._counts = context.counts
        self._table = context.members.table
        self._by_slot = context.members.counts
        self._counts_only = counts_only

    def leave(self, leaving: Exit, rows: Rows, *, whole: bool) -> list[JoinResults]:
        """The results of a host that leaves; `whole`: all rows are its own and have their result time."""
        part = leaving.part
        if self._plan.of(part).is_counted_by_slot:
            if self._counts_only:
                count = count_slots_of(rows.lineage, rows.count, leaving.mask, self._by_slot)
                self.count(part, self._by_slot, count)
                return []
            if whole:
                positions, ts_us, lineage, counts = finish_whole(
                    rows.count, rows.positions, rows.ts, rows.lineage, leaving.places, self._table.size
                )  # fmt: skip
                self.count(part, counts, rows.count)
                return [JoinResults(part, positions, ts_us, lineage, counts, self._table, {})]
        if whole:
            positions = rows.positions[leaving.places, : rows.count]
            ts_us = rows.ts[0, : rows.count].copy()
            lineage = rows.lineage[: rows.count].copy()
        else:
            positions, ts_us, lineage = finish_rows(
                rows.count, rows.positions, rows.ts, rows.lineage,
                leaving.mask, leaving.places, leaving.stream_places,
            )  # fmt: skip
        return self.check(part, positions, ts_us, lineage)

    def check(
        self,
        part: HostAtNode,
        positions: NDArray[np.int64],
        ts_us: NDArray[np.int64],
        lineage: NDArray[np.uint64],
    ) -> list[JoinResults]:
        """The results among combinations of a host, by the conditions that are left to be evaluated."""
        own = self._plan.of(part)
        if own.checks or part.checks.text_edges:
            part.checks.apply(positions, lineage, own.checks, own.check_slots)
            kept = keep_rows(lineage)
            if len(kept) < len(lineage):
                positions, lineage, ts_us = positions[:, kept], lineage[kept], ts_us[kept]
        return self.rank(part, positions, ts_us, lineage)

    def rank(
        self,
        part: HostAtNode,
        positions: NDArray[np.int64],
        ts_us: NDArray[np.int64],
        lineage: NDArray[np.uint64],
    ) -> list[JoinResults]:
        """Combinations that meet all conditions, with the members of families that have each."""
        if not len(ts_us):
            return []
        count_slots(lineage, len(lineage), self._by_slot)
        counts = self._by_slot[: self._table.size].copy()
        ranges = rank_members(self._plan, self._table, part, positions, lineage, counts)
        self._counts.results += len(ts_us)
        part.results += len(ts_us)
        return [JoinResults(part, positions, ts_us, lineage, counts, self._table, ranges)]

    def count(self, part: HostAtNode, counts: NDArray[np.int64], rows: int) -> None:
        """Rows were found that only have to be counted; `counts` by slot."""
        self._table.totals.add(counts[: self._table.size])
        self._counts.results += rows
        part.results += rows
