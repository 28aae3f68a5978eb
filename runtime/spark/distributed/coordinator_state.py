"""What the driver knows between two micro-batches, and how a checkpoint holds it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from cqc.runtime.expressions.function_faults import FunctionFaults
from cqc.runtime.intake.stream_input import StreamCount
from cqc.runtime.spark.distributed.leaps import LeapState
from cqc.runtime.spark.distributed.messages.spec import ClockState


@dataclass(slots=True)
class CoordinatorState:
    """All that is known between two micro-batches."""

    clocks: dict[str, ClockState]
    latest_us: dict[str, int] = field(default_factory=dict)
    counts: dict[str, StreamCount] = field(default_factory=dict)
    results: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    failures: int = 0
    faults: FunctionFaults = field(default_factory=FunctionFaults)
    tuples_sent: int = 0
    bytes_sent: int = 0
    cells_met: int = 0  # how often a cell had something to do
    cells_rebuilt: int = 0  # how often it was not at hand
    leaps: LeapState | None = None  # where rows were, for queries with EVERY
    aside: dict[str, Any] = field(default_factory=dict)  # rows that are far ahead (`ahead`)

    def to_json(self) -> dict[str, Any]:
        # `asdict` makes a Counter of a Counter's items.
        plain = replace(
            self,
            results=dict(self.results),  # type: ignore[arg-type]  # as JSON has it
            counts={
                name: count.plain()  # type: ignore[misc]  # likewise
                for name, count in self.counts.items()
            },
        )
        return {**asdict(plain), "faults": self.faults.to_json()}

    @staticmethod
    def from_json(data: dict[str, Any]) -> CoordinatorState:
        given = dict(data)
        given["clocks"] = {name: ClockState(**each) for name, each in given["clocks"].items()}
        given["counts"] = {
            name: StreamCount.from_plain(each) for name, each in given["counts"].items()
        }
        given["results"] = Counter(given["results"])
        given["faults"] = FunctionFaults.from_json(given.get("faults", {}))
        if given.get("leaps") is not None:
            given["leaps"] = LeapState.from_json(given["leaps"])
        return CoordinatorState(**given)
