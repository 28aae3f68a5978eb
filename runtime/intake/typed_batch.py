"""Rows from outside become typed columns; a row that does not fit its relation is rejected alone, with the reason.

`Intake.take` accepts what `Engine.push` does: anything that speaks Arrow (pyarrow tables and batches, pandas, polars) and
lists of dicts. Names match case-insensitively, a missing key is NULL, an unknown one is ignored. Values are taken as they
are: whole numbers for BIGINT (also 5.0), any number for DOUBLE (also the texts "NaN", "Infinity", "-Infinity", which is how
results write them), text for STRING. A TIMESTAMP is a datetime (UTC when it has no zone), ISO text, or a number since the
epoch: seconds, unless it is so large that it can only be milliseconds (from 1e11), microseconds (from 1e14) or nanoseconds
(from 1e17). A row without event time is rejected.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.diagnostics.arguments import kind_of
from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column, concatenate, cut, null_column, select
from cqc.runtime.columns.convert.arrow_columns import LAYOUTS, column_of_arrow, values_of_arrow
from cqc.runtime.columns.convert.python_columns import column_of_values
from cqc.runtime.columns.convert.reading import Reading, json_text
from cqc.runtime.columns.event_time import instants
from cqc.runtime.columns.nested import column_of_inner, field_of, nested_of
from cqc.runtime.columns.packet import Packet
from cqc.runtime.errors import RunError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.compiler.meaning.catalog import Column as Declared
    from cqc.compiler.meaning.catalog import Relation


@record
class Reject:
    """A row that was not taken, as it came, and why."""

    reason: str
    row: Any


@record
class Absent:
    """The columns that none of some rows had, and how one of the rows was written."""

    columns: frozenset[str]
    sample: str


@dataclass(slots=True, eq=False)  # not frozen: one is made a packet
class TypedBatch:
    """What became of some rows: the tuples, and what was rejected. `read` counts both.

    `nulled` counts the fields that did not fit and became NULL, by the reason; `absent` is None where every column was there.
    """

    columns: tuple[Column, ...]
    ts_us: NDArray[np.int64]
    read: int
    rejects: list[Reject] = field(default_factory=list)
    span_us: tuple[int, int] | None = (
        None  # the least and the largest event time, where they are known
    )
    nulled: Counter[str] | None = None
    absent: Absent | None = None

    def __len__(self) -> int:
        return len(self.ts_us)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        # Columns without a value are one and the same.
        columns = {id(column): column.nbytes for column in self.columns}
        return int(sum(columns.values()) + self.ts_us.nbytes + 8 * len(self.rejects))

    def packet(self, first_arrival: int) -> Packet:
        """The tuples as a packet, numbered from `first_arrival`."""
        arrival = np.arange(first_arrival, first_arrival + len(self.ts_us), dtype=np.int64)
        return Packet(self.columns, self.ts_us, arrival)


_LONGEST_SHOWN = 200  # characters of a value in a sample
_NO_ROWS = (Mapping, str, bytes, bytearray, set, frozenset, np.ndarray)
Conversion = tuple[Column, "NDArray[np.bool_] | None"]  # the column, and which values did not fit


class Intake:
    """Takes rows of one relation."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self.reading = Reading.of(relation.options)
        self._declared = relation.declared
        self._keys_inside = [column.keys[1:] for column in self._declared]
        self._has_paths = any(column.path is not None for column in relation.declared)
        self._has_fields = len(relation.declared) < len(relation.columns)
        self._positions: dict[str, list[int]] = {}  # by the folded key of rows
        for at, column in enumerate(relation.declared):
            self._positions.setdefault(fold(column.keys[0]), []).append(at)
        self._matches: dict[tuple[Any, ...], list[Any]] = {}
        self._places: dict[tuple[str, ...], list[int | None]] = {}  # the same for Arrow's columns
        self._layouts = [LAYOUTS.get(column.type) for column in relation.declared]
        self._instant_columns = sum(
            layout is not None and layout.is_instant for layout in self._layouts
        )

    def take(self, data: Any) -> TypedBatch:
        """Take rows in any of the accepted forms.

        Raises:
            RunError: when the data has another form.
        """
        if isinstance(data, pa.Table | pa.RecordBatch):
            return self.take_arrow(data)
        if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
            return self._take_foreign(data)
        if _is_frame(data):
            return self._take_frame(data)
        if isinstance(data, _NO_ROWS) or hasattr(data, "to_dict") or not isinstance(data, Iterable):
            raise self._no_rows(data)
        return self._take_records(list(data))

    def _no_rows(self, data: Any) -> RunError:
        hint = "; one row is a list of one dict" if isinstance(data, Mapping) else ""
        return RunError(
            f"{self.relation.name} takes a pyarrow Table or RecordBatch, a pandas DataFrame or a list of dicts, "
            f"not {kind_of(data)}{hint}"
        )

    def assemble(
        self,
        conversions: Sequence[Conversion],
        read: int,
        row_of: Callable[[int], Any] | None,
        rejects: list[Reject] | None = None,
    ) -> TypedBatch:
        """Put converted columns together, without the rows that do not fit.

        Args:
            conversions: one for each declared column, all of one length.
            read: how many rows were read, those in `rejects` included.
            row_of: a row as it came, for the reject; None where nobody asks for it, and rejects are only counted.
            rejects: rows that never became part of the columns.
        """
        all_rejects = [] if rejects is None else rejects
        columns = tuple(column for column, _ in conversions)
        reasons: list[str] = []  # by number; a row has the first that is found
        why = np.zeros(len(columns[0]), np.int32)  # 0: the row fits

        def mark(bad: NDArray[np.bool_], reason: str) -> None:
            reasons.append(reason)
            why[bad & (why == 0)] = len(reasons)

        nulled: Counter[str] | None = None
        for at, (declared, (_, bad)) in enumerate(zip(self._declared, conversions, strict=True)):
            if bad is None or not bad.any():
                continue
            reason = f"{declared.name} is not {_a(declared.type.value)}"
            if self.reading.bad_is_null and at != self.relation.event_time:
                nulled = nulled or Counter()
                nulled[reason] += int(bad.sum())
                columns = (*columns[:at], null_at(columns[at], bad), *columns[at + 1 :])
            else:
                mark(bad, reason)
        if self._has_fields:
            columns = self._with_fields(columns)
        ts_us = self._instants(columns, mark)
        if reasons:
            all_rejects += _rejects_of(why, reasons, row_of)
            keep = why == 0
            columns, ts_us = tuple(select(column, keep) for column in columns), ts_us[keep]
        return TypedBatch(columns, ts_us, read, all_rejects, nulled=nulled)

    def _with_fields(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        """The columns with those of the fields of structs after them."""
        found = list(columns)
        for column in self.relation.columns[len(columns) :]:
            assert column.inside is not None
            whole, number = column.inside
            found.append(column_of_inner(column.type, field_of(nested_of(found[whole]), number)))
        return tuple(found)

    def _instants(
        self, columns: tuple[Column, ...], mark: Callable[[NDArray[np.bool_], str], None]
    ) -> NDArray[np.int64]:
        position = self.relation.event_time
        if position is None:
            return np.zeros(len(columns[0]), dtype=np.int64)
        column = columns[position]
        ts_us, bad = instants(column)
        if bad is not None:
            name = self.relation.declared[position].name
            valid = column.is_valid()
            mark(bad & valid, f"{name} is not an instant")
            mark(bad & ~valid, f"{name} is NULL")
        return ts_us

    def take_arrow(
        self, data: Any, row_of: Callable[[int], Any] | None = None, *, keep_rejects: bool = True
    ) -> TypedBatch:
        """Take a pyarrow Table or RecordBatch.

        Args:
            data: the rows.
            row_of: how a row came, where that was in another form.
            keep_rejects: whether rejects have their rows, or only reasons.
        """
        is_chunked = isinstance(data, pa.Table)
        places = self._arrow_places(tuple(data.schema.names))
        plain = self._take_plain(data, places, is_chunked=is_chunked)
        if plain is not None:
            return plain
        conversions: list[Conversion] = []
        missing: dict[ColumnType, Column] = {}  # columns that are not there are one
        for declared, keys, place in zip(self._declared, self._keys_inside, places, strict=True):
            array = None if place is None else data.column(place)
            if keys and array is not None:
                array = inside(array, keys)
            if array is None and declared.path is not None and declared.name in data.schema.names:
                array = data.column(declared.name)  # rows that were taken before
            if array is not None and is_chunked:
                array = self._one_chunk(array)
            if array is None:
                if declared.type not in missing:
                    missing[declared.type] = null_column(declared.type, data.num_rows)
                conversions.append((missing[declared.type], None))
                continue
            conversions.append(column_of_arrow(declared.type, array, self.reading))
        as_it_came = row_of or (lambda row: _row_of_arrow(data, row))
        taken = self.assemble(conversions, data.num_rows, as_it_came if keep_rejects else None)
        if missing and data.num_rows:
            taken.absent = self._absent_from_schema(data, places)
        return taken

    def _absent_from_schema(self, data: Any, places: list[int | None]) -> Absent:
        """The columns that a table has not, with its first row."""
        schema = data.schema
        names = frozenset(
            declared.name
            for declared, keys, place in zip(self._declared, self._keys_inside, places, strict=True)
            if not _is_there(schema, declared, keys, place)
        )
        row = _filled(_names_inside(schema), _row_of_arrow(data, 0))
        sample = json.dumps(row, ensure_ascii=False, default=str)
        return Absent(names, sample)

    def _take_plain(
        self, data: Any, places: list[int | None], *, is_chunked: bool
    ) -> TypedBatch | None:
        """Take rows that hold just what the relation does, as small packets mostly do; None for others."""
        columns = []
        span_us = None
        if self._has_paths:
            return None
        for place, layout in zip(places, self._layouts, strict=True):
            if place is None or layout is None:
                return None
            array = data.column(place)
            if is_chunked:
                if array.num_chunks != 1:
                    return None
                array = array.chunk(0)
            values = layout.values(array)
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
            return None if bad is not None else TypedBatch(tuple(columns), ts_us, data.num_rows)
        ts_us = columns[event_time].values
        if self._instant_columns > 1:  # the span is that of the last one
            span_us = None
        return TypedBatch(tuple(columns), ts_us, data.num_rows, span_us=span_us)

    def _arrow_places(self, names: tuple[str, ...]) -> list[int | None]:
        found = self._places.get(names)
        if found is None:
            given = self._match_columns(names)
            places = {name: at for at, name in reversed(list(enumerate(names)))}
            found = [None if name is None else places[name] for name in given]
            if len(self._places) > 1000:  # tables whose columns never repeat
                self._places.clear()
            self._places[names] = found
        return found

    def _match_columns(self, names: tuple[Any, ...]) -> list[Any]:
        """The same as `_match` for the columns of a table, which may have one name several times."""
        given = self._match(names)
        twice = [name for name in given if name is not None and names.count(name) > 1]
        if twice:
            raise RunError(f"rows of {self.relation.name} have several columns {twice[0]}")
        return given

    def _take_frame(self, frame: Any) -> TypedBatch:
        """A data frame of columns that Arrow does not take, row by row."""
        self._match_columns(tuple(getattr(frame, "columns", ())))
        return self._take_records(_records_of_frame(frame))

    def _one_chunk(self, array: Any) -> Any:
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
        if isinstance(array, pa.ChunkedArray):  # too much text for one array
            raise RunError(f"more than 2 GB of text in one batch of {self.relation.name}")
        return array

    def _take_foreign(self, data: Any) -> TypedBatch:
        """Arrow's interchange protocol; where the foreign columns are of mixed types, row by row."""
        try:
            table = pa.table(data)
        except (pa.ArrowException, TypeError, ValueError) as error:
            if not _is_frame(data):
                raise self._no_rows(data) from error
            return self._take_frame(data)
        return self.take_arrow(table)

    def _take_records(self, records: list[Any]) -> TypedBatch:
        rows = [record for record in records if isinstance(record, Mapping)]
        rejects = [
            Reject("not an object", record) for record in records if not isinstance(record, Mapping)
        ]
        return self.take_objects(rows, len(records), rejects)

    def take_objects(
        self, rows: Sequence[Mapping[Any, Any]], read: int, rejects: list[Reject]
    ) -> TypedBatch:
        """Take rows as dicts; `rejects` are rows that never became one."""
        conversions = [
            column_of_values(declared.type, values, self.reading)
            for declared, values in zip(self.relation.declared, self._by_column(rows), strict=True)
        ]
        taken = self.assemble(conversions, read, lambda row: dict(rows[row]), rejects)
        taken.absent = self._absent_from(rows, conversions)
        return taken

    def _absent_from(
        self, rows: Sequence[Mapping[Any, Any]], conversions: Sequence[Conversion]
    ) -> Absent | None:
        """The columns that no row has; only those without a value are looked at."""
        empty = [
            at
            for at, (column, bad) in enumerate(conversions)
            if bad is None and column.valid is not None and not column.valid.any()
        ]
        if not rows or not empty:
            return None
        keys = {fold(key) for row in rows for key in row if isinstance(key, str)}
        columns = self.relation.declared
        names = frozenset(columns[at].name for at in empty if fold(columns[at].keys[0]) not in keys)
        return Absent(names, json_text(dict(rows[0])) or "") if names else None

    def _by_column(self, rows: Sequence[Mapping[Any, Any]]) -> list[list[Any]]:
        if not rows:
            return [[] for _ in self.relation.declared]
        if self._has_paths:
            return [
                [value_at(row, column.keys) for row in rows] for column in self.relation.declared
            ]
        keys = rows[0].keys()
        if all(row.keys() == keys for row in rows):
            match = self._match(tuple(keys))
            return [
                [None] * len(rows) if key is None else [row[key] for row in rows] for key in match
            ]
        matched = [(row, self._match(tuple(row))) for row in rows]
        return [
            [None if match[at] is None else row[match[at]] for row, match in matched]
            for at in range(len(self.relation.declared))
        ]

    def _match(self, keys: tuple[Any, ...]) -> list[Any]:
        """For each declared column the key that names it, or None. An exact spelling wins over another case."""
        found = self._matches.get(keys)
        if found is None:
            found = [None] * len(self.relation.declared)
            for key in keys:
                for at in self._positions.get(fold(key), ()) if isinstance(key, str) else ():
                    if found[at] is None or key == self.relation.declared[at].keys[0]:
                        found[at] = key
            if len(self._matches) > 1000:  # rows whose keys never repeat
                self._matches.clear()
            self._matches[keys] = found
        return found


def _is_there(schema: Any, declared: Declared, keys: tuple[str, ...], place: int | None) -> bool:
    if declared.path is not None and declared.name in schema.names:
        return True
    return place is not None and (not keys or _type_inside(schema.field(place).type, keys))


def _type_inside(type_: Any, keys: tuple[str, ...]) -> bool:
    """Whether keys lead to something inside a type of Arrow's."""
    for key in keys:
        inner = {fold(each.name): each.type for each in type_} if pa.types.is_struct(type_) else {}
        if fold(key) not in inner:
            return False
        type_ = inner[fold(key)]
    return True


def _names_inside(fields: Iterable[Any]) -> dict[str, Any]:
    """The names of a schema's columns, those of structs with theirs inside."""
    return {
        each.name: _names_inside(each.type) if pa.types.is_struct(each.type) else None
        for each in fields
    }


def _filled(names: dict[str, Any], row: Any) -> dict[str, Any]:
    """All names of a schema with the values of a row: where a struct is NULL, the names in it are there all the same."""
    values = row if isinstance(row, Mapping) else {}
    return {
        name: _filled(inside, values.get(name)) if inside is not None else _shown(values.get(name))
        for name, inside in names.items()
    }


def _shown(value: Any) -> Any:
    """A value as a sample has it: of a long one the beginning."""
    if isinstance(value, str | bytes):
        return (
            str(value[:_LONGEST_SHOWN]) if isinstance(value, str) else value[:_LONGEST_SHOWN].hex()
        )
    return value


def value_at(row: Any, keys: tuple[str, ...]) -> Any:
    """The value that some keys lead to, one inside the other, or else as one key with dots; None where there is none."""
    found = _value_inside(row, keys)
    if found is None and len(keys) > 1:
        return _value_inside(row, (".".join(keys),))
    return found


def _value_inside(row: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        if not isinstance(row, Mapping):
            return None
        if key in row:
            row = row[key]
            continue
        wanted = fold(key)
        spelled = next((k for k in row if isinstance(k, str) and fold(k) == wanted), None)
        row = None if spelled is None else row[spelled]
    return row


def inside(array: Any, keys: tuple[str, ...]) -> Any:
    """The part of an Arrow array that some keys lead to, one inside the other; None where there is none."""
    for key in keys:
        if not pa.types.is_struct(array.type):
            return None
        names = [field.name for field in array.type]
        wanted = fold(key)
        spelled = [key] if key in names else [name for name in names if fold(name) == wanted]
        if not spelled:
            return None
        array = pc.struct_field(array, [names.index(spelled[0])])
    return array


def null_at(column: Column, bad: NDArray[np.bool_]) -> Column:
    """The column with NULL where it is bad."""
    valid = column.is_valid() & ~bad
    if column.type.held_as_text:
        texts = pc.if_else(pa.array(valid), column.values, pa.scalar(None, pa.string()))
        return Column(column.type, texts, valid)
    return Column(column.type, column.values, valid)


def _a(word: str) -> str:
    return f"{'an' if word[0] in 'AEIOU' else 'a'} {word}"


def _is_frame(data: Any) -> bool:
    """Whether it is like a pandas DataFrame; a Series has one dimension."""
    is_flat = getattr(data, "ndim", 2) == 1
    return hasattr(data, "to_dict") and not is_flat and not isinstance(data, Mapping)


def _rejects_of(
    why: NDArray[np.int32], reasons: Sequence[str], row_of: Callable[[int], Any] | None
) -> list[Reject]:
    """The rows that have a reason, in their order; without their contents one object serves all of a reason."""
    if row_of is None:
        shared = [Reject(reason, None) for reason in reasons]
        counts = np.bincount(why, minlength=len(reasons) + 1)[1:].tolist()
        return [each for one, count in zip(shared, counts, strict=True) for each in [one] * count]
    return [Reject(reasons[why[row] - 1], row_of(row)) for row in np.flatnonzero(why).tolist()]


def _records_of_frame(frame: Any) -> list[dict[Any, Any]]:
    """The rows of a data frame; there a NaN is a missing value."""
    return [
        {key: None if value != value else value for key, value in record.items()}
        for record in frame.to_dict("records")
    ]


def _row_of_arrow(data: pa.Table | pa.RecordBatch, row: int) -> dict[str, Any]:
    cells = [values_of_arrow(column.slice(row, 1))[0] for column in data.columns]
    return dict(zip(data.schema.names, cells, strict=True))


def join_taken(parts: Sequence[TypedBatch]) -> TypedBatch:
    """Several takings of one relation as one."""
    if len(parts) == 1:
        return parts[0]
    columns = tuple(
        concatenate([part.columns[at] for part in parts]) for at in range(len(parts[0].columns))
    )
    rejects = [reject for part in parts for reject in part.rejects]
    ts_us = np.concatenate([part.ts_us for part in parts])
    nulled: Counter[str] = Counter()
    for part in parts:
        nulled.update(part.nulled or ())
    read = sum(part.read for part in parts)
    absent = absent_in_all([part.absent for part in parts if len(part) or part.absent is not None])
    return TypedBatch(columns, ts_us, read, rejects, nulled=nulled or None, absent=absent)


def absent_in_all(parts: Sequence[Absent | None]) -> Absent | None:
    """The columns that no part had."""
    if not parts or any(part is None for part in parts):
        return None
    known = [part for part in parts if part is not None]
    columns = frozenset.intersection(*(part.columns for part in known))
    return Absent(columns, known[0].sample) if columns else None


def split_taken(taken: TypedBatch, rows: int) -> Iterable[TypedBatch]:
    """Pieces of at most `rows` tuples; rejects and the count of what was read go with the first."""
    if len(taken) <= rows:
        yield taken
        return
    for start in range(0, len(taken), rows):
        stop = min(start + rows, len(taken))
        columns = tuple(cut(column, start, stop) for column in taken.columns)
        if start == 0:
            first_read = taken.read - len(taken) + stop
            yield TypedBatch(
                columns,
                taken.ts_us[:stop],
                first_read,
                taken.rejects,
                nulled=taken.nulled,
                absent=taken.absent,
            )
        else:
            piece = TypedBatch(columns, taken.ts_us[start:stop], stop - start)
            piece.absent = taken.absent
            yield piece
