"""What trials may cost: a share of the time since the last one, known before a trial starts.

    2 % of the time; the last trial lost 30 ms: the next one starts after 1.5 s of work

What a trial will cost is not known before the first one. It is then allowed, and left at once when it is clearly worse
(`controller`); from then on the last loss tells.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Budget:
    """The budget of one decision point, in seconds of its own work."""

    share: float
    since_s: float = 0.0  # worked since the last trial
    spent_s: float = 0.0  # on all trials
    loss_s: float = 0.0  # what the last trial cost more than no trial would have

    def worked(self, seconds: float) -> None:
        """So much work was done in the usual way."""
        self.since_s += seconds

    def allows(self, extra_s: float) -> bool:
        """Whether a trial that is expected to cost so much more than no trial may start now."""
        return extra_s <= self.share * self.since_s

    def allows_another(self, worked_s: float = 0.0) -> bool:
        """Whether a trial may start that costs as much as the last one did, after so much work more."""
        return self.loss_s <= self.share * (self.since_s + worked_s)

    def tried(self, extra_s: float) -> None:
        """A trial is over, or begins whose cost is sure; it cost so much more than no trial would have."""
        self.loss_s = max(extra_s, 0.0)
        self.spent_s += self.loss_s
        self.since_s = 0.0

    def lost(self, extra_s: float) -> None:
        """The last trial cost so much besides."""
        self.loss_s += extra_s
        self.spent_s += extra_s
