"""What hosts cost at one node and what they would cost at several, from what their joins did so far.

Every slot of a node widens the lineage of every row there, so a host with much work and few slots pays for one with many slots.
Apart each has a lineage of its own length, but levels that both went through are gone through twice, and tuples are filtered and
stored twice. The work of a level is the rows that came and the candidates they met; of those a host on its own has the share that
its slots want of some tuples that are there.

The best way to divide hosts is looked for in one order, by work for a slot: hosts with much of it first. A cut through
that order puts the long lineages on one side and the work on the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.adapt import settings
from cqc.runtime.lineage.rank_lineage import bitmap, word_count

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from cqc.runtime.join.execute.join_node import JoinNode

Groups = tuple[frozenset[int], ...]  # the hosts of each node, by number


@record
class LevelWork:
    """What one level of a node did: for whom, from which item, how many rows and candidates, in how many trains."""

    history: tuple[str, ...]  # the relations that are bound, in order, and the one that is met
    node: int
    start: int
    hosts: frozenset[int]
    rows: float  # that came, and candidates that they met
    made: float
    trains: int

    def cost(self, words: int) -> float:
        """Without that of its trains, with a lineage of so many words."""
        return self.rows * (1.0 + settings.SHARING_WORD * words) + self.made * (
            settings.SHARING_ROW + settings.SHARING_WORD * words
        )


@dataclass(slots=True)
class SharingCosts:
    """The work of all hosts that were at one node once, wherever they are now."""

    slots: dict[int, int] = field(default_factory=dict)  # by host
    streams: dict[int, frozenset[str]] = field(default_factory=dict)  # by host
    levels: list[LevelWork] = field(default_factory=list)
    tuples: dict[str, int] = field(default_factory=dict)
    packets: dict[str, int] = field(default_factory=dict)
    # Which of some tuples of a start (node, item) a host wants.
    wanted: dict[tuple[int, int], dict[int, NDArray[np.bool_]]] = field(default_factory=dict)

    @classmethod
    def of(cls, joins: Sequence[JoinNode]) -> SharingCosts:
        """What is known of the hosts at some joins."""
        costs = cls()
        for node, join in enumerate(joins):
            costs._add(node, join)
        return costs

    def cost(self, groups: Groups) -> float:
        """What the hosts cost, those of each group at one node."""
        return sum(self._cost_of(group) for group in groups)

    def best(self) -> Groups:
        """The groups that cost least, as far as cuts through one order tell."""
        work = dict.fromkeys(self.slots, 0.0)
        for level in self.levels:
            for host in level.hosts & work.keys():
                work[host] += self._share_of(level, frozenset((host,))) * level.cost(0)
        order = sorted(work, key=lambda host: (-work[host] / max(self.slots[host], 1), host))
        return tuple(frozenset(group) for group in self._cut(order))

    def words(self, group: Collection[int]) -> int:
        """How long a lineage is at a node of these hosts."""
        return word_count(sum(self.slots[host] for host in group))

    def _cut(self, order: list[int]) -> list[list[int]]:
        least, at = self._cost_of(frozenset(order)), 0
        for stop in range(1, len(order), max(1, len(order) // settings.SHARING_MOST_CUTS)):
            apart = self.cost((frozenset(order[:stop]), frozenset(order[stop:])))
            if apart < least:
                least, at = apart, stop
        return [order] if not at else self._cut(order[:at]) + self._cut(order[at:])

    def _cost_of(self, group: frozenset[int]) -> float:
        words = self.words(group)
        streams = frozenset[str]().union(*(self.streams[host] for host in group))
        cost = sum(
            self.tuples[name] * (settings.SHARING_TUPLE + settings.SHARING_WORD * words)
            + self.packets.get(name, 0) * settings.SHARING_PACKET
            for name in streams
        )
        # What two nodes do alike is done once where they are one; what one does twice, it does for different hosts.
        done: dict[tuple[str, ...], dict[int, float]] = {}
        for level in self.levels:
            if not level.hosts.isdisjoint(group):
                by_node = done.setdefault(level.history, {})
                own = (
                    self._share_of(level, group) * level.cost(words)
                    + level.trains * settings.SHARING_CALL
                )
                by_node[level.node] = by_node.get(level.node, 0.0) + own
        return cost + sum(max(by_node.values()) for by_node in done.values())

    def _share_of(self, level: LevelWork, group: frozenset[int]) -> float:
        """The share of a level's work that the hosts of a group ask for."""
        if level.hosts <= group:
            return 1.0
        wanted = self.wanted[level.node, level.start]
        own, all_ = (
            np.count_nonzero(np.logical_or.reduce([wanted[host] for host in hosts]))
            for hosts in (level.hosts & group, level.hosts)
        )
        return own / all_ if all_ else 1.0

    def _add(self, node: int, join: JoinNode) -> None:
        numbers: dict[int, list[int]] = {part.host.number: [] for part in join.parts}
        for slot in join.slots:
            numbers[slot.part.host.number].append(slot.number)
        for part in join.parts:
            host = part.host.number
            self.slots[host] = len(numbers[host])
            names = [fold(each.state.relation.name) for each in part.stream_inputs]
            self.streams[host] = frozenset(names)
            for each in part.stream_inputs:
                sample = self.wanted.setdefault((node, each.item), {})
                state, values = each.state, each.lineage.values
                some = np.linspace(
                    state.first, state.head - 1, min(settings.SHARING_SAMPLE, len(state))
                )
                lineage = values[some.astype(np.int64) - state.base]
                mask = bitmap(numbers[host], values.shape[1])
                sample[host] = np.any(lineage & mask, axis=1)
        for name, stored in join.stored.items():
            self.tuples[name] = max(stored, self.tuples.get(name, 0))
        self._add_levels(node, join)

    def _add_levels(self, node: int, join: JoinNode) -> None:
        found = list(join.work_of_levels())
        for branch, size, work in found:
            history = (*branch.level.bound, branch.level.target)
            names = tuple(fold(each.state.relation.name) for each in history)
            alike = sum(other is size for _, other, _ in found)
            rows, trains = size.taken / alike, size.trains // alike
            candidates, made = (
                rows * count / max(work.probes, 1) for count in (work.candidates, work.found)
            )
            self.levels.append(
                LevelWork(
                    names, node, history[0].item, branch.hosts, rows + candidates, made, trains
                )
            )
            if len(names) == 2:
                self.packets[names[0]] = max(trains, self.packets.get(names[0], 0))
