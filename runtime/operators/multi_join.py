"""The n-ary join: stub of the interface, being filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import Body, JoinHost
    from cqc.runtime.columns import Column
    from cqc.runtime.operators.shared_state import SharedState
    from cqc.runtime.packet import Packet


@dataclass(slots=True, eq=False)
class Seat:
    """A body's place on a host: the slot of its lineage bit and, in a family, its member number.

    `results` counts the combinations found for the body so far.
    """

    body: Body
    slot: int
    member: int
    results: int


class JoinResults:
    """Combinations found by one packet: positions in the shared states, one array per host position."""

    positions: list[NDArray[np.int64]]  # by host position (order of host.relations)
    ts_us: NDArray[np.int64]  # result time: max(ts) over stream items

    def __len__(self) -> int: ...
    def hits(self) -> list[Seat]:
        """The seats that have at least one row in here."""
    def rows_of(self, seat: Seat) -> NDArray[np.int64]:
        """Which rows of this block are results of the seat's body, in result-time order."""
    def column(self, item: int, column: int, rows: NDArray[np.int64]) -> Column:
        """Values of one column of one host position for the rows. Valid until the states are purged."""


class MultiJoin:
    """One host. `add`/`remove` bodies at any time between packets."""

    def __init__(self, host: JoinHost, states: Mapping[str, SharedState]) -> None:
        """`states` by folded relation name; relations of the host must be there."""
    def add(self, body: Body, *, past: bool = False) -> Seat:
        """Serve the body from now on: it sees tuples inserted from now on; with `past` also those in the states."""
    def remove(self, seat: Seat) -> None: ...
    def past(self, seat: Seat) -> list[JoinResults]:
        """All combinations of tuples already in the states, for a seat added with `past` (pull queries)."""
    def admit(self, relation: str, packet: Packet) -> NDArray[np.bool_]:
        """Filter the packet for every item of that relation; TRUE where some body wants the tuple. Then `process` it."""
    def process(self, relation: str, packet: Packet, first: int) -> list[JoinResults]:
        """Join the packet just inserted at `first` (the packet given is what was inserted) with the other items."""
    def purge_before(self, relation: str, watermarks: Mapping[str, int]) -> int | None:
        """Tuples of the relation with event time below this can meet no future tuple; None: nothing may be purged.

        `watermarks`: by folded stream name, no future tuple of that stream is older than this.
        """
    def measure(self) -> JoinMeasure: ...


def push_packet(state: SharedState, joins: list[MultiJoin], packet: Packet, *, keep_all: bool) -> list[tuple[MultiJoin, JoinResults]]:
    """Filter for all hosts of the stream, insert what some host wants (all with `keep_all`), join. The engine calls this
    for each packet of a micro-batch, stream by stream in a fixed order, then purges:

        befores = [join.purge_before(name, watermarks) for join in joins_of[name]]
        if None not in befores: state.purge(min(befores))
    """
