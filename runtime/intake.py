"""Rows from outside become typed columns; a row that does not fit its relation is rejected alone, with the reason.

`Intake.take` accepts what `Engine.push` does: anything that speaks Arrow (pyarrow tables and batches, pandas, polars) and
lists of dicts. Names match case-insensitively, a missing key is NULL, an unknown one is ignored. Values are taken as they
are: whole numbers for BIGINT (also 5.0), any number for DOUBLE (also the texts "NaN", "Infinity", "-Infinity", which is how
results write them), text for STRING. A TIMESTAMP is a datetime (UTC when it has no zone), ISO text, or a number since the
epoch: seconds, unless it is so large that it can only be milliseconds (from 1e11), microseconds (from 1e14) or nanoseconds
(from 1e17). A row without event time is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.compiler.catalog import fold
from cqc.compiler.types import ColumnType
from cqc.runtime.arrow_columns import LAYOUTS, column_of_arrow, values_of_arrow
from cqc.runtime.columns import Column, concatenate, cut, null_column, select
from cqc.runtime.errors import RunError
from cqc.runtime.event_time import instants
from cqc.runtime.packet import Packet
from cqc.runtime.python_columns import column_of_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.compiler.catalog import Relation


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that was not taken, as it came, and why."""

    reason: str
    row: Any


@dataclass(slots=True, eq=False)  # not frozen: one is made a packet
class Taken:
    """What became of some rows: the tuples, and what was rejected. `read` counts both."""

    columns: tuple[Column, ...]
    ts_us: NDArray[np.int64]
    read: int
    rejects: list[Reject] = field(default_factory=list)
    span_us: tuple[int, int] | None = (
        None  # the least and the largest event time, where they are known
    )

    def __len__(self) -> int:
        return len(self.ts_us)

    def packet(self, first_arrival: int) -> Packet:
        """The tuples as a packet, numbered from `first_arrival`."""
        arrival = np.arange(first_arrival, first_arrival + len(self.ts_us), dtype=np.int64)
        return Packet(self.columns, self.ts_us, arrival)


Conversion = tuple[Column, "NDArray[np.bool_] | None"]  # the column, and which values did not fit


