"""Rows that wait for the watermark: the columns that a query needs of them, their event times, and the ends of their windows.

A query looks only at some columns of its FROM items, so only these wait. Rows are in the order in which they came; columns
such as window_start are not kept: they are worked out from the end of each row's window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.bound import ColumnRef, children
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column, concatenate, null_column, take
from cqc.runtime.columns.event_time import SECOND_US
from cqc.runtime.columns.saved_columns import loaded, loaded_array, loaded_column, saved

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
