"""One stream or table on its way into the engine: typed, numbered, late rows taken out, everything counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.diagnostics.record import record
from cqc.runtime.columns.event_time import ALL_SEEN, NOTHING_SEEN, StreamClock
from cqc.runtime.intake.far_ahead import AheadGuard
from cqc.runtime.intake.typed_batch import Intake

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.intake.typed_batch import Absent, Reject, TypedBatch


@dataclass(slots=True)
class StreamCount:
    """Rows of one stream so far; `read` counts every row, `reasons` why rows were rejected, `waiting` those set aside now.

    `nulled` counts fields that did not fit and became NULL. `absent` are columns that no row had so far (None: no row came, or all
    were there), and `sample` how a row was written.
    """

    read: int = 0
    late: int = 0
    rejected: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    waiting: int = 0
    nulled: Counter[str] = field(default_factory=Counter)
    absent: list[str] | None = None
    sample: str = ""

    def note_columns(self, absent: Absent | None) -> None:
        """Note which columns some more rows lacked."""
        names = [] if absent is None else sorted(absent.columns)
        if self.absent is None:
            self.absent = names
            self.sample = "" if absent is None else absent.sample
        elif self.absent:
            self.absent = [name for name in self.absent if name in names]

    def plain(self) -> dict[str, Any]:
        """What a checkpoint holds of it, as JSON has it."""
        made = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**made, "reasons": dict(self.reasons), "nulled": dict(self.nulled)}

    @staticmethod
    def from_plain(data: dict[str, Any]) -> StreamCount:
        """The counts of `plain`."""
        counters = {name: Counter(data.get(name, {})) for name in ("reasons", "nulled")}
        return StreamCount(**{**data, **counters})

    def copy(self) -> StreamCount:
        """The same counts, which stay as they are."""
        return StreamCount.from_plain(self.plain())


@record
class StreamState:
    """How far one stream has come: its counters and its clock, and the rows that wait because they are far ahead."""

    read: int = 0
    late: int = 0
    rejected: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    arrivals: int = 0
    first_us: int | None = None
    largest_us: int | None = None
    watermark_us: int = NOTHING_SEEN
    aside: str = ""  # the rows that wait, as text (`far_ahead`)
    company: list[int] = field(default_factory=list)  # that each of them had
    nulled: dict[str, int] = field(default_factory=dict)
    absent: list[str] | None = None
    sample: str = ""
    idle: bool = False  # past its idle timeout


class StreamInput:
    """The intake, clock and counters of one stream or table.

    `on_reject` and `on_late` are told of rows that are left out, for those who want to keep them.
    """

    def __init__(
        self,
        relation: Relation,
        idle_us: int | None,
        clock: Callable[[], float],
        max_ahead_us: int | None = None,
    ) -> None:
        self.relation = relation
        self.is_stream = relation.is_stream
        self.count = StreamCount()
        self.on_reject: Callable[[Relation, list[Reject]], None] | None = None
        self.on_late: Callable[[Relation, Packet], None] | None = None
        self._intake = Intake(relation)
        self.clock = StreamClock(relation, idle_us, clock)
        is_guarded = relation.is_stream and bool(max_ahead_us)
        self._guard = AheadGuard(relation, max_ahead_us or 0) if is_guarded else None
        self._arrivals = 0
        self.ended = False

    @property
    def guard(self) -> AheadGuard | None:
        """Who knows which rows wait, for those who ask before the rows come here."""
        return self._guard

    @property
    def watermark_us(self) -> int:
        """No tuple older than this is taken any more."""
        return self.clock.watermark_us

    @property
    def first_us(self) -> int | None:
        """The smallest event time seen."""
        return self.clock.first_us

    @property
    def latest_us(self) -> int | None:
        """The largest event time seen."""
        return self.clock.largest_us

    @property
    def arrivals(self) -> int:
        """How many tuples were taken so far: the arrival number of the next one."""
        return self._arrivals

    def take(self, rows: Any) -> TypedBatch:
        """Type rows as a user pushes them; nothing is counted yet, and several threads may do it at once."""
        return self._intake.take(rows)

    def accept(self, taken: TypedBatch) -> Packet:
        """The packet of one micro-batch, from rows that were typed already."""
        self.count.read += taken.read
        if taken.nulled is not None or taken.absent is not None or self.count.absent != []:
            self._note_fields(taken)
        if taken.rejects:
            self._reject(taken.rejects)
        if self._guard is not None:
            taken = self._without_ahead(taken, self._guard)
        packet = taken.packet(self._arrivals)
        self._arrivals += len(taken.ts_us)
        return self._on_time(packet, taken.span_us) if self.is_stream else packet

    def end_input(self) -> None:
        """Note that the input has ended: no row will follow."""
        self.ended = True
        if self._guard is not None:
            self.count.waiting = 0
            self._reject(self._guard.end())
        self.clock.end_input()

    def span_us(self, taken: TypedBatch) -> tuple[int, int] | None:
        """The first and the latest event time of the stream once these rows have come; None when it has none."""
        if self._guard is not None:
            latest_us = self._guard.reach_us(taken, self.latest_us)
        else:
            seen = [] if self.latest_us is None else [self.latest_us]
            latest_us = max(
                [*seen, *([int(taken.ts_us.max())] if len(taken) else [])], default=None
            )
        if latest_us is None:
            return None
        first_us = int(taken.ts_us.min()) if self.first_us is None else self.first_us
        return first_us, latest_us

    def start_over(self, watermark_us: int) -> None:
        """Count from nothing, where somebody else keeps the counts; `watermark_us` says what is late."""
        self.count = StreamCount()
        self.clock.stand_at(None, None, watermark_us)

    # What a checkpoint holds

    def state(self, after_end_us: int) -> StreamState:
        """How far the stream has come.

        Args:
            after_end_us: the watermark of an input that has ended and of which more is found later.
        """
        count, clock = self.count, self.clock
        aside, company = self.saved_aside()
        return StreamState(
            count.read,
            count.late,
            count.rejected,
            dict(count.reasons),
            self._arrivals,
            clock.first_us,
            clock.largest_us,
            after_end_us if clock.watermark_us == ALL_SEEN else clock.watermark_us,
            aside,
            company,
            dict(count.nulled),
            count.absent,
            count.sample,
            idle=clock.is_idle(),
        )

    def restore(self, state: StreamState) -> None:
        """Stand where `state` was taken; where rows are not set aside any more, those that waited are rejected."""
        self.count.read, self.count.late = state.read, state.late
        self.count.rejected, self.count.reasons = state.rejected, Counter(state.reasons)
        self.count.nulled = Counter(state.nulled)
        self.count.absent, self.count.sample = state.absent, state.sample
        self._arrivals = state.arrivals
        self.clock.stand_at(state.first_us, state.largest_us, state.watermark_us)
        if state.idle:
            self.clock.set_idle(True)
        self.restore_aside(state.aside, state.company)

    def saved_aside(self) -> tuple[str, list[int]]:
        """The waiting rows as text, each with the number of rows that confirm it so far."""
        return ("", []) if self._guard is None else self._guard.saved()

    def restore_aside(self, text: str, company: list[int]) -> None:
        """Let the rows of `saved_aside` wait again. Without MAX_AHEAD they are rejected."""
        guard = self._guard
        if guard is None and text:
            guard = AheadGuard(self.relation, 1)
            guard.reason = f"far ahead of {self.relation.name}, and MAX_AHEAD is no longer set"
        if guard is None:
            return
        guard.restore(text, company)
        if self._guard is None:
            self._reject(guard.end())
        self.count.waiting = len(guard)

    def _note_fields(self, taken: TypedBatch) -> None:
        if not taken.read:
            return
        if taken.nulled is not None:
            self.count.nulled.update(taken.nulled)
        if len(taken) or taken.absent is not None:
            self.count.note_columns(taken.absent)

    def _without_ahead(self, taken: TypedBatch, guard: AheadGuard) -> TypedBatch:
        """The rows that count: those far ahead of the stream wait."""
        counts, strays = guard.sort_out(taken, self.clock.largest_us)
        self.count.waiting = len(guard)
        if strays:
            self._reject(strays)
        return counts

    def _reject(self, rejects: list[Reject]) -> None:
        self.count.rejected += len(rejects)
        self.count.reasons.update(reject.reason for reject in rejects)
        if rejects and self.on_reject is not None:
            self.on_reject(self.relation, rejects)

    def _on_time(self, packet: Packet, span_us: tuple[int, int] | None) -> Packet:
        on_time = self.clock.admit(packet.ts_us, span_us)
        if on_time is None:
            return packet
        late = packet.take(np.flatnonzero(~on_time))
        self.count.late += len(late)
        if self.on_late is not None:
            self.on_late(self.relation, late)
        return packet.take(np.flatnonzero(on_time))
