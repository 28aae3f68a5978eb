"""When tuples are forgotten: those that no future tuple can meet, nor any pull query ask for.

Not after every micro-batch: one that adds little to what is kept leaves it to a later one. Where queries ask for the past, what
is kept shows in their answers, and is what they say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.runtime.engine.parts import EngineParts
    from cqc.runtime.state.shared_state import SharedState

_WORTH_SHIFT = 3  # an eighth more than after the last purge is worth the next one


class Purge:
    """Forgets the tuples of one engine.

    Args:
        parts: the circuit knows how long joins need tuples, pull queries how long they may ask for them, and queries with
            EXISTS and outer joins how long they decide about what is missing.
        keep_past: keep tuples for pull queries that are registered later.
    """

    def __init__(self, parts: EngineParts, *, keep_past: bool) -> None:
        self._relations = parts.relations
        self._circuit = parts.circuit
        self._pulls = parts.pulls
        self._absent = parts.absent
        self._keep_past = keep_past
        self._kept = 0  # how many tuples were left by the last purge
        # The streams, and whether their past is asked for; found anew when queries come or go.
        self._streams: list[tuple[str, SharedState, bool]] | None = None
        self._past_is_asked = keep_past

    def after_batch(self) -> None:
        """Forget what is not needed, if that is worth a look."""
        streams = self._streams
        if streams is None:
            streams = self._streams = self._find_streams()
        if not self._past_is_asked and self._relations.kept < self._kept + (
            self._kept >> _WORTH_SHIFT
        ):
            return
        self._purge_now(streams)
        if not self._past_is_asked:
            self._kept = self._relations.kept

    def look_again(self) -> None:
        """A query has left: look after the next micro-batch."""
        self._kept = 0

    def queries_changed(self) -> None:
        """Queries or streams came or went."""
        self._streams = None

    def _find_streams(self) -> list[tuple[str, SharedState, bool]]:
        relations, needs = self._relations, self._pulls.needs
        self._past_is_asked = self._keep_past or any(map(needs, relations.states))
        self._kept = min(self._kept, relations.kept)
        return [
            (name, state, needs(name) or (self._keep_past and name not in relations.derived))
            for name, state in relations.states.items()
            if relations.is_stream(name)
        ]

    def _purge_now(self, streams: Sequence[tuple[str, SharedState, bool]]) -> None:
        watermarks = self._relations.watermarks()
        has_absent = len(self._absent) > 0
        if has_absent:
            self._absent.forget(watermarks)
        for name, state, is_asked in streams:
            if state.head == state.first:
                continue
            limits = [
                join.purge_before(name, watermarks)
                for join in self._circuit.limiting_joins_of(name)
            ]
            if has_absent:
                limits += self._absent.limits(name, watermarks)
            if is_asked:
                limits.append(self._pulls.purge_before(name))
            known = [limit for limit in limits if limit is not None]
            if known and len(known) == len(limits):
                state.purge(min(known))
