"""Columns as others want them: Arrow arrays of the usual types, nested ones and DECIMAL with all digits included; Python objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cqc.compiler.meaning.types import ArrayType, ColumnType, DecimalType, MapType, StructType
from cqc.runtime.columns.columns import ARROW_TYPES, Column, to_python
from cqc.runtime.columns.columns import to_arrow as plain_arrow
from cqc.runtime.columns.nested import (
    column_of_inner,
    field_of,
    nested_of,
    offsets_of,
    parts_type,
)
from cqc.runtime.columns.sortable_columns import bytes_of_hex, decimals_of_arrow
from cqc.runtime.columns.timestamp_text import to_date, to_datetime

if TYPE_CHECKING:
    from collections.abc import Callable


def arrow_type(type_: ColumnType) -> pa.DataType:
    """The Arrow type in which others get values of a type."""
    if isinstance(type_, ArrayType):
        return pa.list_(arrow_type(type_.element))
    if isinstance(type_, MapType):
        return pa.map_(arrow_type(type_.key), arrow_type(type_.item))
    if isinstance(type_, StructType):
        return pa.struct([(name, arrow_type(inner)) for name, inner in type_.fields])
    if isinstance(type_, DecimalType):
        return pa.decimal128(type_.digits, type_.scale)
    return pa.binary() if type_ is ColumnType.BINARY else ARROW_TYPES[type_]


def to_arrow(column: Column) -> pa.Array:
    """The column as an Arrow array: timestamps with zone UTC, NULLs as Arrow's own."""
    type_ = column.type
    mask = None if column.valid is None else pa.array(~column.valid)
    if isinstance(type_, DecimalType):
        return decimals_of_arrow(column, arrow_type(type_))
    if type_ is ColumnType.BINARY:
        made = bytes_of_hex(column.values)
        if column.valid is None:
            return made
        return pa.array(
            [v if ok else None for v, ok in zip(made.to_pylist(), column.valid, strict=True)],
            pa.binary(),
        )
    if not type_.is_nested:
        return plain_arrow(column)
    nested = nested_of(column)
    if isinstance(type_, StructType):
        parts = [
            to_arrow(column_of_inner(inner, field_of(nested, at)))
            for at, (_, inner) in enumerate(type_.fields)
        ]
        fields = [pa.field(name, arrow_type(inner)) for name, inner in type_.fields]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)
    offsets = pa.array(offsets_of(nested).astype("int32"))
    if isinstance(type_, MapType):
        entries = to_arrow(column_of_inner(parts_type(type_), nested.flatten()))
        made = pa.MapArray.from_arrays(offsets, entries.field(0), entries.field(1))
        if column.valid is None:
            return made
        values = [v if ok else None for v, ok in zip(made.to_pylist(), column.valid, strict=True)]
        return pa.array(values, arrow_type(type_))
    assert isinstance(type_, ArrayType)
    inner = to_arrow(column_of_inner(type_.element, nested.flatten()))
    return pa.ListArray.from_arrays(offsets, inner, mask=mask)


def to_objects(column: Column) -> list[Any]:
    """The values as Python objects: instants and dates too, maps and structs as dicts; NULL is None."""
    type_ = column.type
    if isinstance(type_, DecimalType) or type_ is ColumnType.BINARY:
        made: list[Any] = to_arrow(column).to_pylist()
        return made
    if not type_.is_nested:
        values = to_python(column)
        convert = _OBJECTS.get(type_)
        if convert is None:
            return values
        return [None if value is None else convert(value) for value in values]
    nested = nested_of(column)
    valid = [True] * len(nested) if column.valid is None else column.valid.tolist()
    if isinstance(type_, StructType):
        parts = [
            to_objects(column_of_inner(inner, field_of(nested, at)))
            for at, (_, inner) in enumerate(type_.fields)
        ]
        names = [name for name, _ in type_.fields]
        rows = zip(*parts, strict=True)
        return [
            dict(zip(names, row, strict=True)) if ok else None
            for row, ok in zip(rows, valid, strict=True)
        ]
    element = type_.element if isinstance(type_, ArrayType) else None
    if element is None:
        assert isinstance(type_, MapType)
        element = parts_type(type_)
    flat = to_objects(column_of_inner(element, nested.flatten()))
    offsets = offsets_of(nested).tolist()
    lists: list[Any] = [
        flat[offsets[row] : offsets[row + 1]] if ok else None for row, ok in enumerate(valid)
    ]
    if isinstance(type_, ArrayType):
        return lists
    return [
        None if each is None else {entry["key"]: entry["value"] for entry in each} for each in lists
    ]


_OBJECTS: dict[ColumnType, Callable[[Any], Any]] = {
    ColumnType.TIMESTAMP: to_datetime,
    ColumnType.DATE: to_date,
    ColumnType.INTERVAL: lambda us: us / 1_000_000,
}
