"""What a unit of work costs lately: a mean in which old measurements fade.

One measurement that is far off says more about the machine than about the work, so each counts at most a few times what is
known. A cost that was wrong by a lot is still corrected within a few measurements, because what is known grows with each.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

_TINY = 1e-9  # so that a cost of nothing can grow


@dataclass(slots=True)
class MeasuredCost:
    """A cost for each unit; `each` is what is expected before anything was measured."""

    each: float
    newest: float = 0.3
    spike: float = 4.0
    least: float = 0.0
    measured: int = 0  # how often

    def saw(self, cost: float) -> None:
        """Take note of one more measurement, for each unit."""
        self.measured += 1
        cost = max(cost, self.least)
        if self.spike != inf:
            cost = min(cost, self.spike * self.each + _TINY)
        self.each += self.newest * (cost - self.each)

    def begin_at(self, cost: float) -> None:
        """Forget what was known: from now on this."""
        self.measured += 1
        self.each = cost
