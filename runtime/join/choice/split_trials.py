"""When hosts that share a join node are served apart, and when together again.

Hosts that have a stream in common are at one node, because a packet is then filtered, stored and started once. But every slot
widens the lineage of every row there, so sharing can lose: three queries that make many combinations, at a node with hundreds
that make few. Now and then the costs of serving the hosts in other groups are worked out (`sharing_costs`), and groups that would
cost clearly less are tried (`trials`): their joins are made anew from the base tuples between two micro-batches, with the lineage
that these have, so no result is lost or repeated, and a query that came late still sees no tuple from before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cqc.runtime.adapt import settings
from cqc.runtime.adapt.decision import Decision
from cqc.runtime.adapt.trials import Trials
from cqc.runtime.join.choice.sharing_costs import Groups, SharingCosts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.runtime.join.execute.join_node import JoinNode


@dataclass(slots=True, eq=False)
class SharedNodes:
    """The joins of hosts that are at one node, or were: one, or several since they were split."""

    joins: list[JoinNode]
    trials: SplitTrials = field(default_factory=lambda: SplitTrials())

    @property
    def has_several_hosts(self) -> bool:
        return len(self.joins) > 1 or len(self.joins[0].parts) > 1

    @property
    def tuples_in(self) -> int:
        """Tuples of their streams that were stored, each once, at however many joins."""
        heads: dict[str, int] = {}
        for join in self.joins:
            heads |= join.heads
        return sum(heads.values())

    @property
    def seconds(self) -> float:
        return sum(join.seconds for join in self.joins)

    @property
    def slots(self) -> int:
        return sum(len(join) for join in self.joins)

    @property
    def name(self) -> str:
        """As one join with all the hosts would be called."""
        numbers = sorted(host for group in self.groups for host in group)
        return f"join{'+'.join(map(str, numbers))}"

    @property
    def groups(self) -> Groups:
        """The hosts of each join."""
        return tuple(frozenset(part.host.number for part in join.parts) for join in self.joins)

    def wanted_groups(self) -> Groups:
        """The groups of the trials, of hosts that are there now; hosts that came meanwhile are in the first."""
        there = frozenset[int]().union(*self.groups)
        others = self.trials.arm[1:]
        groups = (there.difference(*others), *(each & there for each in others))
        return tuple(each for each in groups if each)

    def tell(self) -> None:
        """Let the joins say why they are what they are."""
        why = self.trials.why
        for join in self.joins:
            join.why_apart = ""
            if why:
                join.why_apart = f"{'from ' if len(self.joins) > 1 else ''}{self.name}: {why}"


class SplitTrials(Trials[SharedNodes, Groups]):
    """The looks at nodes of hosts that may be served together; the arm is their groups."""

    def __init__(self) -> None:
        super().__init__(settings.SHARING, (), settling=True)
        self.why = ""  # the hosts are in these groups
        self._slots = 0
        self._known_s: float | None = None  # a tuple, when other groups were first found better

    def _may_change(self, subject: SharedNodes) -> bool:
        is_flat = all(join.is_plain for join in subject.joins)
        return is_flat and subject.has_several_hosts

    def _is_disturbed(self, subject: SharedNodes) -> bool:
        return abs(subject.slots - self._slots) * settings.SHARING_DISTURBED > self._slots

    def _choose(self, subject: SharedNodes, each_s: float) -> bool:
        costs = SharingCosts.of(subject.joins)
        self.arm = subject.groups
        best = costs.best() if costs.levels else self.arm
        now = max(costs.cost(self.arm), 1.0)
        ratio = costs.cost(best) / now
        is_other = set(best) != set(self.arm)
        if not is_other or not self.controller.is_clearly_cheaper(best, costs.cost(best), now):
            self._known_s = None
            self._wait_longer()
            return False
        if self._known_s is None:
            # One stretch may have compiled or grown something, so two are measured.
            self._known_s = each_s
            return False
        each_s, self._known_s = min(each_s, self._known_s), None
        self._slots = subject.slots
        words = f"{_words(costs, best)} words of lineage, not {_words(costs, self.arm)}"
        self.why = f"{words}; expected {100 * ratio:.0f} % of the time"
        self.decision = Decision(subject.name, _served(best), "what was before", ratio, note=words)
        self._try(subject, best, each_s)
        return True

    def _tell(
        self, subject: SharedNodes, before_s: float, each_s: float, tuples: int, *, stays: bool
    ) -> None:
        ratio = each_s / max(before_s, 1e-12)
        if stays:
            self.why = f"{self.why.partition(';')[0]}; {_times(before_s, each_s)}"
            words = self.why.partition(";")[0]
        else:
            tried = "together" if len(self.arm) > 1 else "apart"
            outcome = _times(before_s, each_s)
            if self._is_disturbed(subject):
                outcome = "too many queries came or left to tell"
            self.why = f"tried {tried}: {outcome}"
            words = self.why
        self.decision = Decision(
            subject.name,
            _served(self.arm),
            "what was before",
            ratio if stays else None,
            tuples,
            is_measured=True,
            note=words,
        )


def _served(groups: Groups) -> str:
    if len(groups) < 2:
        return "is served by one node"
    return f"is served apart, by {len(groups)} nodes"


def _words(costs: SharingCosts, groups: Sequence[frozenset[int]]) -> str:
    words = sorted(costs.words(group) for group in groups)
    return "+".join(map(str, words)) if len(words) < 5 else f"{words[0]} to {words[-1]}"


def _times(before_s: float, each_s: float) -> str:
    return f"{1e6 * each_s:.1f} us a tuple, not {1e6 * before_s:.1f}"
