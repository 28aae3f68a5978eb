"""The streams and tables of an engine: how far each has come, and the tuples of it that are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.arguments import expect
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.adapt.packet_size import Packets
from cqc.runtime.columns.event_time import smallest_watermark, watermarks_after_end
from cqc.runtime.engine.snapshot import StreamTuples
from cqc.runtime.errors import RunError
from cqc.runtime.intake.stream_input import StreamInput
from cqc.runtime.state.shared_state import SharedState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cqc.compiler.meaning.catalog import Catalog, Relation
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.intake.stream_input import StreamState
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
        self.states: dict[str, SharedState] = {}
        self.packets: dict[str, Packets] = {}
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
        return sum(len(state) for state in self.states.values())

    def watermarks(self) -> dict[str, int]:
        """Those of the streams; one past its idle timeout does not hold the others back."""
        if self._settings.idle_us is None:
            return {name: line.clock.watermark_us for name, line in self._streams()}
        awake = smallest_watermark(line.clock for _, line in self._streams())
        return {
            name: max(line.watermark_us, awake) if line.clock.is_idle() else line.watermark_us
            for name, line in self._streams()
        }

    def arrivals(self) -> dict[str, int]:
        """How many tuples of each stream have come: the place at which a query is registered."""
        return {name: line.arrivals for name, line in self._streams()}

    # What a snapshot holds

    def stream_states(self, *, settled: bool) -> dict[str, StreamState]:
        """How far every stream has come; `settled`: the end of the input decides something (`watermarks_after_end`)."""
        clocks = {name: (line.latest_us, line.relation.delay_us) for name, line in self._streams()}
        after_end = watermarks_after_end(clocks, settled=settled)
        return {name: line.state(after_end[name]) for name, line in self._streams()}

    def restore(self, states: Mapping[str, StreamState]) -> None:
        """Let the streams that are known here stand where others stood."""
        for name, state in states.items():
            if name in self.lines:
                self.lines[name].restore(state)

    def tuples(self, since: Mapping[str, int]) -> dict[str, StreamTuples]:
        """The tuples of every stream that are kept, from the positions in `since` on."""
        return {
            name: StreamTuples.of(self.states[name], since.get(name, 0))
            for name, _ in self._streams()
        }

    def _streams(self) -> list[tuple[str, StreamInput]]:
        return [(name, line) for name, line in self.lines.items() if line.is_stream]
