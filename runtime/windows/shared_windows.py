"""Queries over windows of one stream that differ in their filters alone: one holder for all of them.

A row waits once, with its audience: which of the queries want it. Groups are made once for each audience, rows are sorted once. Where a
group has one audience (its filter looks at its keys), its aggregates are the same for all of these queries, and where QUALIFY takes
the first rows of each partition, the others are left out for each query by one walk over what is sorted (`audiences.top`). What is left
is finished for all queries at once: to the clauses after it, the windows of different queries are different windows.

    TUMBLE(s, 10 SEC) WHERE k <> 'a' | WHERE k <> 'b'    rows a b c for {1}, {0}, {0, 1}     groups as many, not twice
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.bound import Decision
from cqc.runtime.columns.columns import select, take
from cqc.runtime.filter.selections import SelectionFound
from cqc.runtime.pull.aggregate.aggregates import count_column
from cqc.runtime.pull.aggregate.grouping import number_rows
from cqc.runtime.pull.aggregate.partial_groups import Groups, PartialGroups, taken_groups
from cqc.runtime.state.audiences import Audiences, KnownSets
from cqc.runtime.windows.complete_partitions import CompletePartitions
from cqc.runtime.windows.decided_plan import DecidedPlan
from cqc.runtime.windows.grouped_windows import GroupedWindows, by_partials
from cqc.runtime.windows.members import Member, Reached
from cqc.runtime.windows.waiting_rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.lineage.matches import Found, Seat
    from cqc.runtime.pull.pull_plan import Answer

    Numbers = NDArray[np.int64]
    Fetch = Callable[[int, int], Column]

_BITS_AT_MOST = 1 << 28  # of a packet, by rows of bits for each row


def can_be_shared(node: QueryNode) -> bool:
    """Whether rows of several queries like this one can wait together."""
    assert node.decided is not None
    if node.decided.decision is Decision.GROUPS:
        return by_partials(DecidedPlan(node))
    return node.decided.decision is Decision.COMPLETE


class SharedWindows:
    """Queries with one plan, at seats of one operator."""

    def __init__(self, plan: DecidedPlan) -> None:
        self.plan = plan
        self.members: dict[int, Member] = {}
        self._free: list[int] = []
        self._audiences = Audiences()
        self._of_groups = plan.decided.decision is Decision.GROUPS
        self._holder: GroupedWindows | CompletePartitions = (
            GroupedWindows(plan, shared=True) if self._of_groups else CompletePartitions(plan)
        )
        self._seats: _Seats | None = None

    def __len__(self) -> int:
        return len(self.members)

    @property
    def nbytes(self) -> int:
        """Memory of what waits."""
        return self._holder.nbytes + self._audiences.nbytes

    @property
    def failures(self) -> int:
        """Evaluations that failed and gave NULL."""
        return self.plan.failures

    # Queries come and go

    def add(self, seat: Seat) -> Member:
        """One query more."""
        number = self._free.pop() if self._free else len(self.members)
        member = self.members[number] = Member(self, number, seat, self.plan)
        self._seats = None
        return member

    def remove(self, member: Member) -> None:
        """Forget a query."""
        del self.members[member.number]
        self._free.append(member.number)
        self._audiences.forget(member.number)
        self._seats = None

    # Rows in, results out

    def receive(self, found: Found) -> None:
        """Take what an operator found for the queries."""
        if self._seats is None:
            self._seats = _Seats(self.members, self._audiences)
        assert isinstance(found, SelectionFound)
        rows, audiences = self._seats.audiences_of(found)
        if not len(rows):
            return

        def column(place: tuple[int, int]) -> Column:
            return found.column(0, place[1], rows)

        own = self.plan.rows(found.ts_us[rows], column)
        self._holder.take(Rows(own.ts_us, own.end_us, (*own.columns, count_column(audiences))))

    def decide(self, watermark_us: int) -> Iterator[Reached]:
        """The rows of windows that are past now."""
        if isinstance(self._holder, GroupedWindows):
            groups = self._holder.past_groups(watermark_us)
            if groups is not None:
                yield from self._of_past_groups(groups)
        else:
            rows = self._holder.past_rows(watermark_us)
            if rows is not None:
                audiences, window = rows.columns[-1].values, self._holder.instants(rows)
                yield from self._of_rows(window, audiences, self.plan.fetch(rows))
        if self._audiences.are_many:
            self._forget_audiences()

    def _of_past_groups(self, part: PartialGroups) -> Iterator[Reached]:
        part = taken_groups(part, np.argsort(part.window, kind="stable"))
        audiences = part.keys[-1].values
        bare = PartialGroups(part.window, part.keys[:-1], part.lanes)
        told = self.plan.answers.told_by_window
        telling = [key for at, key in enumerate(bare.keys) if at not in told]
        _, count = number_rows([count_column(bare.window), *telling], len(bare.window))
        if count < len(bare.window):
            yield from self._of_mixed_groups(bare, audiences)
            return
        groups = self.plan.answers.merged([bare])
        kept = self.plan.answers.kept_groups(groups)
        if kept is not None:
            audiences = audiences[kept]
            groups = Groups(
                groups.window[kept],
                tuple(select(key, kept) for key in groups.keys),
                tuple(select(each, kept) for each in groups.aggregates),
            )
        yield from self._of_rows(groups.window, audiences, self.plan.answers.fetch_groups(groups))

    def _of_mixed_groups(self, part: PartialGroups, audiences: Numbers) -> Iterator[Reached]:
        """Groups that have several audiences, and so other aggregates for each query."""
        ends_us, window = np.unique(part.window, return_inverse=True)
        for rows, members in self._audiences.pairs(audiences):
            own = members * len(ends_us) + window[rows]
            groups = self.plan.answers.merged([taken_groups(part, rows, own)])
            answer = self.plan.answers.finish_groups(groups, self.plan.answers.kept_groups(groups))
            yield from self._reached(answer, ends_us)

    def _of_rows(self, window: Numbers, audiences: Numbers, fetch: Fetch) -> Iterator[Reached]:
        """Rows, or groups, that are the same for all members of their audience."""
        ends_us, window = np.unique(window, return_inverse=True)
        for rows, members in self._wanted(window, audiences, fetch):
            answer = self.plan.answers.finish_rows(
                members * len(ends_us) + window[rows], _taken(fetch, rows)
            )
            yield from self._reached(answer, ends_us)

    def _wanted(
        self, window: Numbers, audiences: Numbers, fetch: Fetch
    ) -> Iterator[tuple[Numbers, Numbers]]:
        """The rows of each member, without those that QUALIFY cannot take."""
        first = self.plan.answers.first_of_order
        if first is None:
            yield from self._audiences.pairs(audiences)
            return
        (sorting,) = self.plan.answers.over_plan.sortings
        partitions = sorting.arranged(window, fetch, len(window))
        places, members = self._audiences.top(
            audiences[partitions.rows], partitions.first, partitions.peer_first, *first
        )
        rows = partitions.rows[places]
        order = np.lexsort((rows, members))
        yield rows[order], members[order]

    def _reached(self, answer: Answer, ends_us: Numbers) -> Iterator[Reached]:
        if not len(answer.window):
            return
        members, starts = np.unique(answer.window // len(ends_us), return_index=True)
        yield Reached(
            [self.members[number] for number in members.tolist()],
            np.append(starts[1:], len(answer.window)),
            ends_us[answer.window % len(ends_us)],
            answer.columns,
        )

    def _forget_audiences(self) -> None:
        """Give up the sets that no row has any more."""
        used = np.unique(np.concatenate([np.zeros(0, np.int64), *self._holder.audiences()]))
        self._holder.rename(self._audiences.keep(used))
        self._seats = None

    # Going on elsewhere

    @property
    def closed_us(self) -> int:
        """Windows up to here take nothing more."""
        return self._holder.closed_us

    def save(self, member: Member) -> dict[str, Any]:
        """What a holder for this query alone would save."""
        return self._holder.save_for(self._audiences.having(member.number))

    def load(self, member: Member, state: dict[str, Any]) -> None:
        """Take over what a query had saved."""
        one = np.ones(1, np.int64)
        (audience,) = self._audiences.add(one, one * member.number).tolist()
        self._holder.load_for(state, audience)


class _Seats:
    """Which members sit where, and the audiences that their rows have had so far."""

    def __init__(self, members: dict[int, Member], audiences: Audiences) -> None:
        keys = np.array([member.seat.key for member in members.values()], np.int64)
        numbers = np.array(list(members), np.int64)
        order = np.lexsort((numbers, keys))
        self._members = numbers[order]
        self._keys, self._begins = np.unique(keys[order], return_index=True)
        self._counts = np.diff(np.append(self._begins, len(keys)))
        self._audiences = audiences
        self._single = np.full(len(self._keys), -1, np.int64)
        words = -(-len(self._keys) // 64)
        self._known = KnownSets(audiences, words, self._counts, self._begins, self._members)

    def audiences_of(self, found: SelectionFound) -> tuple[Numbers, Numbers]:
        """The rows that some member wants, and the audience of each; a row may come once for each seat where few rows are wanted."""
        words, tuples = -(-len(self._keys) // 64), len(found)
        pairs = found.count_of(self._keys)
        as_bits = words <= 16 or pairs > tuples * words // 16
        if as_bits and words * 64 * tuples // 8 <= _BITS_AT_MOST:
            return self._by_bits(found)
        matches = found.matches(self._keys)
        seats = np.searchsorted(self._keys, matches.keys)
        new = seats[self._single[seats] < 0]
        if len(new):
            sizes, own = self._known.members_at(new)
            self._single[new] = self._audiences.add(sizes, own)
        return matches.rows, np.repeat(self._single[seats], matches.counts)

    def _by_bits(self, found: SelectionFound) -> tuple[Numbers, Numbers]:
        bits = found.bits_of(self._keys).view(np.int64)
        rows = np.flatnonzero(bits.any(axis=1))
        if len(rows) < len(bits):
            bits = bits[rows]
        return rows, self._known.of(bits)


def _taken(fetch: Fetch, rows: Numbers) -> Fetch:
    """The columns of some rows; each is taken once."""
    taken: dict[tuple[int, int], Column] = {}

    def column(item: int, at: int) -> Column:
        if (item, at) not in taken:
            taken[item, at] = take(fetch(item, at), rows)
        return taken[item, at]

    return column
