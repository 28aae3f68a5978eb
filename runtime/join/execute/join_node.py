"""A join node: all bodies over streams that belong together, answered by one pass.

It is composed of three parts: who sits at it (`membership`), what their slots ask for (`join_plan`, made anew when slots come or go),
and an executor that finds the combinations (`executor`). The node itself knows the way of a packet: it is filtered for all bodies at
once, which gives each tuple its lineage, a bit for every slot that still wants it; the tuples are stored, their lineage beside
them, and the executor joins them. It also sees to it that no query takes everything (`join_limits`).

    packet -> admit: lineage by slot -> stored in the shared state -> process: the executor joins it
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.join.execute.executor import NodeContext, NodeCounts, Turn
from cqc.runtime.join.execute.join_limits import NO_BOUND, JoinLimits
from cqc.runtime.join.execute.result_limits import Flood, FoundWithin
from cqc.runtime.join.membership.slots import JoinSeat
from cqc.runtime.join.plan.join_plan import JoinPlan
from cqc.runtime.join.step.row_kernels import mark_wanted
from cqc.runtime.lineage.rank_lineage import bitmap

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import Body, JoinHost
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.join.execute.executor import JoinExecutor
    from cqc.runtime.join.execute.metaqueues import TrainSize
    from cqc.runtime.join.execute.results import JoinResults
    from cqc.runtime.join.membership.host import HostAtNode
    from cqc.runtime.join.membership.membership import JoinMembership
    from cqc.runtime.join.membership.slots import Slot
    from cqc.runtime.join.plan.routes import Branch
    from cqc.runtime.join.step.probe_step import Work
    from cqc.runtime.lineage.matches import Found, PacketJoin, Seat
    from cqc.runtime.metrics.operators import OperatorMetrics
    from cqc.runtime.state.shared_state import SharedState


class JoinNode:
    """One node at run time. Hosts and bodies come and go between packets."""

    def __init__(
        self, members: JoinMembership, executor: JoinExecutor, order: str = "adaptive"
    ) -> None:
        """`order` is that of the phases of a step (`--order`)."""
        self.members = members
        self.executor = executor
        self.limits = JoinLimits()
        self.counts = NodeCounts()
        self.counts.phases.order = order
        self.why_apart = ""  # from which node it was split, and why
        self._plan: JoinPlan | None = None
        self._admitted: dict[int, NDArray[np.uint64]] = {}  # by item, of the packet at hand
        # The same before tuples lost slots because they have no value to join by, where some did.
        self._asked: dict[int, NDArray[np.uint64]] = {}

    def __len__(self) -> int:
        return len(self.members)

    @property
    def plan(self) -> JoinPlan:
        """What is done for those who sit here now."""
        return self._plan or self._prepare()

    # What others want to know

    @property
    def name(self) -> str:
        """`join3`, or `join0+2+3` where several hosts are served."""
        return self.executor.name(self.members)

    @property
    def tuples_in(self) -> int:
        """Tuples that came so far."""
        return self.counts.tuples_in

    @property
    def seconds(self) -> float:
        """How long they took."""
        return self.counts.seconds

    @property
    def failures(self) -> int:
        """Evaluations that gave NULL where Spark's ANSI mode would have failed."""
        return self.members.failures

    @property
    def relations(self) -> frozenset[str]:
        """Folded names of the streams and tables that feed the node."""
        return self.members.relations

    @property
    def alone(self) -> HostAtNode | None:
        """The host, where there is one and its items are those of the node."""
        return self.members.alone

    @property
    def parts(self) -> list[HostAtNode]:
        """The hosts that are served."""
        return self.members.parts

    @property
    def slots(self) -> list[Slot]:
        """The slots that are taken."""
        return self.members.slots

    @property
    def heads(self) -> dict[str, int]:
        """By folded stream name, how many tuples were stored so far."""
        return self.members.heads

    @property
    def stored(self) -> dict[str, int]:
        """The same since the node is there."""
        return self.members.stored

    @property
    def is_plain(self) -> bool:
        """Whether any hosts may share the node: its executor keeps nothing of its own for one of them."""
        return self.executor.may_be_shared

    def work_of_levels(self) -> Iterator[tuple[Branch, TrainSize, Work]]:
        """What came to each level so far, which levels of one history have in common, and what was done at its item."""
        return self.executor.work_of_levels()

    def serves(self, host: JoinHost) -> bool:
        """Whether bodies of the host sit here."""
        return self.members.serves(host)

    def measure(self) -> OperatorMetrics:
        """What the join did so far."""
        if self._plan is None:
            self._prepare()
        return self.executor.measure(self.why_apart)

    # Who sits here

    def take(self, host: JoinHost) -> None:
        """Serve one host more; its bodies follow."""
        self._change()
        self.members.take(host)

    def add(self, body: Body, *, past: bool = False) -> JoinSeat:
        """Serve a body: it sees tuples inserted from now on, with `past` also those that are in the states."""
        self._change()
        return self.members.add(body, past=past)

    def remove(self, seat: Seat) -> None:
        """Stop serving a body; what only it used is freed."""
        self._change()
        self.members.remove(seat)

    def absorb(self, other: JoinNode) -> None:
        """Take over everything that sits at another node, with the lineage of the tuples that are there."""
        self._change()
        self.members.absorb(other.members)

    def gather(self, other: JoinNode, hosts: Collection[int]) -> None:
        """Take some hosts of another node, with their seats, their results and the lineage of the tuples that are there."""
        self._change()
        self.members.gather(other.members, hosts)
        gathered = [part for part in other.parts if part.host.number in hosts]
        self.counts.results += sum(part.results for part in gathered)

    def adopt(self, other: JoinNode) -> None:
        """Take the place of another node: its members and its counters stay, the executor is another one."""
        self._change()
        self.members.close()
        self.members, self.counts = other.members, other.counts
        self.why_apart = other.why_apart
        self.members.begin_to_count()

    def inherit(self, other: JoinNode) -> None:
        """Count on from where a node was that is no more; the results of hosts that were `gather`ed are counted already."""
        own, counts = self.counts, other.counts
        if not own.tuples_in:
            own.phases = counts.phases
        own.tuples_in += counts.tuples_in
        own.seconds += counts.seconds
        own.results += counts.results - sum(part.results for part in other.parts)
        self.members.count_work_of(other.members)

    def close(self) -> None:
        """Give back the lanes in the shared states; the node is not used any more."""
        self.members.close()

    def _change(self) -> None:
        self._plan = None
        self.executor.forget()

    def _prepare(self) -> JoinPlan:
        plan = self._plan = JoinPlan(self.members)
        self.executor.prepare(NodeContext(self.members, plan, self.counts, self.limits))
        return plan

    # Packets

    def take_packet(
        self, relation: str, packet: Packet, *, keep_all: bool
    ) -> list[JoinResults] | None:
        """Filter, insert and join a packet by few calls; None: it has to go the longer way of `admit` and `process`."""
        if self._plan is None or self.limits.is_limited:  # then it may have to be joined again
            return None
        started = perf_counter()
        self._asked.clear()
        found = self.executor.take_packet(relation, packet, keep_all=keep_all)
        if found is not None:
            self.limits.watch.pause()
            counts = self.counts
            counts.tuples_in += len(packet.ts_us)
            counts.seconds += perf_counter() - started
        return found

    def admit(self, relation: str, packet: Packet, *, whole: bool = False) -> NDArray[np.bool_]:
        """Filter a packet; TRUE where the tuple has to be stored. `process` follows with what was inserted of it.

        `whole`: also tuples that have no value to join by (`asked`).
        """
        started = perf_counter()
        plan, members = self._plan or self._prepare(), self.members
        wanted = np.full(len(packet), self.executor.wants_all, np.bool_)
        self._asked.clear()
        for item in members.items_of[relation]:
            lineage = asked = members.filters[item].match(packet)
            for required in plan.required.get(item, ()):
                valid = packet.columns[required.column].valid
                if valid is not None:
                    lineage = _without(lineage, ~valid, required.slots)
            self._admitted[item] = lineage
            if whole and asked is not lineage:
                self._asked[item] = asked
            mark_wanted(asked if whole else lineage, wanted)
        self.counts.tuples_in += len(packet)
        self.counts.seconds += perf_counter() - started
        return wanted

    def asked(self, item: int, first: int) -> NDArray[np.uint64]:
        """The slots whose conditions on an item the tuples stored from position `first` on meet."""
        asked = self._asked.get(item)
        if asked is not None:
            return asked
        each = self.members.inputs[item]
        state = each.state
        return each.lineage.values[first - state.base : state.head - state.base]

    def process(
        self,
        relation: str,
        packet: Packet,
        first: int,
        rows: NDArray[np.int64] | None = None,
        *,
        more: bool = False,
    ) -> list[JoinResults]:
        """Join a packet that was inserted at position `first`; `rows` are its rows in the packet that was admitted.

        With `more` another packet of the relation follows before one of any other: what is not enough for a train may wait.
        """
        started = perf_counter()
        self.limits.watch.resume()
        plan, count = self._plan or self._prepare(), len(packet)
        for item in self.members.items_of[relation]:
            lineage = self._admitted[item]
            if rows is not None:
                lineage = self._admitted[item] = lineage[rows]
                if item in self._asked:
                    self._asked[item] = self._asked[item][rows]
            self.members.store(item, lineage, first)
            self.executor.stored(item, first, lineage)
        turn = Turn(first, [], more)
        if plan.whole_limits and plan.is_outgrown:
            self.executor.drain(turn)
            self._prepare()
        if self.limits.is_limited:
            turn.found = self._join_within(relation, count, first)
        else:
            self.executor.join(relation, count, self._admitted, turn)
        self.executor.packet_done(count)
        self.counts.seconds += self._paused() - started
        return turn.found

    def _join_within(self, relation: str, count: int, first: int) -> list[JoinResults]:
        """Join the tuples that were stored from `first` on; a slot that goes too far is silenced, and the others miss nothing.

        Nothing waits for a next packet: when a slot is silenced the packet is joined again without it.
        """
        limits, table = self.limits, self.members.table
        most = NO_BOUND if limits.most_found is None else limits.most_found
        before = limits.seconds(table.size)
        while True:
            plan = self.plan
            self._mute(relation)
            found = FoundWithin(most + count, table.size, plan.families)
            try:
                self.executor.join(relation, count, self._admitted, Turn(first, found))
            except Flood as flood:
                self.counts.results -= sum(map(len, found))
                found.take_back()
                self.executor.begin_again()
                self._silence(flood)
                limits.restore(before)
            else:
                return found

    def _mute(self, relation: str) -> None:
        """Let nothing start for the slots that are silenced."""
        muted = self.limits.muted(self.members)
        if not muted:
            return
        if self.executor.starts_from_state:
            self.members.clear(muted)  # they will not be served again
            return
        others = ~bitmap(muted, self.members.words)
        for item in self.members.items_of[relation]:
            lineage = self._admitted[item]
            self._admitted[item] = lineage & others[: lineage.shape[1]]

    def _silence(self, flood: Flood) -> None:
        if self.limits.silence(self.members, flood, all_members=self.executor.ranks_last):
            self._plan = None  # the conditions that are checked for a family are narrower now

    def past(self, seat: Seat, most: int | None = None) -> list[JoinResults]:
        """All combinations of tuples that are in the states, for a seat that was added with `past`.

        Raises:
            TooMuchFound: when more than `most` would be made on the way.
            Flood: when it takes too long.
        """
        assert isinstance(seat, JoinSeat)
        if self._plan is None:
            self._prepare()
        self.limits.watch.resume()
        try:
            return self.executor.past(seat, most)
        finally:
            self._paused()

    def advance(self, watermarks: Mapping[str, int]) -> list[JoinResults]:
        """What the watermarks complete; a query that takes too long for that is silenced."""
        if self.limits.silenced:
            return []
        if self._plan is None:
            self._prepare()
        started = perf_counter()
        self.limits.watch.resume()
        found: list[JoinResults] = []
        try:
            found = self.executor.advance(watermarks)
        except Flood as flood:
            self._silence(flood)
        finally:
            self.counts.seconds += self._paused() - started
        return found

    def purge_before(self, relation: str, watermarks: Mapping[str, int]) -> int | None:
        """Tuples of the relation older than this can meet no future tuple; None when nothing may be purged.

        `watermarks` by folded stream name: no future tuple of the stream is older. A stream that is not there has no
        future tuples.
        """
        if self._plan is None:
            self._prepare()
        return self.executor.purge_before(relation, watermarks)

    def _paused(self) -> float:
        """The join is done for now; the time."""
        self.limits.watch.pause()
        return perf_counter()


