"""Arrays, maps and structs from outside: their parts are converted level by level, each level as one column.

A value of which a part does not fit does not fit. What converts the parts is passed in: it is what calls these functions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.types import ArrayType, ColumnType, DecimalType, MapType, StructType
from cqc.runtime.columns.nested import (
    inner_of_column,
    lists_of,
    nested_column,
    offsets_of,
    parts_type,
    read_json,
    structs_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column
    from cqc.runtime.columns.convert.reading import Reading

    Converted = tuple[Column, NDArray[np.bool_] | None]
    Convert = Callable[[ColumnType, Any, Reading], Converted]

_LISTS = (list, tuple, np.ndarray)


def nested_of_values(
    type_: ColumnType, values: Sequence[Any], reading: Reading, convert: Convert
) -> Converted:
    """A nested column of Python values, and which of them do not fit."""
    if isinstance(type_, ArrayType):
        fits = np.array([isinstance(each, _LISTS) for each in values], np.bool_)
        lists = [each if ok else () for each, ok in zip(values, fits.tolist(), strict=True)]
        return _lists(type_, type_.element, lists, values, fits, reading, convert)
    if isinstance(type_, MapType):
        entries = [_entries(each) for each in values]
        fits = np.array([each is not None for each in entries], np.bool_)
        lists = [[] if each is None else each for each in entries]
        return _lists(type_, parts_type(type_), lists, values, fits, reading, convert)
    assert isinstance(type_, StructType)
    fits = np.array([isinstance(each, Mapping) for each in values], np.bool_)
    bad = _not_there(values, fits)
    parts = []
    for name, inner in type_.fields:
        column, wrong = convert(inner, [_field(each, name) for each in values], reading)
        parts.append(inner_of_column(column))
        bad = bad if wrong is None else bad | wrong
    made = structs_of(parts, [str(at) for at in range(len(parts))], fits)
    return nested_column(type_, made), bad if bad.any() else None


def _not_there(values: Sequence[Any], fits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The values that are something else, and not missing."""
    missing = np.array([each is None or each != each is True for each in values], np.bool_)
    return ~fits & ~missing


def _entries(value: Any) -> list[dict[str, Any]] | None:
    """The entries of a map; Arrow gives them as pairs."""
    if isinstance(value, Mapping):
        return [{"key": key, "value": item} for key, item in value.items()]
    if isinstance(value, list) and all(isinstance(e, tuple) and len(e) == 2 for e in value):
        return [{"key": key, "value": item} for key, item in value]
    return None


def _field(value: Any, name: str) -> Any:
    if not isinstance(value, Mapping):
        return None
    if name in value:
        return value[name]
    wanted = name.lower()
    return next((v for k, v in value.items() if isinstance(k, str) and k.lower() == wanted), None)


def _lists(
    type_: ColumnType,
    element: ColumnType,
    lists: Sequence[Sequence[Any]],
    values: Sequence[Any],
    fits: NDArray[np.bool_],
    reading: Reading,
    convert: Convert,
) -> Converted:
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(each) for each in lists], out=offsets[1:])
    column, wrong = convert(element, [inner for each in lists for inner in each], reading)
    bad = _not_there(values, fits)
    if wrong is not None:
        bad = bad | _any_of_lists(offsets, wrong)
    made = lists_of(offsets, inner_of_column(column), fits)
    return nested_column(type_, made), bad if bad.any() else None


