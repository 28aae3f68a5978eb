"""How a join node goes about its work: what every executor can do, and what it is told.

A node has members and a plan of what their slots ask for; its executor finds the combinations. There are three: the flat join
(`flat_join`), joins with states between them (`tree_join`), and the join that waits for the watermark (`rows_join`). The node
stores tuples with their lineage, asks the executor to join them, and looks after limits and counters; no executor knows another's
inside, nor the node's.

    packet -> node: filter, store -> executor: stored, join -> combinations with the slots that want them
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from cqc.compiler.diagnostics.record import record
from cqc.runtime.join.step.phase_order import PhaseCounts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.join.execute.join_limits import JoinLimits
    from cqc.runtime.join.execute.metaqueues import TrainSize
    from cqc.runtime.join.execute.results import JoinResults
    from cqc.runtime.join.membership.membership import JoinMembership
    from cqc.runtime.join.membership.slots import JoinSeat
    from cqc.runtime.join.plan.join_plan import JoinPlan
    from cqc.runtime.join.plan.routes import Branch
    from cqc.runtime.join.step.probe_step import Work
    from cqc.runtime.metrics.operators import OperatorMetrics


@dataclass(slots=True)
class NodeCounts:
    """What a node did so far."""

    tuples_in: int = 0
    results: int = 0
    seconds: float = 0.0
    phases: PhaseCounts = field(default_factory=PhaseCounts)  # of steps that went phase by phase


@record
class NodeContext:
    """What an executor works with until it is told anew."""

    members: JoinMembership
    plan: JoinPlan
    counts: NodeCounts
    limits: JoinLimits

    def times(self, item: int, first: int, count: int) -> NDArray[np.int64]:
        """Event times as the state has them: always of one layout, whatever the packet's arrays are."""
        state = self.members.inputs[item].state
        at = first - state.base
        return state.ts[at : at + count]


@dataclass(slots=True)
class Turn:
    """What all rows of one packet have in common on their way."""

    packet_first: int  # the position of the packet's first tuple
    found: list[JoinResults]  # where their results go
    more: bool = False  # another packet of the relation follows before one of any other


class JoinExecutor(Protocol):
    """Finds the combinations of one node."""

    @property
    def may_be_shared(self) -> bool:
        """Whether several hosts may sit at its node."""

    @property
    def wants_all(self) -> bool:
        """Whether it needs tuples too that no slot wants."""

    @property
    def starts_from_state(self) -> bool:
        """Whether it takes the lineage of new tuples from the state; else it is told with the packet."""

    @property
    def ranks_last(self) -> bool:
        """Whether all members of a family cost the same, because they are told apart when everything is found."""

    def name(self, members: JoinMembership) -> str:
        """What `explain --analyze` calls the node."""

    def prepare(self, context: NodeContext) -> None:
        """Work with these members by this plan from now on."""

    def forget(self) -> None:
        """Members come or go: `prepare` follows before anything else."""

    def take_packet(
        self, relation: str, packet: Packet, *, keep_all: bool
    ) -> list[JoinResults] | None:
        """Filter, store and join a packet by few calls; None when nothing was done and the packet has to go the longer way."""

    def stored(self, item: int, first: int, lineage: NDArray[np.uint64]) -> None:
        """Tuples of an item are in their state from position `first` on, with this lineage."""

    def join(
        self, relation: str, count: int, admitted: Mapping[int, NDArray[np.uint64]], turn: Turn
    ) -> None:
        """Join the tuples that were stored last, `count` of them; `admitted` is their lineage by item."""

    def drain(self, turn: Turn) -> None:
        """Let nothing wait any more."""

    def begin_again(self) -> None:
        """Forget what was begun with the packet that was stored last: it will be joined again."""

    def packet_done(self, rows: int) -> None:
        """A packet of so many tuples was joined."""

    def past(self, seat: JoinSeat, most: int | None) -> list[JoinResults]:
        """All combinations of tuples that are in the states, for one seat.

        Raises:
            TooMuchFound: when more than `most` would be made on the way.
            Flood: when it takes too long.
        """

    def advance(self, watermarks: Mapping[str, int]) -> list[JoinResults]:
        """What the watermarks complete."""

    def purge_before(self, relation: str, watermarks: Mapping[str, int]) -> int | None:
        """Tuples of the relation older than this are not needed any more; None when nothing may be purged."""

    def measure(self, split: str) -> OperatorMetrics:
        """What it did so far; `split` says from which node it was split, and why."""

    def work_of_levels(self) -> Iterator[tuple[Branch, TrainSize, Work]]:
        """What came to each level of a route so far, its trains, and what was done at its item."""
