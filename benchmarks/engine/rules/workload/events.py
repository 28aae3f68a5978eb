"""The events: for each stream its event times and, by column, a number of a value for every row.

New values keep coming: a packet has so many distinct values, some of them never seen before and the rest from those already
there, the common ones more often. So both shares of a column, overall and in a packet, come out as asked for at any size.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cqc.benchmarks.engine.rules.workload.streams import PACKET, STREAMS
from cqc.benchmarks.engine.rules.workload.values import Pools

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from cqc.benchmarks.engine.rules.workload.streams import Stream, Text

    Codes = NDArray[np.int32]

START_US = 1_714_550_400_000_000  # 2024-05-01T08:00:00Z
LASTS_US = 6 * 3600 * 1_000_000
LATE_US = 20_000  # events are in order but for milliseconds
_HOSTS = 12
_PROCESSES = 60
_SKEW = 2.0


@dataclass
class Column:
    """Text by column: `values[codes[row]]`, NULL where the code is below 0."""

    codes: Codes
    values: list[str]


@dataclass
class Events:
    """The rows of one stream, in the order they arrive."""

    name: str
    ts_us: NDArray[np.int64]
    columns: dict[str, Column]

    def __len__(self) -> int:
        return len(self.ts_us)


def make_events(seed: int, scale: float) -> dict[str, Events]:
    """All streams at a size: 1.0 is 648,360 events."""
    pools = Pools(seed)
    return {each.name: _stream(each, pools, seed, scale) for each in STREAMS}


def _stream(stream: Stream, pools: Pools, seed: int, scale: float) -> Events:
    chance = np.random.default_rng([seed, zlib.crc32(stream.name.encode())])
    rows = max(20, round(stream.events * scale))
    packet = max(20, round(PACKET * min(1.0, scale)))
    made = _Made(chance, pools, rows, packet)
    columns = {each.name: made.column(each) for each in stream.columns}
    return Events(stream.name, _times(chance, rows, stream.times, scale), columns)


def _skewed(chance: Generator, count: int, rows: int) -> Codes:
    return (count * chance.random(rows) ** _SKEW).astype(np.int32)


def _times(chance: Generator, rows: int, distinct: float, scale: float) -> NDArray[np.int64]:
    """Event times by the millisecond: so many distinct ones, in bursts, now and then a little late.

    A smaller size is a shorter time, with as many events a second.
    """
    lasts_ms = max(60_000, round(LASTS_US * scale / 1000))
    instants = np.sort(chance.integers(0, lasts_ms, max(1, round(rows * distinct))))
    times = instants[np.sort(chance.integers(0, len(instants), rows))] * 1000
    late = chance.random(rows) < 0.02
    times[late] -= chance.integers(1, LATE_US // 1000, int(late.sum())) * 1000
    return np.maximum(times, 0) + START_US


class _Made:
    """Makes the columns of one stream."""

    def __init__(self, chance: Generator, pools: Pools, rows: int, packet: int) -> None:
        self._chance, self._pools, self._rows, self._packet = chance, pools, rows, packet
        self._host = _skewed(chance, _HOSTS, rows)
        self._processes: dict[str, Codes] = {}  # of the event itself, of the target, of the parent
        self._event = np.zeros(rows, np.int32)

    def column(self, column: Text) -> Column:
        match column.kind:
            case "host":
                return Column(self._host, self._pools.values(column, _HOSTS))
            case "record":
                numbers = range(100_000, 100_000 + self._rows)
                return Column(
                    np.arange(self._rows, dtype=np.int32), [str(each) for each in numbers]
                )
            case "process_id" | "process_guid":
                made = self._of_process(column)
            case "field":
                made = self._of_event(column)
            case _ if column.pool:
                values = self._pools.values(column, column.pool)
                made = Column(_skewed(self._chance, len(values), self._rows), values)
            case _:
                return self._text(column)
        if column.name == "event_id":
            self._event = made.codes.copy()
        if column.present < 1.0:
            made.codes[self._chance.random(self._rows) >= column.present] = -1
        return made

    def _of_process(self, column: Text) -> Column:
        whose = column.name.rpartition("process")[0]
        if whose not in self._processes:
            self._processes[whose] = _skewed(self._chance, _PROCESSES, self._rows)
        codes = self._host * _PROCESSES + self._processes[whose]
        every = [divmod(at, _PROCESSES) for at in range(_HOSTS * _PROCESSES)]
        if column.kind == "process_id":
            return Column(codes, [str(400 + 4 * (13 * process + host)) for host, process in every])
        guids = [f"{{3f9a{host:04x}-77d1-65f0-0000-00000{process:07x}}}" for host, process in every]
        return Column(codes, guids)

    def _of_event(self, column: Text) -> Column:
        """A column that only some event numbers have."""
        name, number = column.name.rsplit("_", 1)
        values = self._pools.values(column, column.pool)
        codes = _skewed(self._chance, len(values), self._rows)
        kinds = int(self._event.max()) + 1
        having = {int(number) % kinds, (zlib.crc32(name.encode()) + 7 * int(number)) % kinds}
        codes[~np.isin(self._event, list(having))] = -1
        return Column(codes, values)

    def _text(self, column: Text) -> Column:
        count = round(self._rows * column.present)
        there = np.sort(self._chance.permutation(self._rows)[:count])
        packet = max(1, round(self._packet * column.present))
        pool = max(1, round(column.overall * len(there)))
        in_packet = max(1, round(column.packet * self._packet))
        drawn = draw(self._chance, len(there), pool, packet, in_packet)
        codes = np.full(self._rows, -1, np.int32)
        codes[there] = drawn
        return Column(codes, self._pools.values(column, int(drawn.max(initial=0)) + 1))


def draw(chance: Generator, rows: int, pool: int, packet: int, in_packet: int) -> Codes:
    """Numbers of values for every row: `pool` distinct ones overall, `in_packet` in each packet of so many rows."""
    found = []
    known = 0
    starts = range(0, rows, packet)
    for at, start in enumerate(starts):
        size = min(packet, rows - start)
        wanted = min(size, pool if len(starts) == 1 else max(1, in_packet * size // packet))
        left = len(starts) - at
        new = min(wanted, wanted if known == 0 else -(-max(0, pool - known) // left))
        old = min(known, wanted - new)
        seen = _without_repeats(chance, known, old)
        chosen = np.concatenate([seen, np.arange(known, known + new, dtype=np.int32)])
        known += new
        again = chosen[_skewed(chance, len(chosen), size - len(chosen))]
        codes = np.concatenate([chosen, again])
        chance.shuffle(codes)
        found.append(codes)
    return np.concatenate(found).astype(np.int32) if found else np.empty(0, np.int32)


def _without_repeats(chance: Generator, known: int, count: int) -> Codes:
    """So many of the numbers below `known`, the small ones more likely, in rising order."""
    keys = chance.random(known) * (np.arange(known) + 1.0) ** 0.7
    return (
        np.sort(np.argpartition(keys, count - 1)[:count]).astype(np.int32)
        if count
        else np.empty(0, np.int32)
    )