def _without(
    lineage: NDArray[np.uint64], rows: NDArray[np.bool_], slots: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """The lineage with the slots cleared in the rows."""
    words = min(lineage.shape[1], len(slots))
    cleared = lineage.copy()
    cleared[rows, :words] &= ~slots[:words]
    return cleared


def push_packet(
    state: SharedState,
    joins: Sequence[PacketJoin],
    packet: Packet,
    *,
    keep_all: bool,
    more: bool = False,
    wanted: NDArray[np.bool_] | None = None,
    whole: bool = False,
) -> list[Found]:
    """Filter a packet for every join of its relation, insert what one of them wants (all with `keep_all`), join it.

    `wanted` are the tuples that somebody else wants; those of the joins are added to it. `more`: the next packet is of this relation too, so that joins may let a part of the work wait for it. A micro-batch with several
    streams is pushed stream by stream in a fixed order. Few unwanted tuples are kept as well: picking the others out would cost more
    than they do. `whole`: tuples are wanted that meet the conditions of a join on this relation, even if they have no value to join by.
    """
    relation = fold(state.relation.name)
    mostly_wanted = wanted is None or 2 * np.count_nonzero(wanted) >= len(packet)
    if len(joins) == 1 and not more and mostly_wanted and (keep_all or not state.is_picked_from):
        taken = joins[0].take_packet(relation, packet, keep_all=keep_all)
        if taken is not None:
            return list(taken)
    if wanted is None:
        wanted = np.zeros(len(packet), np.bool_)
    for join in joins:
        wanted |= join.admit(relation, packet, whole=whole)
    rows = None
    state.is_picked_from = not keep_all and 2 * int(np.count_nonzero(wanted)) < len(packet)
    if state.is_picked_from:
        rows = np.flatnonzero(wanted)
        packet = packet.take(rows)
    first = state.insert(packet)
    found: list[Found] = []
    for join in joins:
        found += join.process(relation, packet, first, rows, more=more)
    return found
