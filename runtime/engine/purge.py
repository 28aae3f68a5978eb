"""When tuples are forgotten: those that no future tuple can meet, nor any pull query ask for.

Not after every micro-batch: one that adds little to what is kept leaves it to a later one. Where queries ask for the past, what
is kept shows in their answers, and is what they say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cqc.runtime.engine.absent_queries import AbsentQueries
    from cqc.runtime.engine.circuit import Circuit
    from cqc.runtime.engine.relations import Relations
    from cqc.runtime.pull.pull_queries import PullQueries

_WORTH_SHIFT = 3  # an eighth more than after the last purge is worth the next one


class Purge:
    """Forgets the tuples of one engine.

    Args:
        relations: the streams and tables.
        circuit: knows how long joins need tuples.
        pulls: know how long queries with BEGIN-END may ask for them.
        absent: know how long they decide about what is missing.
        keep_past: keep tuples for pull queries that are registered later.
    """

    def __init__(
        self,
        relations: Relations,
        circuit: Circuit,
        pulls: PullQueries,
        absent: AbsentQueries,
        *,
        keep_past: bool,
    ) -> None:
        self._relations = relations
        self._circuit = circuit
        self._pulls = pulls
        self._absent = absent
        self._keep_past = keep_past
        self._kept = 0  # how many tuples were left by the last purge

    def after_batch(self) -> None:
        """Forget what is not needed, if that is worth a look."""
        past_is_asked = self._keep_past or any(map(self._pulls.needs, self._relations.states))
        if not past_is_asked and self._relations.kept < self._kept + (self._kept >> _WORTH_SHIFT):
            return
        self._purge_now()
        self._kept = self._relations.kept

    def look_again(self) -> None:
        """A query has left: look after the next micro-batch."""
        self._kept = 0

    def _purge_now(self) -> None:
        watermarks = self._relations.watermarks()
        has_absent = len(self._absent) > 0
        if has_absent:
            self._absent.forget(watermarks)
        for name, state in self._relations.states.items():
            if not self._relations.is_stream(name) or not len(state):
                continue
            limits = [
                join.purge_before(name, watermarks)
                for join in self._circuit.limiting_joins_of(name)
            ]
            if has_absent:
                limits += self._absent.limits(name, watermarks)
            keeps_past = self._keep_past and name not in self._relations.derived
            if keeps_past or self._pulls.needs(name):
                limits.append(self._pulls.purge_before(name))
            known = [limit for limit in limits if limit is not None]
            if known and len(known) == len(limits):
                state.purge(min(known))
