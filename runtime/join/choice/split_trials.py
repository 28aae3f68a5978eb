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

from cqc.runtime.adapt import trials
from cqc.runtime.join.choice.sharing_costs import Groups, SharingCosts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.runtime.join.execute.join_node import JoinNode

# What is won is less than by another shape, so more tuples are needed to see it; and a split costs little.
STRETCH_TUPLES = 8_192
CLEARLY = 0.8
_DISTURBED = 4  # a quarter more or fewer slots: other queries than those that were measured


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
        others = self.trials.way[1:]
        groups = (there.difference(*others), *(each & there for each in others))
        return tuple(each for each in groups if each)

    def tell(self) -> None:
        """Let the joins say why they are what they are."""
        why = self.trials.why
        for join in self.joins:
            join.why_apart = ""
            if why:
                join.why_apart = f"{'from ' if len(self.joins) > 1 else ''}{self.name}: {why}"


@dataclass(slots=True)
class SplitTrials(trials.Trials[SharedNodes, Groups]):
    """The looks at nodes of hosts that may be served together; the way is their groups."""

    way: Groups = ()
    stretch: int = field(default_factory=lambda: STRETCH_TUPLES)
    _settling: bool = True
    why: str = ""  # the hosts are in these groups
    _slots: int = 0
    _known_s: float | None = None  # what a tuple took when other groups were first found better

    def _may_change(self, subject: SharedNodes) -> bool:
        is_flat = all(join.is_plain for join in subject.joins)
        return is_flat and subject.has_several_hosts

    def _is_disturbed(self, subject: SharedNodes) -> bool:
        return abs(subject.slots - self._slots) * _DISTURBED > self._slots

    def _choose(self, subject: SharedNodes, each_s: float) -> bool:
        costs = SharingCosts.of(subject.joins)
        self.way = subject.groups
        best = costs.best() if costs.levels else self.way
        ratio = costs.cost(best) / max(costs.cost(self.way), 1.0)
        if set(best) == set(self.way) or ratio >= CLEARLY:
            self._known_s = None
            self._wait_longer()
            return False
        if self._known_s is None:
            # One stretch may have compiled or grown something, so two are measured.
            self._known_s = each_s
            return False
        each_s, self._known_s = min(each_s, self._known_s), None
        self._slots = subject.slots
        words = f"{_words(costs, best)} words of lineage, not {_words(costs, self.way)}"
        self.why = f"{words}; expected {100 * ratio:.0f} % of the time"
        self._try(best, each_s)
        return True

    def _stays(self, subject: SharedNodes, before_s: float, each_s: float) -> None:
        self.why = f"{self.why.partition(';')[0]}; {_times(before_s, each_s)}"

    def _went_back(self, subject: SharedNodes, before_s: float, each_s: float) -> None:
        tried = "together" if len(self.way) > 1 else "apart"
        outcome = _times(before_s, each_s)
        if self._is_disturbed(subject):
            outcome = "too many queries came or left to tell"
        self.why = f"tried {tried}: {outcome}"


def _words(costs: SharingCosts, groups: Sequence[frozenset[int]]) -> str:
    words = sorted(costs.words(group) for group in groups)
    return "+".join(map(str, words)) if len(words) < 5 else f"{words[0]} to {words[-1]}"


def _times(before_s: float, each_s: float) -> str:
    return f"{1e6 * each_s:.1f} us a tuple, not {1e6 * before_s:.1f}"