class Intake:
    """Takes rows of one relation."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self._positions = {fold(column.name): at for at, column in enumerate(relation.columns)}
        self._matches: dict[tuple[Any, ...], list[Any]] = {}
        self._places: dict[tuple[str, ...], list[int | None]] = {}  # the same for Arrow's columns
        self._layouts = [LAYOUTS.get(column.type) for column in relation.columns]
        self._instant_columns = sum(
            layout is not None and layout.is_instant for layout in self._layouts
        )

    def take(self, data: Any) -> Taken:
        """Take rows in any of the accepted forms.

        Raises:
            RunError: when the data has another form.
        """
        if isinstance(data, pa.Table | pa.RecordBatch):
            return self.take_arrow(data)
        if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
            return self._take_foreign(data)
        if hasattr(data, "to_dict") and not isinstance(data, Mapping):
            return self._take_records(_records_of_frame(data))
        if isinstance(data, Mapping | str | bytes) or not isinstance(data, Iterable):
            raise RunError(
                f"{self.relation.name} takes a pyarrow Table or RecordBatch, a pandas DataFrame or a list of dicts, "
                f"not {type(data).__name__}"
            )
        return self._take_records(list(data))

    def assemble(
        self,
        conversions: Sequence[Conversion],
        read: int,
        row_of: Callable[[int], Any],
        rejects: list[Reject] | None = None,
    ) -> Taken:
        """Put converted columns together, without the rows that do not fit.

        Args:
            conversions: one for each declared column, all of one length.
            read: how many rows were read, those in `rejects` included.
            row_of: a row as it came, for the reject.
            rejects: rows that never became part of the columns.
        """
        all_rejects = [] if rejects is None else rejects
        reasons: dict[int, str] = {}
        for declared, (_, bad) in zip(self.relation.columns, conversions, strict=True):
            if bad is not None and bad.any():
                reason = f"{declared.name} is not a {declared.type.value}"
                for row in np.flatnonzero(bad).tolist():
                    reasons.setdefault(row, reason)
        columns = tuple(column for column, _ in conversions)
        ts_us = self._instants(columns, reasons)
        if reasons:
            all_rejects += [Reject(reasons[row], row_of(row)) for row in sorted(reasons)]
            keep = np.ones(len(ts_us), dtype=np.bool_)
            keep[list(reasons)] = False
            columns, ts_us = tuple(select(column, keep) for column in columns), ts_us[keep]
        return Taken(columns, ts_us, read, all_rejects)

    def _instants(self, columns: tuple[Column, ...], reasons: dict[int, str]) -> NDArray[np.int64]:
        position = self.relation.event_time
        if position is None:
            return np.zeros(len(columns[0]), dtype=np.int64)
        column = columns[position]
        ts_us, bad = instants(column)
        if bad is not None:
            name = self.relation.columns[position].name
            valid = column.is_valid()
            for row in np.flatnonzero(bad).tolist():
                no_instant = f"{name} is not an instant" if valid[row] else f"{name} is NULL"
                reasons.setdefault(row, no_instant)
        return ts_us

    def take_arrow(self, data: Any, row_of: Callable[[int], Any] | None = None) -> Taken:
        """Take a pyarrow Table or RecordBatch; `row_of` says how a row came where that was in another form."""
        is_chunked = isinstance(data, pa.Table)
        places = self._arrow_places(tuple(data.schema.names))
        plain = None if is_chunked else self._take_plain(data, places)
        if plain is not None:
            return plain
        conversions: list[Conversion] = []
        for declared, place in zip(self.relation.columns, places, strict=True):
            if place is None:
                conversions.append((null_column(declared.type, data.num_rows), None))
                continue
            array = data.column(place)
            if is_chunked:
                array = self._one_chunk(array)
            conversions.append(column_of_arrow(declared.type, array))
        as_it_came = row_of or (lambda row: _row_of_arrow(data, row))
        return self.assemble(conversions, data.num_rows, as_it_came)

    def _take_plain(self, data: pa.RecordBatch, places: list[int | None]) -> Taken | None:
        """Take a batch that holds just what the relation does, as small packets mostly do; None for others."""
        columns = []
        span_us = None
        for place, layout in zip(places, self._layouts, strict=True):
            if place is None or layout is None:
                return None
            values = layout.values(data.column(place))
            if values is None:
                return None
            if layout.is_instant:
                span_us = layout.span_us(values)
                if span_us is None:
                    return None
            columns.append(Column(layout.type, values))
        event_time = self.relation.event_time
        if event_time is None or self._layouts[event_time] is None:
            return None
        if columns[event_time].type is not ColumnType.TIMESTAMP:
            ts_us, bad = instants(columns[event_time])
            return None if bad is not None else Taken(tuple(columns), ts_us, data.num_rows)
        ts_us = columns[event_time].values
        if self._instant_columns > 1:  # the span is that of the last one
            span_us = None
        return Taken(tuple(columns), ts_us, data.num_rows, span_us=span_us)

    def _arrow_places(self, names: tuple[str, ...]) -> list[int | None]:
        found = self._places.get(names)
        if found is None:
            given = self._match(names)
            places = {name: at for at, name in reversed(list(enumerate(names)))}
            found = [None if name is None else places[name] for name in given]
            if len(self._places) > 1000:  # tables whose columns never repeat
                self._places.clear()
            self._places[names] = found
        return found

    def _one_chunk(self, array: Any) -> Any:
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
        if isinstance(array, pa.ChunkedArray):  # too much text for one array
            raise RunError(f"more than 2 GB of text in one batch of {self.relation.name}")
        return array

    def _take_foreign(self, data: Any) -> Taken:
        """Arrow's interchange protocol; where the foreign columns are of mixed types, row by row."""
        try:
            table = pa.table(data)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            if not hasattr(data, "to_dict"):
                raise
            return self._take_records(_records_of_frame(data))
        return self.take_arrow(table)

    def _take_records(self, records: list[Any]) -> Taken:
        rows = [record for record in records if isinstance(record, Mapping)]
        rejects = [
            Reject("not an object", record) for record in records if not isinstance(record, Mapping)
        ]
        return self.take_objects(rows, len(records), rejects)

    def take_objects(
        self, rows: Sequence[Mapping[Any, Any]], read: int, rejects: list[Reject]
    ) -> Taken:
        """Take rows as dicts; `rejects` are rows that never became one."""
        conversions = [
            column_of_values(declared.type, values)
            for declared, values in zip(self.relation.columns, self._by_column(rows), strict=True)
        ]
        return self.assemble(conversions, read, lambda row: dict(rows[row]), rejects)

    def _by_column(self, rows: Sequence[Mapping[Any, Any]]) -> list[list[Any]]:
        if not rows:
            return [[] for _ in self.relation.columns]
        keys = rows[0].keys()
        if all(row.keys() == keys for row in rows):
            match = self._match(tuple(keys))
            return [
                [None] * len(rows) if key is None else [row[key] for row in rows] for key in match
            ]
        matched = [(row, self._match(tuple(row))) for row in rows]
        return [
            [None if match[at] is None else row[match[at]] for row, match in matched]
            for at in range(len(self.relation.columns))
        ]

    def _match(self, keys: tuple[Any, ...]) -> list[Any]:
        """For each declared column the key that names it, or None. An exact spelling wins over another case."""
        found = self._matches.get(keys)
        if found is None:
            found = [None] * len(self.relation.columns)
            for key in keys:
                at = self._positions.get(fold(key)) if isinstance(key, str) else None
                if at is not None and (found[at] is None or key == self.relation.columns[at].name):
                    found[at] = key
            if len(self._matches) > 1000:  # rows whose keys never repeat
                self._matches.clear()
            self._matches[keys] = found
        return found


def _records_of_frame(frame: Any) -> list[dict[Any, Any]]:
    """The rows of a data frame; there a NaN is a missing value."""
    return [
        {key: None if value != value else value for key, value in record.items()}
        for record in frame.to_dict("records")
    ]


def _row_of_arrow(data: pa.Table | pa.RecordBatch, row: int) -> dict[str, Any]:
    cells = [values_of_arrow(column.slice(row, 1))[0] for column in data.columns]
    return dict(zip(data.schema.names, cells, strict=True))


def join_taken(parts: Sequence[Taken]) -> Taken:
    """Several takings of one relation as one."""
    if len(parts) == 1:
        return parts[0]
    columns = tuple(
        concatenate([part.columns[at] for part in parts]) for at in range(len(parts[0].columns))
    )
    rejects = [reject for part in parts for reject in part.rejects]
    ts_us = np.concatenate([part.ts_us for part in parts])
    return Taken(columns, ts_us, sum(part.read for part in parts), rejects)


def split_taken(taken: Taken, rows: int) -> Iterable[Taken]:
    """Pieces of at most `rows` tuples; rejects and the count of what was read go with the first."""
    if len(taken) <= rows:
        yield taken
        return
    for start in range(0, len(taken), rows):
        stop = min(start + rows, len(taken))
        columns = tuple(cut(column, start, stop) for column in taken.columns)
        if start == 0:
            first_read = taken.read - len(taken) + stop
            yield Taken(columns, taken.ts_us[:stop], first_read, taken.rejects)
        else:
            yield Taken(columns, taken.ts_us[start:stop], stop - start)
