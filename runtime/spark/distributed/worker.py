"""What runs in Spark's Python workers: the stages, behind the functions that Spark calls.

A worker process unpacks what it is to do once and keeps it, by the digest of the packed bytes; so the queries are made into
operators once in each process, and the kernels come from the cache that the installation has filled. Spark has a worker look for
garbage after every task; what is kept from task to task is frozen, so that it is not looked at each time.
"""

from __future__ import annotations

import gc
import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import SparkFiles, TaskContext
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from cqc.compiler.meaning.source_formats import FILES
from cqc.runtime.sources.range import Range
from cqc.runtime.sources.read_range import read_range
from cqc.runtime.spark.distributed import keeper
from cqc.runtime.spark.distributed.ahead import rows_with
from cqc.runtime.spark.distributed.messages.feed_lines import opened_line
from cqc.runtime.spark.distributed.messages.spec import Change, Header, Layout, Spec, spark_hash
from cqc.runtime.spark.distributed.messages.stop_flag import StopFlag
from cqc.runtime.spark.distributed.stages.cell import Cells
from cqc.runtime.spark.distributed.stages.cell_store import (
    opened_blob,
    opened_record,
    sealed_blob,
    sealed_record,
)
from cqc.runtime.spark.distributed.stages.stage_one import StageOne

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cqc.runtime.intake.typed_batch import TypedBatch
    from cqc.runtime.spark.rows.slot_rows import SlotRows

SENT = "key INT, origin BIGINT, blob BINARY"  # what stage one sends
FOUND = "blob BINARY"  # what stage two finds
HEADERS = "cqc.headers"  # Spark's local property with the headers of the micro-batches to come
_MOST_KEPT = 3
_LENGTH = struct.Struct("<I")
_SENT_SCHEMA = pa.schema([("key", pa.int32()), ("origin", pa.int64()), ("blob", pa.binary())])

_specs: dict[str, Spec] = {}
_ones: dict[str, StageOne] = {}
_cells: dict[str, Cells] = {}
_layouts: dict[str, tuple[Layout, int]] = {}


def spec_name(digest: str) -> str:
    """The name of the file by which a spec is sent to every executor."""
    return f"cqc-{digest}"


def _spec(digest: str) -> Spec:
    if digest not in _specs:
        for kept in (_specs, _ones, _cells, _layouts):
            while len(kept) >= _MOST_KEPT:
                kept.pop(next(iter(kept)))
        gc.unfreeze()  # what was popped is garbage now
        gc.collect()
        packed = Path(SparkFiles.get(spec_name(digest))).read_bytes()
        _specs[digest] = Spec.unpack(packed, digest)
        gc.freeze()
    return _specs[digest]


def stage_one(digest: str, header: Header) -> StageOne:
    """Stage one of this process."""
    one = _ones.get(digest)
    if one is None or not one.knows(header):
        one = _ones[digest] = StageOne(_spec(digest), _stop_flag(digest))
        gc.freeze()
    return one


def _stop_flag(digest: str) -> StopFlag:
    return StopFlag(Path(SparkFiles.get(spec_name(digest))))


def _layout(digest: str, spec: Spec, header: Header) -> Layout:
    """The cells there are, those of queries that came later included."""
    layout, applied = _layouts.get(digest, (None, 0))
    if layout is None or applied > len(header.changes):
        layout, applied = Layout(spec.shuffle_partitions), 0
        for group in spec.groups:
            layout.add(group)
    for text in header.changes[applied:]:
        change = Change.from_text(text)
        if change.group is not None and change.group.number == len(layout.first_cell):
            layout.add(change.group)
    _layouts[digest] = (layout, len(header.changes))
    return layout


class RangesTask:
    """Stage one over ranges: each row names some of them, and has the header of the micro-batch."""

    def __init__(self, digest: str) -> None:
        self._digest = digest

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for text in batch.column(0).cast(pa.binary()).to_pylist():  # damage may be no text
                given = opened_line(text.decode(errors="replace"))
                header = Header.from_json(given["header"])
                ranges = [_absolute(Range(**each), given["folder"]) for each in given["ranges"]]
                one = stage_one(self._digest, header)
                origin = given["origin"]
                rows = rows_with(given.get("decided", {}), one.relations, _rows(one, ranges))
                sent = one.run(header, origin, rows, ticks=origin == 0, tasks=given["tasks"])
                yield _batch(header, sent)


def _absolute(part: Range, folder: str) -> Range:
    """Paths are relative to where the driver runs; a worker runs elsewhere."""
    if part.format not in FILES:
        return part
    return replace(part, path=str(Path(folder) / part.path))


