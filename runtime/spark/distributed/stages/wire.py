"""What travels between the stages, as bytes.

Tuples travel, and are kept, as one blob: for each stream an Arrow stream of its columns and event times. Results and counters
live only as long as a micro-batch, between processes of one version, and are pickled; columns that several queries share are
sent once, and only the rows that some query picks.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column, concatenate, take
from cqc.runtime.columns.packet import Packet
from cqc.runtime.expressions.function_faults import FunctionFaults
from cqc.runtime.run.durable.tuple_files import column_from_arrow, column_to_arrow
from cqc.runtime.spark.distributed.stages.skew import Load

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.deliver.results import ResultBlock
    from cqc.runtime.pull.aggregate.partial_groups import PartialGroups, PartialRows
    from cqc.runtime.spark.rows.row_spans import Span

FIRST_CELL = 1 << 32  # origins of tasks are smaller
_LENGTH = struct.Struct("<IQ")  # of the stream's name, and of its Arrow stream


@dataclass(slots=True)
class StreamPart:
    """What one task read of a stream. Event times are those of tuples that were not late, `latest_us` of all."""

    read: int = 0
    late: int = 0
    rejected: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    first_us: int | None = None
    largest_us: int | None = None
    latest_us: int | None = None
    spans: list[Span] = field(default_factory=list)  # where queries with EVERY must know them
    nulled: Counter[str] = field(default_factory=Counter)
    absent: list[str] | None = None  # columns that no row had; None where no row came
    sample: str = ""


@dataclass(frozen=True, slots=True)
class PartialAnswer:
    """A cell's part of the answers of a pull query at some instants; `ask` is the number of whoever asked."""

    query: str
    instants: NDArray[np.int64]
    part: PartialRows | PartialGroups
    ask: int | None = None


@dataclass(slots=True)
class Output:
    """What a task or a cell has found in a micro-batch."""

    origin: int
    blocks: list[ResultBlock] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)  # results by push query
    streams: dict[str, StreamPart] = field(default_factory=dict)
    partials: list[PartialAnswer] = field(default_factory=list)
    answers: dict[int, ResultBlock] = field(default_factory=dict)  # by the number of who asked
    warnings: tuple[str, ...] = ()
    failures: int = 0
    faults: FunctionFaults = field(default_factory=FunctionFaults)
    rejects: list[tuple[str, list[Any]]] = field(default_factory=list)
    late: list[tuple[str, Packet]] = field(default_factory=list)
    controls: int = 0  # rows of the control source that were heard
    tuples_sent: int = 0
    bytes_sent: int = 0
    load: Load = field(default_factory=Load)
    oldest: int | None = None  # the first micro-batch of which a cell still holds tuples
    rebuilt: bool = False  # the cell was made again from what is durable of it
    ended: bool = False  # the input has ended with this micro-batch
    batch: int | None = None  # the micro-batch it belongs to
    tasks: int | None = None  # how many tasks that has

    def pack(self) -> bytes:
        compact = replace(self, blocks=compacted(self.blocks))
        return pickle.dumps(compact, protocol=5)

    @staticmethod
    def unpack(packed: bytes) -> Output:
        output: Output = pickle.loads(packed)
        return output


def compacted(blocks: Sequence[ResultBlock]) -> list[ResultBlock]:
    """The blocks over shared columns that hold only rows that some block picks."""
    sharing: dict[int, list[ResultBlock]] = {}
    for block in blocks:
        sharing.setdefault(id(block.columns), []).append(block)
    found: dict[int, ResultBlock] = {}
    for among in sharing.values():
        if any(block.picks is None for block in among) or not among[0].columns:
            found.update((id(block), block) for block in among)
            continue
        rows = np.unique(np.concatenate([block.positions() for block in among]))
        columns = tuple(take(column, rows) for column in among[0].columns)
        for block in among:
            picks = np.searchsorted(rows, block.positions())
            found[id(block)] = replace(block, columns=columns, picks=picks)
    return [found[id(block)] for block in blocks]


def pack_tuples(packets: Mapping[str, Packet]) -> bytes:
    """Tuples of some streams as one blob."""
    out = io.BytesIO()
    for name, packet in packets.items():
        arrays = [column_to_arrow(column) for column in packet.columns]
        arrays.append(pa.array(packet.ts_us))
        batch = pa.record_batch(arrays, names=[str(number) for number in range(len(arrays))])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        body = sink.getvalue()
        encoded = name.encode("utf-8")
        out.write(_LENGTH.pack(len(encoded), body.size))
        out.write(encoded)
        out.write(memoryview(body))
    return out.getvalue()


def unpack_tuples(
    blobs: Iterable[bytes], relations: Mapping[str, Relation], first_arrival: int
) -> dict[str, Packet]:
    """The tuples of some blobs in their order, numbered from `first_arrival`, by folded stream name."""
    parts: dict[str, list[list[Column]]] = {}
    for blob in blobs:
        view = memoryview(blob)
        at = 0
        while at < len(view):
            name_length, length = _LENGTH.unpack_from(view, at)
            at += _LENGTH.size
            name = bytes(view[at : at + name_length]).decode("utf-8")
            at += name_length
            parts.setdefault(name, []).append(_columns(view[at : at + length], relations[name]))
            at += length
    packets = {}
    for name, some in parts.items():
        columns = [concatenate([part[at] for part in some]) for at in range(len(some[0]))]
        times: NDArray[np.int64] = columns[-1].values
        arrival = np.arange(first_arrival, first_arrival + len(times), dtype=np.int64)
        packets[name] = Packet(tuple(columns[:-1]), times, arrival)
    return packets


def _columns(body: memoryview, relation: Relation) -> list[Column]:
    with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
        table = reader.read_all()
    types = [column.type for column in relation.columns] + [ColumnType.BIGINT]
    return [
        column_from_arrow(type_, array) for type_, array in zip(types, table.columns, strict=True)
    ]
