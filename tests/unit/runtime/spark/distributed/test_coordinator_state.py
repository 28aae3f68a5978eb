"""What the driver knows between two micro-batches survives a checkpoint."""

from __future__ import annotations

import json
from collections import Counter

from cqc.runtime.intake.stream_input import StreamCount
from cqc.runtime.spark.distributed.coordinator_state import CoordinatorState
from cqc.runtime.spark.distributed.messages.spec import ClockState


def test_a_state_is_the_same_after_json() -> None:
    count = StreamCount()
    count.read, count.late = 7, 2
    state = CoordinatorState(
        {"s": ClockState(1, 5, 3)},
        latest_us={"s": 5},
        counts={"s": count},
        results=Counter({"q": 4}),
        warnings=["once"],
        cells_met=3,
    )
    again = CoordinatorState.from_json(json.loads(json.dumps(state.to_json())))
    assert again.clocks == state.clocks
    assert again.latest_us == {"s": 5}
    assert (again.counts["s"].read, again.counts["s"].late) == (7, 2)
    assert again.results == Counter({"q": 4})
    assert isinstance(again.results, Counter)
    assert (again.warnings, again.cells_met) == (["once"], 3)
