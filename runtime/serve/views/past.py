"""The retained past, handed to an engine of its own, so that a query can be tried without touching anything that runs.

The engine's thread only cuts the packets out of its states, which is quick. Everything else happens in a scratch engine, in
whatever thread asks: the same operators, the same answers, and a clock that ends it.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.graph.graph import Graph
from cqc.compiler.program import Program
from cqc.runtime.engine.engine import Engine
from cqc.runtime.intake.typed_batch import TypedBatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.serve.service import Service

TOO_LONG = "it took too long"


@dataclass(frozen=True, slots=True)
class Past:
    """Tuples of some streams and tables by folded name, and which streams have more than is here."""

    program: Program
    tuples: Mapping[str, Packet]
    cut: tuple[str, ...] = ()  # declared names

    @property
    def rows(self) -> int:
        return sum(map(len, self.tuples.values()))


def take_past(service: Service, names: Iterable[str], most_rows: int) -> Past:
    """The latest rows of some streams, and the whole tables (folded names). In the engine's thread.

    The rows of all streams begin at one event time, where they had to be cut: so what is here is the whole past from there on.
    """
    engine = service.engine
    found: dict[str, Packet] = {}
    cut: list[str] = []
    since_us: int | None = None
    for name in names:
        state, line = engine.states[name], engine.lines[name]
        packet = state.packet()
        if line.is_stream and len(packet) > most_rows:
            times = np.partition(packet.ts_us, len(packet) - most_rows)
            begin = int(times[len(packet) - most_rows])
            since_us = begin if since_us is None else max(since_us, begin)
            cut.append(line.relation.name)
        found[name] = packet
    if since_us is not None:
        for name, packet in found.items():
            if engine.lines[name].is_stream:
                found[name] = packet.take(np.flatnonzero(packet.ts_us >= since_us))
    return Past(service.program, found, tuple(cut))


@contextmanager
def scratch_engine(past: Past, seconds: float) -> Iterator[Engine]:
    """An engine without queries over the declared streams; after so many seconds it stops by itself (`Halted`)."""
    catalog = past.program.catalog
    # The rows were taken once: they are not too far ahead, and nobody waits for a stream that is silent.
    settings = replace(catalog.settings, max_ahead_us=0, idle_us=None)
    engine = Engine(Program(replace(catalog, settings=settings), Graph(), ()))
    timer = threading.Timer(seconds, engine.watch.halt, [TOO_LONG])
    timer.daemon = True
    timer.start()
    if seconds <= 0:
        engine.watch.halt(TOO_LONG)
    try:
        yield engine
    finally:
        timer.cancel()
        engine.close()


def in_batches(past: Past, engine: Engine, rows: int) -> Iterator[dict[str, TypedBatch]]:
    """The past in micro-batches of about so many rows: tables first, then all streams together in event-time order."""
    tables = {name: each for name, each in past.tuples.items() if not engine.lines[name].is_stream}
    if tables:
        yield {name: _typed(each) for name, each in tables.items()}
    streams = {
        name: each.take(np.argsort(each.ts_us, kind="stable"))
        for name, each in past.tuples.items()
        if name not in tables and len(each)
    }
    if not streams:
        return
    times = np.sort(np.concatenate([each.ts_us for each in streams.values()]))
    begins = dict.fromkeys(streams, 0)
    for at in range(rows, len(times) + rows, rows):
        last_us = times[min(at, len(times)) - 1]
        batch = {}
        for name, packet in streams.items():
            end = int(np.searchsorted(packet.ts_us, last_us, "right"))
            if end > begins[name]:
                batch[name] = _typed(packet.take(np.arange(begins[name], end)))
                begins[name] = end
        if batch:
            yield batch


def _typed(packet: Packet) -> TypedBatch:
    return TypedBatch(tuple(packet.columns), packet.ts_us, len(packet))
