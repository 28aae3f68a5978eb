"""From one number of partitions to another: the tuples that cells hold are dealt out anew.

Spark cannot change the number of partitions of a stateful query, so a run that goes on with another number begins a new *era*: a
checkpoint of Spark's of its own, whose first micro-batch follows the last one that counts. Before it begins, tasks read the
cells of the era before from Spark's state store, send each tuple where it belongs now, and write what a new cell is to
hold as files. A cell that has nothing durable yet takes over what it finds there.

A tuple that several cells had counts once: of streams that go to every place along an axis the copy at place 0 is taken, of
heavy values the one where the value is at home.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from cqc.runtime.files.private_files import private_folder
from cqc.runtime.files.sealed import write_sealed
from cqc.runtime.spark.distributed.messages.files import write_whole
from cqc.runtime.spark.distributed.messages.spec import Change, Header, Layout
from cqc.runtime.spark.distributed.stages.cell import RECORDS, Record
from cqc.runtime.spark.distributed.stages.cell_store import opened_blob, opened_record, pack_entries
from cqc.runtime.spark.distributed.stages.routing import codes_of
from cqc.runtime.spark.distributed.stages.skew import Load, places
from cqc.runtime.spark.distributed.stages.waiting_cell import MADE
from cqc.runtime.spark.distributed.stages.wire import pack_tuples, unpack_tuples
from cqc.runtime.spark.distributed.worker import FOUND, stage_one

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from cqc.compiler.graph.partitioning import Group
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.spark.distributed.messages.spec import Spread

_COMMIT = b'v1\n{"nextBatchWatermarkMs":0}'  # as Spark notes that a micro-batch is done


@dataclass(frozen=True, slots=True)
class Cut:
    """How tuples lie in the cells of an era."""

    groups: tuple[Group, ...]
    spread: dict[int, tuple[Spread, ...]]  # heavy values by group
    shuffle_partitions: int

    @staticmethod
    def of(groups: tuple[Group, ...], changes: Sequence[str], shuffle_partitions: int) -> Cut:
        latest: dict[tuple[int, int], Spread] = {}
        for change in map(Change.from_text, changes):
            if change.spread is not None and change.spread.stream:
                latest[change.spread.group, change.spread.code] = change.spread
        spread = {
            group.number: tuple(each for (at, _), each in latest.items() if at == group.number)
            for group in groups
        }
        return Cut(groups, spread, shuffle_partitions)

    def layout(self) -> Layout:
        made = Layout(self.shuffle_partitions)
        for group in self.groups:
            made.add(group)
        return made

    def own_rows(self, place: tuple[int, int], stream: str, packet: Packet) -> NDArray[np.int64]:
        """The tuples of a cell without those that another cell answers for."""
        group, rest = self.groups[place[0]], place[1]
        for axis in group.axes:
            if axis.places(stream) > 1 and rest % axis.size:
                return np.arange(0)
            rest //= axis.size
        copied = [each.code for each in self.spread[group.number] if each.stream != stream]
        if not copied:
            return np.arange(len(packet))
        (axis,) = group.axes
        column = axis.column_of(stream)
        assert column is not None
        codes = codes_of(axis, packet, column)
        elsewhere = np.isin(codes, np.array(copied, np.int64)) & (
            places(codes, group.cells) != place[1]
        )
        return np.flatnonzero(~elsewhere)


class MovingTask:
    """Reads entries of cells and writes files for the cells to come."""

    def __init__(self, digest: str, header: str, cut: Cut, folder: str) -> None:
        self._digest = digest
        self._header = header
        self._cut = cut
        self._folder = folder

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        header = Header.from_json(self._header)
        one = stage_one(self._digest, header)
        routers = one.routers(header)
        layout = self._cut.layout()
        found: dict[tuple[int, int], list[tuple[int, bytes]]] = {}
        for key, number, blob in _entries(batches):
            place = layout.place_of(key)
            assert place is not None
            if number == MADE:  # of a group that has one cell, before and after
                found.setdefault(place, []).append((number, blob))
                continue
            for stream, packet in unpack_tuples([blob], one.relations, 0).items():
                own = packet.take(self._cut.own_rows(place, stream, packet))
                for cell, rows in routers[place[0]].route(stream, own, number, Load()):
                    moved = pack_tuples({stream: own.take(rows)})
                    found.setdefault((place[0], cell), []).append((number, moved))
        context = TaskContext.get()
        assert context is not None
        for (group, cell), entries in found.items():
            target = Path(self._folder) / f"{group}-{cell}"
            private_folder(target)
            write_sealed(target / str(context.partitionId()), pack_entries(entries))
        yield pa.RecordBatch.from_arrays([pa.array([b""])], names=["blob"])


def _entries(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, int, bytes]]:
    for batch in batches:
        for row in batch.to_pylist():
            yield row["key"], row["batch"], opened_blob(row["batch"], row["blob"])


def move(
    spark: SparkSession, checkpoint: Path, batch: int, task: MovingTask, cut: Cut, folder: Path
) -> None:
    """Write what the cells of a new era begin with.

    Args:
        spark: with the state store's settings.
        checkpoint: Spark's, of the era before.
        batch: the last micro-batch that counts, as Spark numbers it there.
        task: what is done with each entry.
        cut: how tuples lie in the era before.
        folder: where the files go.
    """
    private_folder(folder)
    committed = checkpoint / "commits" / str(batch)
    if (
        not committed.exists()
    ):  # cells had seen it when it counted, but Spark was stopped before it said so
        write_whole(committed, _COMMIT)
    entries = _state(spark, checkpoint, batch, "packets").selectExpr(
        "key.key AS key", "user_map_key.batch AS batch", "user_map_value.blob AS blob"
    )
    entries.mapInArrow(task, FOUND).collect()
    layout = cut.layout()
    newest: dict[str, Record] = {}
    for row in (
        _state(spark, checkpoint, batch, "record").selectExpr("key.key", "value.text").collect()
    ):
        place = layout.place_of(row[0])
        assert place is not None
        record = Record.from_json(opened_record(row[1]))
        if record.batch >= newest.get(str(place[0]), record).batch:
            newest[str(place[0])] = record
    texts = {group: replace(record, entries=[]).to_json() for group, record in newest.items()}
    write_sealed(folder / RECORDS, json.dumps(texts).encode())


def _state(spark: SparkSession, checkpoint: Path, batch: int, variable: str) -> DataFrame:
    reader: Any = spark.read.format("statestore").option("batchId", batch)
    found: DataFrame = reader.option("stateVarName", variable).load(str(checkpoint))
    return found
