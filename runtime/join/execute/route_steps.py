"""How the rows of a flat join take a step of their route, and in which order they are to go.

The flat join takes its steps as they are (`PlainSteps`). Others may force the order and learn from each step (`routed_join`), or make
only what somebody awaits (`demand_join`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.runtime.join.execute.executor import NodeContext
    from cqc.runtime.join.execute.metaqueues import MetaQueues
    from cqc.runtime.join.plan.routes import Branch
    from cqc.runtime.join.step.fused_probe import FusedProbe
    from cqc.runtime.join.step.probe_step import Rows
    from cqc.runtime.metrics.operators import JoinMetrics


class RouteSteps(Protocol):
    """The steps of one flat join."""

    orders: dict[int, tuple[int, ...]]  # by starting item, where the order is forced

    @property
    def may_be_shared(self) -> bool:
        """Whether several hosts may sit at the node."""

    @property
    def goes_through(self) -> bool:
        """Whether nothing has to be known of a step before the next one."""

    def prepare(self, context: NodeContext) -> None:
        """The members and the plan are these from now on."""

    def stored(self, item: int, first: int, stop: int) -> None:
        """The tuples at these positions are in their state, with their lineage."""

    def started(self, item: int) -> None:
        """Tuples of an item went as far as they go at once."""

    def extend(self, branch: Branch, rows: Rows, packet_first: int) -> Rows:
        """What a step makes of rows; a count of GAVE_UP where that is too much at once."""

    def go_through(
        self, through: FusedProbe, start: Rows, packet_first: int, queues: MetaQueues
    ) -> tuple[Rows, int] | None:
        """Take rows through as many steps at once as may be: what came out, and which step is next. None: through none."""

    def purged(self, items: Sequence[int], before_us: int) -> None:
        """Tuples of these items that are older meet no future tuple."""

    def measured(self, found: JoinMetrics) -> JoinMetrics:
        """What the join did so far, with what only these steps know."""


class PlainSteps:
    """Every step as the plan has it."""

    may_be_shared = goes_through = True

    def __init__(self) -> None:
        self.orders: dict[int, tuple[int, ...]] = {}

    def prepare(self, context: NodeContext) -> None:
        """There is nothing to prepare."""

    def stored(self, item: int, first: int, stop: int) -> None:
        """Nothing is kept beside the tuples."""

    def started(self, item: int) -> None:
        """Nothing is learned."""

    def extend(self, branch: Branch, rows: Rows, packet_first: int) -> Rows:
        """Take the step."""
        return branch.level.extend(rows, packet_first)

    def go_through(
        self, through: FusedProbe, start: Rows, packet_first: int, queues: MetaQueues
    ) -> tuple[Rows, int] | None:
        """Take all steps that nobody has to look at by one kernel."""
        end = through.open_to(0)
        if not end:
            return None
        rows, reached = through.run(start, 0, end, packet_first)
        if not reached:
            return None
        through.note_work(0, end, queues)
        return rows, reached

    def purged(self, items: Sequence[int], before_us: int) -> None:
        """Nothing is kept beside the tuples."""

    def measured(self, found: JoinMetrics) -> JoinMetrics:
        """The join counts everything."""
        return found
