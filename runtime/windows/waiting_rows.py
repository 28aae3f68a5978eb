"""Rows that wait: the columns that a query needs of them, and when they are of.

A query looks only at some columns of its FROM items, so only these wait. Rows are in the order in which they came; the columns
of windows are not kept but made of the end of each row's window.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.bound import ColumnRef, children
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import DTYPES, Column, concatenate, null_column, take, text_column
from cqc.runtime.columns.event_time import SECOND_US

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import Expression, TableWindow

    Fetch = Callable[[int, int], Column]

Place = tuple[int, int]  # a FROM item and one of its columns


def places_in(expressions: Iterable[Expression | None]) -> dict[Place, ColumnType]:
    """The columns that some expressions are made of."""
    found: dict[Place, ColumnType] = {}
    waiting = [each for each in expressions if each is not None]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ColumnRef):
            found[part.item, part.column] = part.type
        else:
            waiting.extend(children(part))
    return dict(sorted(found.items()))


@dataclass(slots=True, eq=False)
class Rows:
    """Rows by column: their event times, the ends of their windows (the event times again where there are none)."""

    ts_us: NDArray[np.int64]
    end_us: NDArray[np.int64]
    columns: tuple[Column, ...]

    def __len__(self) -> int:
        return len(self.ts_us)

    def take(self, rows: NDArray[np.int64]) -> Rows:
        """Some of them."""
        columns = tuple(take(column, rows) for column in self.columns)
        return Rows(self.ts_us[rows], self.end_us[rows], columns)

    @staticmethod
    def joined(parts: Sequence[Rows]) -> Rows:
        """One after the other."""
        if len(parts) == 1:
            return parts[0]
        return Rows(
            np.concatenate([part.ts_us for part in parts]),
            np.concatenate([part.end_us for part in parts]),
            tuple(
                joined_columns([part.columns[at] for part in parts])
                for at in range(len(parts[0].columns))
            ),
        )

    @staticmethod
    def none(types: Sequence[ColumnType]) -> Rows:
        """No rows."""
        nothing = np.zeros(0, np.int64)
        return Rows(nothing, nothing, tuple(null_column(type_, 0) for type_ in types))

    def saved(self) -> str:
        """The rows as text."""
        named = {f"c{at}": column for at, column in enumerate(self.columns)}
        return saved({"ts": self.ts_us, "end": self.end_us, **named})

    @staticmethod
    def loaded(text: str, types: Sequence[ColumnType]) -> Rows:
        """What `saved` wrote."""
        table = loaded(text)
        columns = [loaded_column(table, f"c{at}", type_) for at, type_ in enumerate(types)]
        return Rows(loaded_array(table, "ts"), loaded_array(table, "end"), tuple(columns))

    @property
    def nbytes(self) -> int:
        """About what they take."""
        return 8 * len(self) * (2 + len(self.columns))


def joined_columns(columns: Sequence[Column]) -> Column:
    """One column after the other; text that is kept by code becomes plain text."""
    full = [column for column in columns if len(column)] or list(columns[:1])
    plain = [Column(column.type, column.values, column.valid) for column in full]
    return concatenate(plain)


def window_column(us: NDArray[np.int64], type_: ColumnType) -> Column:
    """Instants as a column of a window shows them."""
    if type_ is ColumnType.TIMESTAMP:
        return Column(type_, us)
    if type_ is ColumnType.BIGINT:
        return Column(type_, us // SECOND_US)
    return Column(type_, us / SECOND_US)


def fetch_of(
    places: Sequence[Place],
    rows: Rows,
    start_us: NDArray[np.int64] | None = None,
    window: TableWindow | None = None,
    ends: tuple[Place, Place] | None = None,
) -> Fetch:
    """The columns of rows, and those of their windows: `ends` says where the query has them."""
    numbers = {place: at for at, place in enumerate(places)}
    made: dict[Place, Column] = {}

    def fetch(item: int, column: int) -> Column:
        place = item, column
        if ends is None or place not in ends:
            return rows.columns[numbers[place]]
        if place not in made:
            assert window is not None
            assert start_us is not None
            us = start_us if place == ends[0] else rows.end_us
            made[place] = window_column(us, window.type)
        return made[place]

    return fetch


# What a checkpoint holds


def saved(named: dict[str, Column | NDArray[Any]]) -> str:
    """Columns and arrays of one length as text."""
    arrays, names = [], []
    for name, each in named.items():
        if isinstance(each, Column):
            arrays.append(_arrow(each))
            names.append(name)
        elif each.ndim == 2:  # partial aggregates
            for at in range(each.shape[1]):
                arrays.append(pa.array(np.ascontiguousarray(each[:, at])))
                names.append(f"{name}.{at}")
        else:
            arrays.append(pa.array(each))
            names.append(name)
    sink = pa.BufferOutputStream()
    table = pa.table(arrays, names=names)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return base64.b64encode(sink.getvalue()).decode("ascii")


def loaded(text: str) -> pa.Table:
    """What `saved` wrote."""
    with pa.ipc.open_stream(base64.b64decode(text)) as reader:
        return reader.read_all()


def loaded_column(table: pa.Table, name: str, type_: ColumnType) -> Column:
    """A column of what was saved."""
    array = table.column(name).combine_chunks()
    dtype = DTYPES.get(type_)
    if dtype is None:
        return text_column(array, type_)
    valid = None if not array.null_count else array.is_valid().to_numpy(zero_copy_only=False)
    filled = (
        array.fill_null(False if type_ is ColumnType.BOOLEAN else 0) if array.null_count else array
    )
    return Column(type_, filled.to_numpy(zero_copy_only=False).astype(dtype), valid)


def loaded_array(table: pa.Table, name: str) -> NDArray[Any]:
    """An array of what was saved; one of two dimensions column by column."""
    if name in table.column_names:
        values: NDArray[Any] = table.column(name).to_numpy().copy()
        return values
    parts = [each for each in table.column_names if each.startswith(f"{name}.")]
    ordered = sorted(parts, key=lambda each: int(each.rsplit(".", 1)[1]))
    return np.column_stack([table.column(each).to_numpy() for each in ordered])


def _arrow(column: Column) -> pa.Array:
    if column.type not in DTYPES:
        return column.values
    missing = None if column.valid is None else ~column.valid
    return pa.array(column.values, mask=missing)
