"""Queries with OVER over one stream that differ in their filters and in the constants of QUALIFY alone: one holder for all of them.

A row waits once for each query that wants it, with the number of that query, by which rows are partitioned before anything else. So
the rows of all queries are sorted together, and every function is worked out once: the cost follows the rows, not the queries.

    LAG(x) OVER (PARTITION BY k) WHERE k <> 'a' | WHERE x > 5    rows a 7, b 3    wait as 1 a 7, 0 b 3
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.columns.columns import take
from cqc.runtime.pull.aggregate.aggregates import count_column
from cqc.runtime.windows.lifted_constants import constant_columns
from cqc.runtime.windows.members import Member, Reached, SeatedMembers
from cqc.runtime.windows.running_rows import RunningRows
from cqc.runtime.windows.waiting_rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cqc.compiler.meaning.bound import Literal
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.lineage.matches import Found, Seat
    from cqc.runtime.windows.decided_plan import DecidedPlan
    from cqc.runtime.windows.waiting_rows import Place


class SharedRunning:
    """Queries with one plan, at seats of one operator."""

    def __init__(self, plan: DecidedPlan) -> None:
        self.plan = plan
        self.members: dict[int, Member] = {}
        self._free: list[int] = []
        self._holder = RunningRows(plan, shared=True)
        self._seated: SeatedMembers | None = None
        self._constants: list[tuple[Literal, ...]] = []  # by the number of the query

    def __len__(self) -> int:
        return len(self.members)

    @property
    def nbytes(self) -> int:
        """Memory of what waits and of the past."""
        return self._holder.nbytes

    @property
    def failures(self) -> int:
        """Evaluations that failed and gave NULL."""
        return self.plan.failures

    # Queries come and go

    def add(self, seat: Seat, constants: tuple[Literal, ...]) -> Member:
        """One query more, which compares with these constants (`lifted_constants`)."""
        number = self._free.pop() if self._free else len(self.members)
        self._constants[number : number + 1] = [constants]
        self._holder.constants = ()
        member = self.members[number] = Member(self, number, seat, self.plan)
        self._seated = None
        return member

    def remove(self, member: Member) -> None:
        """Forget a query."""
        del self.members[member.number]
        self._free.append(member.number)
        self._holder.forget_member(member.number)
        self._seated = None

    # Rows in, results out

    def receive(self, found: Found) -> None:
        """Take what an operator found for the queries."""
        if self._seated is None:
            self._seated = SeatedMembers(self.members)
        members, rows = self._seated.pairs(found)
        if not len(rows):
            return

        def column(place: Place) -> Column:
            return found.column(0, place[1], rows)

        own = self.plan.rows(found.ts_us[rows], column)
        self._holder.take(Rows(own.ts_us, own.end_us, (*own.columns, count_column(members))))

    def decide(self, watermark_us: int) -> Iterator[Reached]:
        """The rows that are decided now and that QUALIFY leaves, by member."""
        if not self._holder.constants and self._constants[0]:
            self._holder.constants = constant_columns(self._constants)
        answered = self._holder.answered(watermark_us)
        if answered is None or not len(answered.times_us):
            return
        of = answered.columns[-1].values
        columns, times_us = answered.columns[:-1], answered.times_us
        if (of[1:] < of[:-1]).any():
            order = np.argsort(of, kind="stable")
            of, times_us = of[order], times_us[order]
            columns = tuple(take(column, order) for column in columns)
        numbers, starts = np.unique(of, return_index=True)
        yield Reached(
            [self.members[number] for number in numbers.tolist()],
            np.append(starts[1:], len(of)),
            times_us,
            columns,
        )

    # Going on elsewhere

    def save(self, member: Member) -> dict[str, Any]:
        """What a holder for this query alone would save."""
        return self._holder.save_for(member.number)

    def load(self, member: Member, state: dict[str, Any]) -> None:
        """Take over what a query had saved."""
        self._holder.load_for(state, member.number)
