"""What each kind of operator did so far: one dataclass a kind, read by `--stats`, `explain --analyze`, `/metrics` and `/queries`.

`detail` is the form of `--stats`: numbers by the names that users know. Everything else reads the fields.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.runtime.adapt.decision import Decision
    from cqc.runtime.metrics.parts import (
        JoinInputMetrics,
        PhaseMetrics,
        ProbeMetrics,
        QueueMetrics,
        StepOrderMetrics,
        TreeWork,
        VisitMetrics,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorMetrics:
    """What every operator counts."""

    name: str
    tuples_in: int
    tuples_out: int
    seconds: float = 0.0
    bytes: int = 0
    decisions: tuple[Decision, ...] = ()  # what it decided by itself, and why

    @property
    def detail(self) -> dict[str, int]:
        """What only this kind counts."""
        return {}

    def to_json(self) -> dict[str, Any]:
        """As `--stats` writes it."""
        return {
            "name": self.name,
            "in": self.tuples_in,
            "out": self.tuples_out,
            "seconds": self.seconds,
            "bytes": self.bytes,
            **self.detail,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterMetrics(OperatorMetrics):
    """The grouped filter of a stream: all queries over it alone."""

    slots: int
    visits: tuple[VisitMetrics, ...] = ()

    @property
    def detail(self) -> dict[str, int]:
        found = {"slots": self.slots}
        for each in self.visits:
            found[f"{each.name} visits"] = each.visits
            found[f"{each.name} skipped"] = each.skipped
            found[f"{each.name} place"] = each.place
            if each.tickets is not None:
                found[f"{each.name} tickets"] = each.tickets
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinMetrics(OperatorMetrics):
    """A join node that is not a tree."""

    slots: int
    checked: int  # combinations whose conditions were evaluated by expression
    hosts: Mapping[str, int]  # results of each, where there are several
    inputs: tuple[JoinInputMetrics, ...]
    queues: tuple[QueueMetrics, ...]
    phases: tuple[PhaseMetrics, ...]
    orders: tuple[StepOrderMetrics, ...]
    probes: tuple[ProbeMetrics, ...] = ()
    split: str = ""  # from which node it was split, or why it was not
    partial_results: int | None = None  # where pairs are asked about before they are made
    not_made: int = 0  # of those pairs

    @property
    def detail(self) -> dict[str, int]:
        found = {"slots": self.slots, "checked": self.checked}
        found |= {f"{name} results": number for name, number in self.hosts.items()}
        for each in self.inputs:
            name = f"{each.item}:{each.relation}"
            found[f"{name} probes"] = each.probes
            found[f"{name} candidates"] = each.candidates
            found[f"{name} found"] = each.found
            found[f"{name} bytes"] = each.bytes
        for queue in self.queues:
            name = f"queue {queue.name}"
            found[f"{name} trains"] = queue.trains
            found[f"{name} rows"] = queue.rows
            found[f"{name} waited"] = queue.waited
            found[f"{name} threshold"] = queue.threshold
        for phase in self.phases:
            found[f"phase {phase.letter} compared"] = phase.compared
            found[f"phase {phase.letter} kept"] = phase.kept
        for order in self.orders:
            found[f"order {order.order} {order.access} steps"] = order.steps
        if self.split:
            found[f"split {self.split}"] = 1
        for probe in self.probes:
            name = f"from {probe.start} to {probe.target}"
            found[f"{name} place"] = probe.place
            if probe.tickets is not None:
                found[f"{name} tickets"] = probe.tickets
        if self.partial_results is not None:
            found["partial results"] = self.partial_results
            found["partial results not made"] = self.not_made
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeMetrics(OperatorMetrics):
    """A join node that is a tree of joins, with rows kept between them."""

    slots: int
    checked: int
    shape: str
    is_chosen: bool  # by what was measured; else asked for
    work: TreeWork
    peak_rows: int
    split: str = ""

    @property
    def detail(self) -> dict[str, int]:
        work = self.work
        found = {
            "slots": self.slots,
            "checked": self.checked,
            "partial results": work.partial_results,
            "candidates": work.candidates,
        }
        if work.edges is not None:
            rows = [edge for edge in work.edges if not edge.is_of_pairs]
            pairs = [edge for edge in work.edges if edge.is_of_pairs]
            found["suspended"] = sum(edge.suspended for edge in rows)
            found["resumed"] = sum(edge.resumed for edge in rows)
            found["blacklisted"] = sum(edge.blacklisted or 0 for edge in rows)
            found["pairs held"] = sum(edge.suspended for edge in pairs)
            found["pairs resumed"] = sum(edge.resumed for edge in pairs)
        for edge in work.edges or ():
            found[f"{edge.name} suspended"] = edge.suspended
            found[f"{edge.name} resumed"] = edge.resumed
            if edge.blacklisted is not None:
                found[f"{edge.name} blacklisted"] = edge.blacklisted
        found["peak rows"] = self.peak_rows
        found[f"shape {self.shape} {'chosen' if self.is_chosen else 'asked for'}"] = 1
        if self.split:
            found[f"split {self.split}"] = 1
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsJoinMetrics(OperatorMetrics):
    """A join with ROWS windows, which waits for the watermark."""

    candidates: int

    @property
    def detail(self) -> dict[str, int]:
        return {"candidates": self.candidates}


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryMetrics(OperatorMetrics):
    """What is kept for pull queries over one set of streams and tables."""

    bodies: int
    eager: int
    lazy: int
    changes: int
    rows: int
    trees: int

    @property
    def detail(self) -> dict[str, int]:
        return {
            "bodies": self.bodies,
            "eager": self.eager,
            "lazy": self.lazy,
            "changes": self.changes,
            "rows": self.rows,
            "trees": self.trees,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffleMetrics(OperatorMetrics):
    """What crossed the network of a distributed run."""
