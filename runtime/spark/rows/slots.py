"""Many streams in one DataFrame: each stream's columns are mapped onto slots that all streams share.

A slot has a Spark type; streams use the first so many slots of each type they have, and a tag says whose row it is. So the
width of a row is that of the widest stream, not the sum of all, and no value changes its type on the way: what arrives is
what pushing the stream's own rows would have given.

    B (ts timestamp, pressure double, temp double)      tag  timestamp_0  double_0  double_1  bigint_0
    H (ts timestamp, beatrate bigint)              ->    0   B.ts         pressure  temp      NULL
                                                         1   H.ts         NULL      NULL      beatrate
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.errors import RunError
from cqc.runtime.intake.typed_batch import Intake
from cqc.runtime.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

    from cqc.compiler.meaning.catalog import Column, Relation
    from cqc.runtime.intake.typed_batch import TypedBatch

TAG = "tag"


@dataclass(frozen=True, slots=True)
class Slot:
    """One column that streams share: the `number`-th of its type."""

    type: DataType
    number: int

    @property
    def name(self) -> str:
        return f"{self.type.simpleString()}_{self.number}"


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a stream's columns are: the slot of each declared column, in their order."""

    relation: Relation
    slots: tuple[Slot, ...]


class Slots:
    """The union of some streams, and how to take it apart again.

    Args:
        sources: by relation, the DataFrame its rows come from.

    Raises:
        RunError: when a DataFrame lacks a declared column.
    """

    def __init__(self, sources: Mapping[str, tuple[Relation, DataFrame]]) -> None:
        chosen = {name: _declared(relation, frame) for name, (relation, frame) in sources.items()}
        self._seats = {
            name: Seat(sources[name][0], _slots_of(frame)) for name, frame in chosen.items()
        }
        if (
            len(chosen) == 1
        ):  # a stream alone needs no tag and shares with nobody: Spark has less to plan
            (self.union,) = chosen.values()
            return
        every = dict.fromkeys(slot for seat in self._seats.values() for slot in seat.slots)
        parts = [
            _seated(frame, tag, self._seats[name].slots, tuple(every))
            for tag, (name, frame) in enumerate(chosen.items())
        ]
        self.union = reduce(lambda left, right: left.unionByName(right), parts)

    @property
    def seats(self) -> dict[str, Seat]:
        """Where each stream's columns are, in the order of the tags."""
        return self._seats

    def split(self, table: pa.Table) -> dict[str, pa.Table]:
        """The rows of each stream, with its declared columns, in the order of arrival."""
        if len(self._seats) == 1:
            ((name, seat),) = self._seats.items()
            columns = [column.name for column in seat.relation.declared]
            return {name: table.rename_columns(columns)} if table.num_rows else {}
        tags = table[TAG].to_numpy()
        found: dict[str, pa.Table] = {}
        for tag, (name, seat) in enumerate(self._seats.items()):
            rows = _rows_of(table, tags, tag)
            if rows.num_rows:
                names = [column.name for column in seat.relation.declared]
                columns = [rows[slot.name] for slot in seat.slots]
                found[name] = pa.Table.from_arrays(columns, names=names)
        return found


def rows_of_table(relation: Relation, frame: DataFrame | None) -> list[TypedBatch]:
    """The rows of a table: those of its DataFrame, or without one of the files that its WITH clause names.

    Raises:
        RunError: when there is neither, when the DataFrame is a streaming one, or when a declared column is missing.
    """
    if frame is None and "path" not in relation.options:
        raise RunError(f"table {relation.name} has no source, and no path in its WITH clause")
    if frame is None:
        return list(open_source(relation))
    if frame.isStreaming:
        raise RunError(f"table {relation.name} needs a DataFrame that is not streaming")
    return [Intake(relation).take(_declared(relation, frame).toArrow())]


def _declared(relation: Relation, frame: DataFrame) -> DataFrame:
    """The declared columns of a DataFrame, in the order of declaration."""
    exact = set(frame.columns)
    by_fold = {fold(name): name for name in reversed(frame.columns)}
    chosen = []
    for column in relation.declared:
        first = column.keys[0]
        name = first if first in exact else by_fold.get(fold(first))
        if name is None:
            raise RunError(
                f"the DataFrame of {relation.name} has no column {first} (it has: {', '.join(frame.columns)})"
            )
        chosen.append(name)
    if chosen == frame.columns and not any(column.path for column in relation.declared):
        return frame
    return frame.select(
        *(
            _inside(relation, column, frame, name)
            for column, name in zip(relation.declared, chosen, strict=True)
        )
    )


def _inside(relation: Relation, column: Column, frame: DataFrame, name: str) -> SparkColumn:
    """A column of a DataFrame, or what FROM names inside it, under the declared name."""
    place = frame["`" + name.replace("`", "``") + "`"]
    if column.path is None:
        return place
    type_: Any = frame.schema[name].dataType
    for key in column.keys[1:]:
        names = getattr(type_, "names", [])
        found = [key] if key in names else [each for each in names if fold(each) == fold(key)]
        if not found:
            path = ".".join(column.keys)
            raise RunError(f"the DataFrame of {relation.name} has no {path} for {column.name}")
        place, type_ = place.getField(found[0]), type_[found[0]].dataType
    return place.alias(column.name)


def _slots_of(frame: DataFrame) -> tuple[Slot, ...]:
    used: Counter[str] = Counter()
    slots = []
    for field in frame.schema.fields:
        text = field.dataType.simpleString()
        slots.append(Slot(field.dataType, used[text]))
        used[text] += 1
    return tuple(slots)


def _seated(
    frame: DataFrame, tag: int, own: tuple[Slot, ...], every: tuple[Slot, ...]
) -> DataFrame:
    named = frame.toDF(*(slot.name for slot in own))
    columns = [
        functions.col(f"`{slot.name}`")
        if slot in own
        else functions.lit(None).cast(slot.type).alias(slot.name)
        for slot in every
    ]
    return named.select(functions.lit(tag).alias(TAG), *columns)


def _rows_of(table: pa.Table, tags: NDArray[np.int32], tag: int) -> pa.Table:
    """The rows with a tag. A partition holds one stream's rows, so they lie in few runs, which are not copied."""
    mine = np.concatenate([[False], tags == tag, [False]])
    edges = np.flatnonzero(mine[1:] != mine[:-1])
    runs = [
        table.slice(int(start), int(stop - start))
        for start, stop in zip(edges[::2], edges[1::2], strict=True)
    ]
    return pa.concat_tables(runs) if runs else table.slice(0, 0)
