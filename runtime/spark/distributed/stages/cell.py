"""Stage two: one cell, with an engine over the tuples that come to it.

What is durable of a cell is the blobs of tuples it received, one entry for each micro-batch, and a small record: up to which
micro-batch they go, which queries run, the next instants of periodic queries, and what waits for windows and OVER. The engine is made from them when it is not at
hand; a worker process that had the cell in the micro-batch before has it still, and knows so by the record's tag, which is a
digest of everything that ever came to the cell.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from cqc.compiler.functions.registered import adopt
from cqc.runtime.engine.engine import Engine
from cqc.runtime.engine.snapshot import EngineState, QueryState, Snapshot, StreamTuples
from cqc.runtime.errors import Halted, RunError
from cqc.runtime.files.sealed import DamagedError, read_sealed
from cqc.runtime.spark.distributed.messages.spec import (
    ARRIVALS_PER_BATCH,
    Change,
    ClockState,
    opened,
)
from cqc.runtime.spark.distributed.stages.cell_store import unpack_entries
from cqc.runtime.spark.distributed.stages.partial_pulls import PartialEngine
from cqc.runtime.spark.distributed.stages.stage_one import bare_program, count_results
from cqc.runtime.spark.distributed.stages.waiting_cell import (
    MADE,
    keep_waiting,
    made_tuples,
    with_waiting,
)
from cqc.runtime.spark.distributed.stages.wire import FIRST_CELL, Output, unpack_tuples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cqc.compiler.graph.partitioning import Group
    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.spark.distributed.messages.spec import Header, Spec

RECORDS = "records.json"  # among what was moved: by group, what is remembered of a cell
_MOST_ENDS = 64  # of an input that goes on, whose places are remembered
AWAKE = 0.0  # what the clock of an engine says that is told who is idle


class Store(Protocol):
    """What is durable of a cell."""

    def record(self) -> str | None: ...
    def set_record(self, text: str) -> None: ...
    def entries(self) -> Iterable[tuple[int, bytes]]: ...
    def put(self, batch: int, blob: bytes) -> None: ...
    def remove(self, batch: int) -> None: ...


@dataclass(slots=True)
class Record:
    """What is remembered of a cell beside its tuples."""

    batch: int
    tag: str
    changes: int  # of the query set that are in force
    entries: list[int] = field(default_factory=list)
    clocks: dict[str, ClockState] = field(default_factory=dict)
    next_instants: dict[str, int] = field(default_factory=dict)
    decided: list[dict[str, Any]] = field(
        default_factory=list
    )  # rows of windows and OVER that wait
    ends: list[int] = field(default_factory=list)  # micro-batches with which an input had ended
    waiting: dict[str, Any] | None = None  # what cannot be made of tuples (`waiting_cell`)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Record:
        given = json.loads(text)
        given["clocks"] = {name: ClockState(**each) for name, each in given["clocks"].items()}
        return Record(**given)


@dataclass(slots=True)
class Held:
    """An engine that is at hand, and what it has seen."""

    engine: Engine
    tag: str
    changes: int


class Cells:
    """The cells of one worker process; engines that are at hand are kept by cell.

    `asks` is looked at while a cell works: what it says is why the work has to stop. The cell is made again then, when it is
    needed next.
    """

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._held: dict[tuple[int, int], Held] = {}
        self.asks: Callable[[], str] = lambda: ""

    def process(
        self,
        place: tuple[int, int],
        header: Header,
        blobs: Sequence[tuple[int, bytes]],
        store: Store,
    ) -> Output:
        """Give a cell what came to it in a micro-batch.

        Args:
            place: group and cell.
            header: of the micro-batch.
            blobs: tuples with the origin of each blob, in any order.
            store: what is durable of the cell.

        Raises:
            Halted: when somebody wants an end; nothing has changed then.
        """
        if why := self.asks():
            raise Halted(why)
        text = store.record()
        record = self._first_record(place, store) if text is None else Record.from_json(text)
        held = self._held.pop(place, None)
        output = Output(FIRST_CELL * (place[0] + 1) + place[1], batch=header.batch)
        if held is None or held.tag != record.tag or held.changes > len(header.changes):
            held = self._rebuild(place, header, record, store)
            output.rebuilt = record.batch >= 0
        engine = held.engine
        before = engine.result_counts()
        failures = engine.failed_evaluations
        engine.faults.take()  # those of a cell that is made again were told before
        tuples = [blob for _, blob in sorted(blobs) if blob]
        relations = self._spec.catalog.relations
        packets = unpack_tuples(tuples, relations, header.batch * ARRIVALS_PER_BATCH)
        waits = self._group(place[0], header).waits
        if waits and len(header.changes) > held.changes:
            set_clocks(engine, header)
            engine.push_packets({})  # what is decided before queries come and go
        self._apply(engine, place[0], header, held.changes)
        set_clocks(engine, header)
        _answer_asks(engine, header, output)
        engine.push_packets(packets)
        if header.ended:
            engine.finish()
        if header.closing:
            engine.closing_invocations(header.closing_us)
        for blocks in engine.drain_blocks():
            output.blocks += blocks if self._spec.collect else []
        if isinstance(engine, PartialEngine):
            output.partials += engine.take_parts()
        output.counts = count_results(engine, output, before, collect=self._spec.collect)
        output.failures = engine.failed_evaluations - failures
        output.faults = engine.faults.take()
        output.warnings = engine.take_warnings()
        new = self._remember(engine, header, record, tuples, store, waits=waits)
        held.tag = new.tag
        output.oldest = min(new.entries, default=None)
        held.changes = len(header.changes)
        if not header.ended:  # an engine that has finished does not finish again
            self._held[place] = held
        return output

    def _first_record(self, place: tuple[int, int], store: Store) -> Record:
        """What a cell begins with: nothing, or what was moved to it from cells of another number."""
        empty = Record(-1, "", 0)
        if self._spec.moved is None:
            return empty
        folder = Path(self._spec.moved)
        records: dict[str, str] = json.loads(_read(folder / RECORDS))
        if str(place[0]) not in records:
            return empty
        entries: dict[int, list[bytes]] = {}
        for file in sorted((folder / f"{place[0]}-{place[1]}").glob("[0-9]*")):
            for batch, blob in unpack_entries(_read(file)):
                entries.setdefault(batch, []).append(blob)
        for batch, blobs in entries.items():
            store.put(batch, b"".join(blobs))
        record = Record.from_json(records[str(place[0])])
        tag = f"{record.tag} moved to {place[0]} {place[1]}"
        return replace(record, tag=tag, entries=sorted(entries.keys() - {MADE}))

    def forget(self) -> None:
        """Let go of all engines that are at hand."""
        self._held.clear()

    def _new_engine(self, group: int, header: Header) -> Engine:
        spec = self._spec
        adopt(spec.functions)
        known = self._group(group, header)
        make = Engine if known.cells == 1 else PartialEngine
        # Rows that wait are needed, not only their number.
        collect = spec.collect or known.waits or any(axis.holds_null for axis in known.axes)
        engine = make(
            bare_program(spec.catalog),
            strategy=spec.strategy,
            keep_past=group == spec.keeps_past,
            collect=collect,
            clock=lambda: AWAKE,  # headers say who is idle
        )
        engine.watch.asks = lambda: self.asks()
        for name, taken in spec.tables.items():
            engine.push_typed({name: taken})
        return engine

    def _group(self, group: int, header: Header) -> Group:
        if group < len(self._spec.groups):
            return self._spec.groups[group]
        changes = map(Change.from_text, header.changes)
        made = [each.group for each in changes if each.group and each.group.number == group]
        return made[0]

    def _rebuild(
        self, place: tuple[int, int], header: Header, record: Record, store: Store
    ) -> Held:
        """The engine of a cell as it was after the last micro-batch it saw."""
        engine = self._new_engine(place[0], header)
        tuples = _kept_tuples(store, self._spec) if record.entries else {}
        streams = _streams(self._spec)
        queries: dict[str, QueryState] = {}
        compiled: dict[str, NormalQuery] = {}
        for batch, name, normal in self._history(place[0], header.changes[: record.changes]):
            queries.pop(name, None)
            if normal is not None:
                since = dict.fromkeys(streams, batch * ARRIVALS_PER_BATCH)
                queries[name], compiled[name] = QueryState(name, "", since), normal
        clocks = {name: clock.as_stream() for name, clock in record.clocks.items()}
        ends = [dict.fromkeys(streams, (each + 1) * ARRIVALS_PER_BATCH) for each in record.ends]
        state = EngineState(
            clocks,
            list(queries.values()),
            next_instants=record.next_instants,
            decided=record.decided,
            ends=ends,
        )
        if record.waiting is not None:
            state = with_waiting(state, record.waiting)
            tuples |= made_tuples(store)
        engine.restore(Snapshot(state, tuples), compiled)
        return Held(engine, record.tag, record.changes)

    def _history(
        self, group: int, changes: Iterable[str]
    ) -> Iterable[tuple[int, str, NormalQuery | None]]:
        """The queries that came to a group and left it, with the micro-batch."""
        spec = self._spec
        mine = set(spec.groups[group].queries) if group < len(spec.groups) else set()
        for name in spec.groups[group].queries if group < len(spec.groups) else ():
            yield 0, name, spec.queries[name]
        for text in changes:
            change = Change.from_text(text)
            if change.normal is not None and change.group is not None:
                if change.group.number == group:
                    adopt(opened(change.functions, self._spec.key))
                    mine.add(change.name)
                    yield change.batch, change.name, change.normal
            elif change.normal is None and change.name in mine:
                mine.discard(change.name)
                yield change.batch, change.name, None

    def _apply(self, engine: Engine, group: int, header: Header, applied: int) -> None:
        running = set(engine.queries)
        for text in header.changes[applied:]:
            change = Change.from_text(text)
            if change.normal is None:
                if change.name in running:
                    engine.unregister(change.name)
                    running.discard(change.name)
            elif change.group is not None and change.group.number == group:
                set_clocks(engine, header)
                adopt(opened(change.functions, self._spec.key))
                since = dict.fromkeys(_streams(self._spec), change.batch * ARRIVALS_PER_BATCH)
                engine.register_compiled(change.normal, since)
                running.add(change.name)

    def _remember(
        self,
        engine: Engine,
        header: Header,
        record: Record,
        tuples: list[bytes],
        store: Store,
        *,
        waits: bool,
    ) -> Record:
        """Make durable what the next micro-batch needs; returns the new record."""
        digest = hashlib.blake2b(f"{record.tag} {header.batch}".encode(), digest_size=16)
        for blob in tuples:
            digest.update(blob)
        entries = list(record.entries)
        if tuples:
            store.put(header.batch, b"".join(tuples))
            entries.append(header.batch)
        oldest = _oldest_arrival(engine)
        for batch in [each for each in entries if (each + 1) * ARRIVALS_PER_BATCH <= oldest]:
            store.remove(batch)
            entries.remove(batch)
        clocks = dict(header.clocks)
        if header.ended:  # what only the end decided was delivered
            states = engine.stream_states()
            for name in clocks.keys() & states.keys():
                line = states[name]
                clocks[name] = replace(clocks[name], watermark_us=line.watermark_us)
        new = Record(
            header.batch,
            digest.hexdigest(),
            len(header.changes),
            entries,
            clocks,
            engine.next_instants(),
            engine.waiting_rows(),
            [*record.ends, header.batch][-_MOST_ENDS:] if header.ended else record.ends,
            keep_waiting(engine, store) if waits else None,
        )
        store.set_record(new.to_json())
        return new


def _read(path: Path) -> bytes:
    """A sealed file; what a worker says of one that is damaged reaches the user by this class alone."""
    try:
        return read_sealed(path)
    except DamagedError as error:
        raise RunError(str(error)) from error


def _kept_tuples(store: Store, spec: Spec) -> dict[str, StreamTuples]:
    parts: dict[str, list[Packet]] = {}
    for batch, blob in sorted(store.entries()):
        if batch == MADE:
            continue
        found = unpack_tuples([blob], spec.catalog.relations, batch * ARRIVALS_PER_BATCH)
        for name, packet in found.items():
            parts.setdefault(name, []).append(packet)
    return {
        name: StreamTuples(0, 0, packets[0].joined(packets[1:])) for name, packets in parts.items()
    }


def _oldest_arrival(engine: Engine) -> int:
    """No tuple of an earlier arrival number is needed any more."""
    oldest = np.iinfo(np.int64).max
    lines = engine.lines
    for name, state in engine.states.items():
        if name in lines and lines[name].relation.is_stream and len(state):
            oldest = min(oldest, int(state.arrival_at(np.array([state.first]))[0]))
    return int(oldest)


def _streams(spec: Spec) -> list[str]:
    """The folded names of the declared streams."""
    return [name for name, each in spec.catalog.relations.items() if each.is_stream]


def set_clocks(engine: Engine, header: Header) -> None:
    """Let the streams of an engine stand where a header says."""
    for name, clock in header.clocks.items():
        own = engine.lines[name].clock
        own.stand_at(clock.first_us, clock.largest_us, clock.watermark_us)
        own.set_idle(name in header.idle)


def _answer_asks(engine: Engine, header: Header, output: Output) -> None:
    """Answer who asks, from the tuples of the micro-batches before."""
    for ask in header.asks:
        if ask.query not in engine.queries:
            continue
        if isinstance(engine, PartialEngine):
            engine.note_part(ask.query, ask.at_us, ask.number)
        else:
            output.answers[ask.number] = engine.answer_at(ask.query, ask.at_us)
