"""What a cell remembers that cannot be made again of the tuples that came to it: the rows of views, and what waits for the watermark.

Rows of views are an entry of their own beside the tuples, written anew with each micro-batch; the rest is a part of the record.
"""

from __future__ import annotations

import io
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from cqc.compiler.graph.derive import is_derived
from cqc.runtime.engine.snapshot import EngineState, StreamTuples
from cqc.runtime.intake.stream_input import StreamState
from cqc.runtime.run.durable.tuple_files import packet_of, table_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cqc.runtime.engine.engine import Engine

MADE = -1  # the entry with the rows of views, among those of micro-batches


class _Store(Protocol):
    def entries(self) -> Iterable[tuple[int, bytes]]: ...
    def put(self, batch: int, blob: bytes) -> None: ...
    def remove(self, batch: int) -> None: ...


def keep_waiting(engine: Engine, store: _Store) -> dict[str, Any]:
    """Make durable what is beside the tuples; the part of it that goes into the record."""
    heads = {name: state.head for name, state in engine.states.items() if not is_derived(name)}
    snapshot = engine.snapshot(since=heads)
    made = {name: each for name, each in snapshot.tuples.items() if is_derived(name)}
    blob = io.BytesIO()
    for name, each in made.items():
        with pa.ipc.new_stream(
            blob, (table := table_of(each.packet, {"name": name})).schema
        ) as out:
            out.write_table(table)
    store.put(MADE, blob.getvalue())
    state = snapshot.state
    lines = {name: asdict(line) for name, line in state.lines.items() if is_derived(name)}
    return {
        "lines": lines,
        "key_times": state.key_times,
        "alerts": state.alerts,
    }


def with_waiting(state: EngineState, waiting: dict[str, Any]) -> EngineState:
    """The state of an engine with what `keep_waiting` gave."""
    made = {name: StreamState(**line) for name, line in waiting["lines"].items()}
    return replace(
        state,
        lines=state.lines | made,
        key_times=waiting["key_times"],
        alerts=waiting["alerts"],
    )


def made_tuples(store: _Store) -> dict[str, StreamTuples]:
    """The rows of views that were kept."""
    found: dict[str, StreamTuples] = {}
    for batch, blob in store.entries():
        source = pa.BufferReader(blob)
        while batch == MADE and source.tell() < len(blob):
            with pa.ipc.open_stream(source) as reader:
                table = reader.read_all()
            name = table.schema.metadata[b"name"].decode()
            found[name] = StreamTuples(0, 0, packet_of(table))
    return found
