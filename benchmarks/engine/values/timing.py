"""What a call costs a value: for cqc and its peers in one way.

The process's clock knows of the work of its other threads only now and then, so that a single call of a peer that works in a thread
of its own can seem to cost nothing. Many calls together cannot; so the figure is the median of rounds of many calls.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_ROUNDS = 5


def typical_ns(run: Callable[[], object], values: int, seconds: float) -> float:
    """Nanoseconds of CPU a value of a call over so many values; measured for about so many seconds."""
    run()
    return statistics.median(_round_ns(run, seconds / _ROUNDS) for _ in range(_ROUNDS)) / values


def _round_ns(run: Callable[[], object], seconds: float) -> float:
    """Nanoseconds of CPU a call, over as many as the time allows."""
    calls, began = 0, time.process_time_ns()
    until = time.monotonic() + seconds
    while time.monotonic() < until or not calls:
        run()
        calls += 1
    return (time.process_time_ns() - began) / calls