def _any_of_lists(offsets: NDArray[np.int64], marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The lists one of whose elements is marked."""
    before = np.concatenate([[0], np.cumsum(marked)])
    return np.asarray(before[offsets[1:]] > before[offsets[:-1]])


def nested_of_arrow(
    type_: ColumnType, array: Any, reading: Reading, convert: Convert
) -> Converted | None:
    """A nested column of an Arrow array; None where that is of another kind."""
    given = array.type
    valid = None
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
    if isinstance(type_, StructType):
        if not pa.types.is_struct(given):
            return None
        return _structs_of_arrow(type_, array, valid, reading, convert)
    if pa.types.is_map(given) and isinstance(type_, MapType):
        return _maps_of_arrow(type_, array, valid, reading, convert)
    is_list = pa.types.is_list(given) or pa.types.is_large_list(given)
    if not (is_list or pa.types.is_fixed_size_list(given)) or not isinstance(type_, ArrayType):
        return None
    if not pa.types.is_list(given):
        array = array.cast(pa.list_(given.value_type))
    column, wrong = convert(type_.element, array.flatten(), reading)
    offsets = offsets_of(array)
    made = nested_column(type_, lists_of(offsets, inner_of_column(column), valid))
    return made, None if wrong is None else _any_of_lists(offsets, wrong)


def _structs_of_arrow(
    type_: StructType,
    array: Any,
    valid: NDArray[np.bool_] | None,
    reading: Reading,
    convert: Convert,
) -> Converted:
    names = [field.name for field in array.type]
    folded = [name.lower() for name in names]
    bad = np.zeros(len(array), np.bool_)
    parts = []
    for name, inner in type_.fields:
        if name in names:
            given = pc.struct_field(array, [names.index(name)])
        elif name.lower() in folded:
            given = pc.struct_field(array, [folded.index(name.lower())])
        else:
            given = pa.nulls(len(array))
        column, wrong = convert(inner, given, reading)
        parts.append(inner_of_column(column))
        bad = bad if wrong is None else bad | wrong
    made = structs_of(parts, [str(at) for at in range(len(parts))], valid)
    return nested_column(type_, made), bad if bad.any() else None


def _maps_of_arrow(
    type_: MapType, array: Any, valid: NDArray[np.bool_] | None, reading: Reading, convert: Convert
) -> Converted:
    entries = array.cast(
        pa.list_(pa.struct([("key", array.type.key_type), ("value", array.type.item_type)]))
    )
    column, wrong = convert(parts_type(type_), entries.flatten(), reading)
    offsets = offsets_of(entries)
    made = nested_column(type_, lists_of(offsets, inner_of_column(column), valid))
    return made, None if wrong is None else _any_of_lists(offsets, wrong)


def nested_of_json(
    type_: ColumnType,
    texts: pa.StringArray,
    reading: Reading,
    of_arrow: Convert,
    of_values: Convert,
) -> Converted:
    """A nested column of JSON texts, none of which has a line end; NULL where there is none."""
    written = _written_type(type_)
    if written is not None and len(texts):
        found = read_json(texts.fill_null("null"), written)
        if found is not None:
            return of_arrow(type_, found, reading)
    values = [None if text is None else _parsed(text) for text in texts.to_pylist()]
    return of_values(type_, values, reading)


class _NoValue:
    """Stands for a text that is not JSON."""


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_float=_number)
    except (ValueError, RecursionError):
        return _NoValue()


class _Fraction(float):
    """A double that remembers its digits, for DECIMAL and for text."""

    digits: Decimal


def _number(text: str) -> float:
    made = _Fraction(text)
    made.digits = Decimal(text)
    return made


def _written_type(type_: ColumnType) -> pa.DataType | None:
    """As Arrow's reader of JSON can read it: times and bytes as text; None where it cannot."""
    if isinstance(type_, ArrayType):
        inner = _written_type(type_.element)
        return None if inner is None else pa.list_(inner)
    if isinstance(type_, StructType):
        inners = [(name, _written_type(inner)) for name, inner in type_.fields]
        if any(inner is None for _, inner in inners):
            return None
        return pa.struct(inners)
    if isinstance(type_, MapType | DecimalType):
        return None  # the keys of an object are not known; numbers would lose digits
    if type_ is ColumnType.BIGINT:
        return pa.int64()
    if type_ is ColumnType.DOUBLE:
        return pa.float64()
    return pa.bool_() if type_ is ColumnType.BOOLEAN else pa.string()
