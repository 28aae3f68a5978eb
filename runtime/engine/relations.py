"""The streams and tables of an engine: how far each has come, and the tuples of it that are kept."""

from __future__ import annotations

from collections import ChainMap
from typing import TYPE_CHECKING, cast

from cqc.compiler.diagnostics.arguments import expect
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.adapt.packet_size import Packets
from cqc.runtime.columns.event_time import ALL_SEEN, smallest_watermark, watermarks_after_end
from cqc.runtime.engine.derived_line import DerivedLine
from cqc.runtime.engine.snapshot import StreamTuples
from cqc.runtime.errors import RunError
from cqc.runtime.intake.stream_input import StreamInput, StreamState
from cqc.runtime.state.shared_state import SharedState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cqc.compiler.meaning.catalog import Catalog, Relation
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.intake.typed_batch import Reject

    OnReject = Callable[[Relation, list[Reject]], None] | None
    OnLate = Callable[[Relation, Packet], None] | None


class Relations:
    """All that belongs to one stream or table each, by folded name, in the order of declaration.

    Args:
        catalog: what is declared at the start.
        packet: how many tuples go through the operators together; None where that adapts.
        clock: seconds that only go up; tells when a silent stream is idle.
    """

    def __init__(self, catalog: Catalog, packet: int | None, clock: Callable[[], float]) -> None:
        self._settings = catalog.settings
        self._packet = packet
        self._clock = clock
        self._left_out: tuple[OnReject, OnLate] = (None, None)
        self.lines: dict[str, StreamInput] = {}
        self.derived: dict[str, DerivedLine] = {}  # the views that are made, inner ones first
        self.states: dict[str, SharedState] = {}
        self.packets: dict[str, Packets] = {}
        # What pull queries look up; declared streams come first.
        self.all_lines: Mapping[str, StreamInput | DerivedLine] = ChainMap(
            cast("dict[str, StreamInput | DerivedLine]", self.lines),
            cast("dict[str, StreamInput | DerivedLine]", self.derived),
        )
        for relation in catalog.relations.values():
            self.declare(relation)

    def declare(self, relation: Relation) -> str:
        """Begin with a stream or table; its folded name."""
        name, settings = fold(relation.name), self._settings
        line = StreamInput(relation, settings.idle_us, self._clock, settings.max_ahead_us)
        line.on_reject, line.on_late = self._left_out
        self.lines[name] = line
        self.states[name] = SharedState(relation)
        self.packets[name] = Packets(self._packet)
        return name

    def declare_derived(self, relation: Relation) -> str:
        """Begin with a view; its folded name."""
        name = fold(relation.name)
        self.derived[name] = DerivedLine(relation, self.lines)
        self.states[name] = SharedState(relation)
        self.packets[name] = Packets(self._packet)
        return name

    def drop_derived(self, name: str) -> None:
        """Forget a view that nobody reads any more."""
        del self.derived[name], self.states[name], self.packets[name]

    def declare_table(self, relation: Relation) -> None:
        """Begin with a table that is made of others."""
        name = fold(relation.name)
        self.states[name] = SharedState(relation)
        self.packets[name] = Packets(self._packet)

    def drop_table(self, name: str) -> None:
        """Forget a table that was made, and that nobody reads any more."""
        del self.states[name], self.packets[name]

    def is_stream(self, name: str) -> bool:
        """Whether tuples of a relation come and go."""
        return name in self.derived or (name in self.lines and self.lines[name].is_stream)

    def line(self, name: str) -> StreamInput:
        """The input of a stream or table by its declared name.

        Raises:
            RunError: when none is declared under it.
        """
        expect(name, str, "engine.push", "the name of a stream or table")
        line = self.lines.get(fold(name))
        if line is None:
            known = ", ".join(line.relation.name for line in list(self.lines.values()))
            raise RunError(f"there is no stream or table {name} (there are: {known})")
        return line

    def listen(self, rejects: OnReject, late: OnLate) -> None:
        """Tell somebody of rows that are rejected or late, of relations to come too."""
        self._left_out = rejects, late
        for line in self.lines.values():
            line.on_reject, line.on_late = rejects, late

    @property
    def kept(self) -> int:
        """How many tuples are kept of all of them."""
        return sum(state.head - state.first for state in self.states.values())

    def settle_idle(self) -> None:
        """Let streams past their idle timeout stand where the slowest of the others is; they keep that when they wake."""
        if self._settings.idle_us is None:
            return
        clocks = [line.clock for _, line in self._streams()]
        asleep = [clock for clock in clocks if clock.is_idle()]
        if not asleep or len(asleep) == len(clocks):
            return
        awake = smallest_watermark(clocks)
        if awake < ALL_SEEN:
            for clock in asleep:
                clock.watermark_us = max(clock.watermark_us, awake)

    def watermarks(self) -> dict[str, int]:
        """Those of the streams; one past its idle timeout does not hold the others back."""
        self.settle_idle()
        found = {name: line.clock.watermark_us for name, line in self._streams()}
        if self.derived:
            found |= {name: line.watermark_us(found) for name, line in self.derived.items()}
        return found

    def watermark_of(self, name: str) -> int:
        """That of one stream or view."""
        if name in self.derived:
            bases = self.derived[name].bases
            return min((self.lines[base].clock.watermark_us for base in bases), default=ALL_SEEN)
        return self.lines[name].clock.watermark_us

    def arrivals(self) -> dict[str, int]:
        """How many tuples of each stream have come: the place at which a query is registered."""
        came = {name: line.arrivals for name, line in self._streams()}
        return came | {name: line.arrivals for name, line in self.derived.items()}

    # What a snapshot holds

    def stream_states(self, *, settled: bool) -> dict[str, StreamState]:
        """How far every stream has come; `settled`: the end of the input decides something (`watermarks_after_end`)."""
        clocks = {name: (line.latest_us, line.relation.delay_us) for name, line in self._streams()}
        after_end = watermarks_after_end(clocks, settled=settled)
        states = {name: line.state(after_end[name]) for name, line in self._streams()}
        made = {name: StreamState(arrivals=line.arrivals) for name, line in self.derived.items()}
        return states | made

    def restore(self, states: Mapping[str, StreamState]) -> None:
        """Let the streams that are known here stand where others stood."""
        for name, state in states.items():
            if name in self.lines:
                self.lines[name].restore(state)
            elif name in self.derived:
                self.derived[name].arrivals = state.arrivals

    def tuples(self, since: Mapping[str, int]) -> dict[str, StreamTuples]:
        """The tuples of every stream that are kept, from the positions in `since` on."""
        return {
            name: StreamTuples.of(self.states[name], since.get(name, 0))
            for name in (*(name for name, _ in self._streams()), *self.derived)
        }

    def _streams(self) -> list[tuple[str, StreamInput]]:
        return [(name, line) for name, line in self.lines.items() if line.is_stream]