def _rows(one: StageOne, ranges: Iterable[Range]) -> Iterator[tuple[str, TypedBatch]]:
    for part in ranges:
        for taken in read_range(one.relations[part.stream], part):
            yield part.stream, taken


class RowsTask:
    """Stage one over the rows of a user's DataFrames, laid side by side in shared slots."""

    def __init__(self, digest: str, slots: SlotRows) -> None:
        self._digest = digest
        self._slots = slots

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        given = list(batches)
        header = _header_of(context)
        told = map(json.loads, self._slots.controls(given))
        controls = [control for control in told if header.hears(control)]
        for control in controls:
            header = header.with_control(control)
        one = stage_one(self._digest, header)
        rows = ((name, one.intakes[name].take(table)) for name, table in self._slots.split(given))
        origin = context.partitionId()
        ticks = origin == 0 or bool(controls)
        yield _batch(header, one.run(header, origin, rows, ticks=ticks, controls=len(controls)))


def _header_of(context: TaskContext) -> Header:
    """The header of the micro-batch that a task belongs to."""
    number = int(context.getLocalProperty("streaming.sql.batchId") or 0)
    headers: dict[str, str] = json.loads(context.getLocalProperty(HEADERS) or "{}")
    return Header.from_json(headers[str(number)])


def _batch(header: Header, rows: Iterable[tuple[int, int, bytes]]) -> pa.RecordBatch:
    """Rows to send; each has the header before its blob."""
    text = header.to_json().encode("utf-8")
    front = _LENGTH.pack(len(text)) + text
    sent = [(key, origin, front + blob) for key, origin, blob in rows]
    columns = list(zip(*sent, strict=True))
    arrays = [
        pa.array(column, field.type) for column, field in zip(columns, _SENT_SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=_SENT_SCHEMA)


def split_header(blob: bytes) -> tuple[bytes, bytes]:
    """Header and content of what was sent."""
    (length,) = _LENGTH.unpack_from(blob)
    start = _LENGTH.size + length
    return blob[_LENGTH.size : start], blob[start:]


def found_blob(blob: bytes) -> bytes:
    """The content alone, of what needed no cell."""
    return split_header(blob)[1]


class CellProcessor(StatefulProcessor):
    """Stage two: Spark calls it with all rows that one key has in a micro-batch."""

    def __init__(self, digest: str) -> None:
        self._digest = digest

    def init(self, handle: Any) -> None:
        """Name the state."""
        self._entries = handle.getMapState("packets", "batch BIGINT", "blob BINARY")
        self._text = handle.getValueState("record", "text STRING")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803  # Spark's names
        """Give a cell what came to it; what needs no cell passes."""
        del timerValues
        parts = [(row["origin"], *split_header(bytes(row["blob"]))) for row in rows]
        spec = _spec(self._digest)
        headers = [Header.from_json(text.decode("utf-8")) for text in {part[1] for part in parts}]
        header = headers[0]
        for other in headers[1:]:
            header = header.merged(other)
        place = _layout(self._digest, spec, header).place_of(int(key[0]))
        if place is None:
            for _, _, blob in parts:
                yield Row(blob=blob)
            return
        blobs = [(origin, blob) for origin, _, blob in parts]
        file = Path(SparkFiles.get(spec_name(self._digest)))
        partition = spark_hash(int(key[0])) % spec.shuffle_partitions
        found = keeper.process(partition, self._digest, file, place, header, blobs, self)
        if found is None:
            cells = _cells.setdefault(self._digest, Cells(spec))
            cells.asks = StopFlag(file)
            found = cells.process(place, header, blobs, self).pack()
        yield Row(blob=found)

    def close(self) -> None:
        """Spark is done with this task."""

    # What is durable of the cell at hand

    def record(self) -> str | None:
        """The record."""
        return opened_record(self._text.get()[0]) if self._text.exists() else None

    def set_record(self, text: str) -> None:
        """Replace the record."""
        self._text.update((sealed_record(text),))

    def entries(self) -> Iterator[tuple[int, bytes]]:
        """The blobs by micro-batch."""
        for key, value in self._entries.iterator():
            batch = int(key[0])
            yield batch, opened_blob(batch, bytes(value[0]))

    def put(self, batch: int, blob: bytes) -> None:
        """Add what came with a micro-batch."""
        self._entries.updateValue((batch,), (sealed_blob(batch, blob),))

    def remove(self, batch: int) -> None:
        """Forget what came with a micro-batch."""
        self._entries.removeKey((batch,))
